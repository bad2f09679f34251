// Cases of logsumexp, and the oracle.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddLogsumexpValues(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kFp8E5m2}) {
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("troubled_rows_" + name, TroubledRows(dtype), Axes("1")));
    cases.push_back(ReductionCase("troubled_columns_" + name, TroubledRows(dtype), Axes("0")));
    std::vector<double> masked(3000, -kInfinity);
    masked[2999] = 2.5;
    masked[700] = -1.0;
    cases.push_back(ReductionCase("masked_" + name, FromDoubles(dtype, {3, 1000}, masked), Axes("1")));
    cases.push_back(ReductionCase("masked_columns_" + name, FromDoubles(dtype, {1000, 3}, masked), Axes("0")));
  }
  const std::pair<const char*, Values> kKinds[] = {
      {"outliers", Values::kOutliers}, {"large_mean", Values::kLargeMean}, {"zero", Values::kZero}};
  for (const auto& [name, values] : kKinds) {
    for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
      cases.push_back(
          ReductionCase(std::string(name) + "_" + NameOf(dtype), MakeTensor(dtype, {4, 4097}, values, 9), Axes("1")));
    }
  }
  std::vector<double> rising;
  rising.reserve(9000);
  for (int i = 0; i < 9000; ++i) {
    rising.push_back(i * 0.03);
  }
  const std::vector<double> falling(rising.rbegin(), rising.rend());
  cases.push_back(ReductionCase("rising", FromDoubles(DataType::kFp32, {9000}, rising)));
  cases.push_back(ReductionCase("falling", FromDoubles(DataType::kFp32, {9000}, falling)));
  cases.push_back(ReductionCase("E4M3_least", FromDoubles(DataType::kFp8E4m3, {37}, std::vector<double>(37, -448.0))));
  cases.push_back(ReductionCase("INT8_least", FromDoubles(DataType::kInt8, {37}, std::vector<double>(37, -128.0))));
  for (const char* const accumulator : {"FP16", "BF16", "FP64"}) {
    // Equal elements: their exponentials are 1, and sums of few ones are exact everywhere.
    cases.push_back(ReductionCase(std::string("FP16_accumulator_") + accumulator,
                                  MakeTensor(DataType::kFp16, {2, 50}, Values::kConstant, 1),
                                  {{"axes", std::string("1")}, {"accumulator", std::string(accumulator)}}));
  }
}

/// The magnitude: log of the sum is known to a few 1e-7 whatever it is, and added to the maximum.
ReducedValue LogSumExp(const std::vector<double>& x) {
  double maximum = -kInfinity;
  for (const double value : x) {
    maximum =
        std::isnan(value) || std::isnan(maximum) ? std::numeric_limits<double>::quiet_NaN() : std::max(maximum, value);
  }
  if (!std::isfinite(maximum)) {
    return {maximum, 1.0};
  }
  long double sum = 0.0L;
  for (const double value : x) {
    sum += std::exp(static_cast<long double>(value) - static_cast<long double>(maximum));
  }
  return {static_cast<double>(std::log(sum)) + maximum, 1.0 + std::abs(maximum)};
}

std::vector<ExpectedOutput> LogsumexpOracle(const OperatorCase& test_case) {
  return ReductionOracle(test_case, DefaultRealType(test_case.inputs[0].desc.dtype), Agreement::kSummed, &LogSumExp);
}

}  // namespace

OperatorCases LogsumexpCases() {
  OperatorCases all = ReductionCases("logsumexp", ReductionTraits(), &LogsumexpOracle);
  AddLogsumexpValues(all.cases);
  return all;
}

}  // namespace kernelwire::testing
