// Cases of l2_norm, and the oracle.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddL2NormValues(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp8E5m2}) {
    cases.push_back(ReductionCase(std::string("troubled_rows_") + NameOf(dtype), TroubledRows(dtype), Axes("1")));
    cases.push_back(ReductionCase(std::string("troubled_columns_") + NameOf(dtype), TroubledRows(dtype), Axes("0")));
  }
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("tiny_" + name, MakeTensor(dtype, {4, 600}, Values::kTiny, 8), Axes("1")));
    cases.push_back(ReductionCase("outliers_" + name, MakeTensor(dtype, {4, 600}, Values::kOutliers, 8), Axes("1")));
    cases.push_back(ReductionCase("zero_" + name, MakeTensor(dtype, {4, 600}, Values::kZero, 8), Axes("1")));
    for (const auto& [kind, values] : {std::pair{"tiny", Values::kTiny}, std::pair{"outliers", Values::kOutliers}}) {
      cases.push_back(
          ReductionCase(std::string(kind) + "_columns_" + name, MakeTensor(dtype, {100, 41}, values, 8), Axes("0")));
    }
    cases.push_back(ReductionCase("huge_" + name, FromDoubles(dtype, {100}, std::vector<double>(100, 1e30))));
  }
  for (const char* const accumulator : {"FP16", "BF16", "FP64"}) {
    cases.push_back(ReductionCase(std::string("FP16_accumulator_") + accumulator,
                                  FromDoubles(DataType::kFp16, {2, 5}, {1, 2, -2, 4, 0, 8, 1, 1, -1, 3}),
                                  {{"axes", std::string("1")}, {"accumulator", std::string(accumulator)}}));
  }
}

ReducedValue Length(const std::vector<double>& x) {
  long double sum = 0.0L;
  for (const double value : x) {
    sum += static_cast<long double>(value) * static_cast<long double>(value);
  }
  return {static_cast<double>(std::sqrt(sum)), 0.0};
}

std::vector<ExpectedOutput> L2NormOracle(const OperatorCase& test_case) {
  return ReductionOracle(test_case, DefaultRealType(test_case.inputs[0].desc.dtype), Agreement::kRounded, &Length);
}

}  // namespace

OperatorCases L2NormCases() {
  OperatorCases all = ReductionCases("l2_norm", ReductionTraits(), &L2NormOracle);
  AddL2NormValues(all.cases);
  return all;
}

}  // namespace kernelwire::testing
