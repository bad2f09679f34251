// Cases of sum, and the oracle.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddSumValues(std::vector<OperatorCase>& cases) {
  for (const auto& [name, values] : kHardValues) {
    for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
      const HostTensor x = MakeTensor(dtype, {4, 4097}, values, 9);
      cases.push_back(ReductionCase(std::string(name) + "_" + NameOf(dtype), x, Axes("1")));
      cases.push_back(ReductionCase(std::string(name) + "_columns_" + NameOf(dtype), x, Axes("0")));
    }
  }
  // The same bits added 300000 times: an error that leans to one side has nowhere to hide.
  cases.push_back(ReductionCase("tenths", FromDoubles(DataType::kFp32, {300000}, std::vector<double>(300000, 0.1))));
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp8E5m2}) {
    cases.push_back(ReductionCase(std::string("troubled_rows_") + NameOf(dtype), TroubledRows(dtype), Axes("1")));
    cases.push_back(ReductionCase(std::string("troubled_columns_") + NameOf(dtype), TroubledRows(dtype), Axes("0")));
  }
  cases.push_back(ReductionCase("opposite_infinities", FromDoubles(DataType::kFp32, {3}, {kInfinity, 1, -kInfinity})));
}

/// Values of which every partial sum is exact, so that the order does not matter.
void AddAccumulators(std::vector<OperatorCase>& cases) {
  std::vector<double> small;
  for (int i = 0; i < 700; ++i) {
    small.push_back(i % 3 - 1);
  }
  for (const char* const accumulator : {"FP16", "BF16", "FP32", "FP64"}) {
    for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp8E4m3}) {
      const std::string name = std::string("accumulator_") + accumulator + "_of_" + NameOf(dtype);
      cases.push_back(ReductionCase(name, FromDoubles(dtype, {2, 350}, small),
                                    {{"axes", std::string("1")}, {"accumulator", std::string(accumulator)}}));
      cases.push_back(ReductionCase(name + "_columns", FromDoubles(dtype, {100, 7}, small),
                                    {{"axes", std::string("0")}, {"accumulator", std::string(accumulator)}}));
      cases.push_back(ReductionCase(name + "_short_runs", FromDoubles(dtype, {175, 2, 2}, small),
                                    {{"axes", std::string("0,2")}, {"accumulator", std::string(accumulator)}}));
    }
  }
  cases.push_back(ReductionCase("accumulator_INT64_of_INT8", DrawNormal(DataType::kInt8, {3, 999}, 4),
                                {{"axes", std::string("1")}, {"accumulator", std::string("INT64")}}));
  cases.push_back(ReductionCase("accumulator_INT32_of_INT64", FromDoubles(DataType::kInt64, {2, 2}, {7, -9, 1, 4}),
                                {{"axes", std::string("1")}, {"accumulator", std::string("INT32")}}));
  cases.push_back(ReductionCase("INT32_to_FP16", FromDoubles(DataType::kInt32, {2, 3}, {60000, 5000, 1, -3, 2, 2}),
                                {{"axes", std::string("1")}, {"output_type", std::string("FP16")}}));
}

ReducedValue Sum(const std::vector<double>& x) {
  long double sum = 0.0L;
  double magnitude = 0.0;
  for (const double value : x) {
    sum += static_cast<long double>(value);
    magnitude += std::abs(value);
  }
  return {static_cast<double>(sum), magnitude};
}

std::vector<ExpectedOutput> SumOracle(const OperatorCase& test_case) {
  const DataType x = test_case.inputs[0].desc.dtype;
  return ReductionOracle(test_case, DefaultSumType(x, test_case), Agreement::kSummed, &Sum);
}

}  // namespace

OperatorCases SumCases() {
  OperatorCases all = ReductionCases("sum", ReductionTraits(), &SumOracle);
  AddSumValues(all.cases);
  AddAccumulators(all.cases);
  return all;
}

}  // namespace kernelwire::testing
