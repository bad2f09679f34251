// Cases of mean, and the oracle.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddMeanValues(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp8E5m2}) {
    cases.push_back(ReductionCase(std::string("troubled_rows_") + NameOf(dtype), TroubledRows(dtype), Axes("1")));
  }
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
    cases.push_back(ReductionCase(std::string("large_mean_") + NameOf(dtype),
                                  MakeTensor(dtype, {4, 4097}, Values::kLargeMean, 9), Axes("1")));
  }
  // The sum leaves FP16 and INT32, the mean does not.
  cases.push_back(ReductionCase("FP16_60000", FromDoubles(DataType::kFp16, {500}, std::vector<double>(500, 60000.0))));
  cases.push_back(
      ReductionCase("INT32_largest", FromDoubles(DataType::kInt32, {64}, std::vector<double>(64, 2147483647.0))));
  cases.push_back(ReductionCase("INT64_large",
                                FromDoubles(DataType::kInt64, {64}, std::vector<double>(64, 9007199254740992.0)),
                                {{"output_type", std::string("FP64")}}));
  cases.push_back(ReductionCase("INT8_accumulator_INT64", DrawNormal(DataType::kInt8, {3, 50}, 3),
                                {{"axes", std::string("1")}, {"accumulator", std::string("INT64")}}));
  cases.push_back(ReductionCase("FP16_accumulator_BF16", FromDoubles(DataType::kFp16, {4}, {1, 2, 3, 4}),
                                {{"accumulator", std::string("BF16")}}));
}

ReducedValue Mean(const std::vector<double>& x) {
  long double sum = 0.0L;
  double magnitude = 0.0;
  for (const double value : x) {
    sum += static_cast<long double>(value);
    magnitude += std::abs(value);
  }
  const auto count = static_cast<double>(x.size());
  return {static_cast<double>(sum / static_cast<long double>(count)), magnitude / count};
}

std::vector<ExpectedOutput> MeanOracle(const OperatorCase& test_case) {
  return ReductionOracle(test_case, DefaultRealType(test_case.inputs[0].desc.dtype), Agreement::kSummed, &Mean);
}

}  // namespace

OperatorCases MeanCases() {
  OperatorCases all = ReductionCases("mean", ReductionTraits(), &MeanOracle);
  AddMeanValues(all.cases);
  return all;
}

}  // namespace kernelwire::testing
