// Cases of argmin, and the oracle.
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
  cases.push_back(ReductionCase("to_INT32", DrawNormal(DataType::kFp32, {4, 50}, 2),
                                {{"axes", std::string("1")}, {"output_type", std::string("INT32")}}));
  cases.push_back(ReductionCase("zeros_of_both_signs",
                                FromDoubles(DataType::kFp32, {2, 3}, {-0.0, 0.0, -0.0, 0.0, -0.0, 0.0}), rows));
}

ReducedValue FirstSmallest(const std::vector<double>& x) {
  std::size_t found = 0;
  for (std::size_t i = 1; i < x.size() && !std::isnan(x[found]); ++i) {
    found = std::isnan(x[i]) || x[i] < x[found] ? i : found;
  }
  return {static_cast<double>(found), 0.0};
}

std::vector<ExpectedOutput> ArgminOracle(const OperatorCase& test_case) {
  return ReductionOracle(test_case, DataType::kInt64, Agreement::kExact, &FirstSmallest);
}

}  // namespace

OperatorCases ArgminCases() {
  ReductionTraits traits;
  traits.draw = &DrawNormal;
  traits.takes_nothing = false;
  traits.one_axis = true;
  traits.output_types = {"INT32"};
  OperatorCases cases;
  cases.name = "argmin";
  cases.cases = ReductionCaseList(traits);
  AddValues(cases.cases);
  cases.oracle = &ArgminOracle;
  return cases;
}

}  // namespace kernelwire::testing
