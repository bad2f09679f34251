// Cases of layer_norm, and the oracle.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing {
namespace {

/// A bias of the weight's kind, and of another type every now and then.
std::vector<HostTensor> ArrangeLayerNorm(HostTensor x, HostTensor weight) {
  HostTensor bias;
  if (weight.present()) {
    const bool other = weight.desc.dtype == DataType::kFp16 && x.desc.dtype == DataType::kBf16;
    bias = MakeTensor(other ? DataType::kFp32 : weight.desc.dtype, weight.desc.shape, Values::kNormal, 77);
  }
  return {std::move(x), std::move(weight), std::move(bias)};
}

/// Of one row, in long double.
struct Moments {
  double mean = kNan;
  double variance = kNan;
};

Moments MomentsOf(const double* row, std::size_t width) {
  if (width == 0 || !std::all_of(row, row + width, [](double value) { return std::isfinite(value); })) {
    return {};
  }
  const auto count = static_cast<long double>(width);
  long double sum = 0.0L;
  for (std::size_t i = 0; i < width; ++i) {
    sum += row[i];
  }
  const long double mean = sum / count;
  long double squares = 0.0L;
  for (std::size_t i = 0; i < width; ++i) {
    squares += (row[i] - mean) * (row[i] - mean);
  }
  return {static_cast<double>(mean), static_cast<double>(squares / count)};
}

ExpectedOutput StatisticOf(const OperatorCase& test_case, std::size_t output) {
  const TensorDesc& x = test_case.inputs[0].desc;
  const AttributeValue* const axis = FindAttribute(test_case, "axis");
  const std::int64_t first = axis == nullptr ? -1 : std::get<std::int64_t>(*axis);
  ExpectedOutput statistic;
  statistic.wanted = (test_case.wanted_outputs >> output & 1U) != 0;
  statistic.desc = {x.dtype == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32, x.shape};
  for (std::int64_t i = first < 0 ? first + x.shape.rank() : first; i < x.shape.rank(); ++i) {
    statistic.desc.shape[static_cast<int>(i)] = 1;
  }
  statistic.agreement = Agreement::kRounded;
  return statistic;
}

std::vector<ExpectedOutput> LayerNormOracle(const OperatorCase& test_case) {
  const std::size_t width = NormWidthOf(test_case);
  ExpectedOutput y = ExpectedRows(test_case, static_cast<std::int64_t>(width));
  ExpectedOutput mean = StatisticOf(test_case, 1);
  ExpectedOutput inv_std_dev = StatisticOf(test_case, 2);
  y.values = ToDoubles(test_case.inputs[0]);
  const auto rows = static_cast<std::size_t>(mean.desc.shape.ElementCount().value_or(0));
  for (std::size_t row = 0; row < rows; ++row) {
    double* const values = y.values.data() + row * width;
    const Moments moments = MomentsOf(values, width);
    const double factor = 1.0 / std::sqrt(moments.variance + EpsilonOf(test_case));
    mean.values.push_back(moments.mean);
    inv_std_dev.values.push_back(factor);
    for (std::size_t i = 0; i < width; ++i) {
      values[i] = (values[i] - moments.mean) * factor * ParameterAt(test_case.inputs[1], i, 1.0) +
                  ParameterAt(test_case.inputs[2], i, 0.0);
    }
  }
  return {y, mean, inv_std_dev};
}

/// Weight and bias of unlike kinds and types; these share a launch with each other.
void AddParameters(std::vector<OperatorCase>& cases) {
  constexpr std::int64_t kWidth = 120;
  const HostTensor x = NormalTensor(DataType::kBf16, {3, kWidth}, 9);
  const HostTensor row16 = NormalTensor(DataType::kBf16, {kWidth}, 10);
  const HostTensor row32 = NormalTensor(DataType::kFp32, {kWidth}, 11);
  const HostTensor one = FilledTensor(DataType::kFp16, {}, 0.5);
  cases.push_back(NormCase("bias_alone", {x, {}, row32}));
  cases.push_back(NormCase("weight_alone", {x, row16, {}}));
  cases.push_back(NormCase("weight_row_bias_one", {x, row16, one}));
  cases.push_back(NormCase("weight_one_bias_row", {x, one, row16}));
  cases.push_back(NormCase("weight_BF16_bias_FP32", {x, row16, row32}));
}

void AddStatistics(std::vector<OperatorCase>& cases) {
  const auto add = [&](const std::string& name, HostTensor x, std::uint32_t outputs, AttributeList attributes = {}) {
    cases.push_back(NormCase(name, {std::move(x), {}, {}}, std::move(attributes)));
    cases.back().wanted_outputs = outputs;
  };
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : {5, 1000, 9000}) {
      add(std::string("statistics_") + NameOf(dtype) + "_" + std::to_string(width),
          MakeTensor(dtype, {3, width}, Values::kUniform, 3), 7);
    }
  }
  add("mean_alone", MakeTensor(DataType::kFp32, {4, 300}, Values::kUniform, 4), 2);
  add("inv_std_dev_alone", MakeTensor(DataType::kFp32, {4, 300}, Values::kUniform, 4), 4);
  add("y_of_the_same_rows", MakeTensor(DataType::kFp32, {4, 300}, Values::kUniform, 4), 1);
  add("statistics_large_mean", MakeTensor(DataType::kFp32, {3, 3000}, Values::kLargeMean, 4), 7);
  add("statistics_axis_1", MakeTensor(DataType::kFp32, {2, 3, 4}, Values::kUniform, 4), 7, {{"axis", std::int64_t{1}}});
  add("statistics_of_nothing", NormalTensor(DataType::kFp32, {3, 0}), 7);
  add("statistics_of_no_rows", NormalTensor(DataType::kFp32, {0, 3}), 7);
  add("statistics_FP32_to_FP64", MakeTensor(DataType::kFp32, {2, 77}, Values::kUniform, 4), 7,
      {{"output_type", std::string("FP64")}});
  add("statistics_with_nan_and_infinity", FromDoubles(DataType::kFp32, {3, 3}, {1, kNan, 2, 3, 4, 1.0 / 0.0, 5, 6, 9}),
      7);
}

/// Rows whose first element says nothing of the others, and rows that are all but constant.
void AddHardRows(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32}) {
    for (const std::int64_t width : {20, 40, 64, 65, 500, 1000, 3000, 20000}) {
      std::vector<double> values = ToDoubles(NormalTensor(DataType::kFp64, {2, width}, 12));
      values[0] = 3e4;
      for (std::size_t i = static_cast<std::size_t>(width); i < values.size(); ++i) {
        values[i] = 1000.0;
      }
      values.back() = 1001.0;
      cases.push_back(NormCase(std::string("hard_rows_") + NameOf(dtype) + "_" + std::to_string(width),
                               ArrangeLayerNorm(FromDoubles(dtype, {2, width}, values), {})));
    }
  }
}

}  // namespace

OperatorCases LayerNormCases() {
  OperatorCases cases;
  cases.name = "layer_norm";
  cases.oracle = &LayerNormOracle;
  cases.cases = NormCases(&ArrangeLayerNorm);
  AddParameters(cases.cases);
  AddStatistics(cases.cases);
  AddHardRows(cases.cases);
  return cases;
}

}  // namespace kernelwire::testing
