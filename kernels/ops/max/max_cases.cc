// Cases of max, and the oracle.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddValues(std::vector<OperatorCase>& cases) {
  const AttributeList rows = {{"axes", std::string("1")}};
  const AttributeList columns = {{"axes", std::string("0")}};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kFp8E5m2}) {
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("troubled_rows_" + name, TroubledRows(dtype), rows));
    cases.push_back(ReductionCase("troubled_columns_" + name, TroubledRows(dtype), columns));
    cases.push_back(ReductionCase("minus_infinity_" + name,
                                  FromDoubles(dtype, {2, 40}, std::vector<double>(80, -kInfinity)), rows));
    cases.push_back(
        ReductionCase("infinity_" + name, FromDoubles(dtype, {2, 40}, std::vector<double>(80, kInfinity)), rows));
    cases.push_back(ReductionCase("constant_" + name, MakeTensor(dtype, {3, 300}, Values::kConstant, 5), rows));
  }
  cases.push_back(ReductionCase("E4M3_least", FromDoubles(DataType::kFp8E4m3, {37}, std::vector<double>(37, -448.0))));
  cases.push_back(ReductionCase("E4M3_most", FromDoubles(DataType::kFp8E4m3, {37}, std::vector<double>(37, 448.0))));
  for (const DataType dtype : {DataType::kInt8, DataType::kInt32}) {
    const double least = dtype == DataType::kInt8 ? -128.0 : -2147483648.0;
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("least_" + name, FromDoubles(dtype, {37}, std::vector<double>(37, least))));
    cases.push_back(ReductionCase("most_" + name, FromDoubles(dtype, {37}, std::vector<double>(37, -1.0 - least))));
  }
  for (const char* const type : {"INT32", "INT64", "FP16"}) {
    cases.push_back(ReductionCase(std::string("INT8_to_") + type, DrawNormal(DataType::kInt8, {4, 50}, 2),
                                  {{"axes", std::string("1")}, {"output_type", std::string(type)}}));
  }
}

ReducedValue Largest(const std::vector<double>& x) {
  double found = x.front();
  for (const double value : x) {
    found = std::isnan(found) || std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : std::max(found, value);
  }
  return {found, 0.0};
}

std::vector<ExpectedOutput> MaxOracle(const OperatorCase& test_case) {
  const DataType x = test_case.inputs[0].desc.dtype;
  return ReductionOracle(test_case, IsFloat(x) ? DefaultRealType(x) : x, Agreement::kExact, &Largest);
}

}  // namespace

OperatorCases MaxCases() {
  ReductionTraits traits;
  traits.draw = &DrawNormal;
  traits.takes_nothing = false;
  traits.output_types = {"FP16", "BF16", "FP32", "FP64"};
  OperatorCases cases;
  cases.name = "max";
  cases.cases = ReductionCaseList(traits);
  AddValues(cases.cases);
  cases.oracle = &MaxOracle;
  return cases;
}

}  // namespace kernelwire::testing
