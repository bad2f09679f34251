// Cases of prod, and the oracle.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

/// Factors around 1, so that products of thousands stay within reach; integers are mostly 1, with signs, some 2.
HostTensor DrawFactors(DataType dtype, const Shape& shape, std::uint64_t seed) {
  std::vector<double> values = ToDoubles(MakeTensor(DataType::kFp64, shape, Values::kUniform, seed));
  const auto count = static_cast<double>(values.size());
  for (double& value : values) {
    if (IsFloat(dtype)) {
      value = value < 0.3 ? -1.0 : std::exp2(std::round((value - 0.65) * 4.0));
    } else {
      value = value * count < 5.0 ? 2.0 : value < 0.4 && dtype != DataType::kUint8 ? -1.0 : 1.0;
    }
  }
  return FromDoubles(dtype, shape, values);
}

void AddProdValues(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp8E5m2}) {
    cases.push_back(ReductionCase(std::string("troubled_rows_") + NameOf(dtype), TroubledRows(dtype), Axes("1")));
  }
  for (const DataType dtype :
       {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64, DataType::kFp8E4m3}) {
    cases.push_back(ReductionCase(std::string("few_normal_") + NameOf(dtype),
                                  MakeTensor(dtype, {50, 7}, Values::kNormal, 3), Axes("1")));
    cases.push_back(ReductionCase(std::string("few_normal_columns_") + NameOf(dtype),
                                  MakeTensor(dtype, {7, 50}, Values::kNormal, 3), Axes("0")));
  }
  cases.push_back(
      ReductionCase("INT64_beyond_but_for_a_zero", FromDoubles(DataType::kInt64, {4}, {1e15, 1e15, 0, 1e15})));
  cases.push_back(ReductionCase("INT64_least", FromDoubles(DataType::kInt64, {3}, {-4294967296.0, 2147483648.0, 1})));
  cases.push_back(
      ReductionCase("out_of_f32_and_back", FromDoubles(DataType::kFp32, {6}, {1e30, 1e30, 1e30, 1e-30, 1e-30, 1e-30})));
  for (const char* const accumulator : {"FP16", "BF16", "FP64"}) {
    cases.push_back(ReductionCase(std::string("FP16_accumulator_") + accumulator,
                                  FromDoubles(DataType::kFp16, {2, 5}, {1, 2, -2, 4, 0.5, 8, 1, 1, -1, 0.25}),
                                  {{"axes", std::string("1")}, {"accumulator", std::string(accumulator)}}));
  }
}

ReducedValue Product(const std::vector<double>& x) {
  long double product = 1.0L;
  for (const double value : x) {
    product *= static_cast<long double>(value);
  }
  return {static_cast<double>(product), 0.0};
}

std::vector<ExpectedOutput> ProdOracle(const OperatorCase& test_case) {
  const DataType x = test_case.inputs[0].desc.dtype;
  return ReductionOracle(test_case, DefaultSumType(x, test_case), Agreement::kRounded, &Product);
}

}  // namespace

OperatorCases ProdCases() {
  ReductionTraits traits;
  traits.draw = &DrawFactors;
  OperatorCases all = ReductionCases("prod", traits, &ProdOracle);
  AddProdValues(all.cases);
  return all;
}

}  // namespace kernelwire::testing
