// Cases of rms_norm, and the oracle.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kSeed = 20240501;

using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

const HostTensor kNoWeight;

HostTensor Normal(DataType dtype, const Shape& shape) { return MakeTensor(dtype, shape, Values::kNormal, kSeed); }

/// `value` everywhere.
HostTensor Filled(DataType dtype, const Shape& shape, double value) {
  return FromDoubles(dtype, shape, std::vector<double>(static_cast<std::size_t>(*shape.ElementCount()), value));
}

OperatorCase MakeCase(const std::string& name, HostTensor x, HostTensor weight = kNoWeight,
                      AttributeList attributes = {}) {
  OperatorCase test_case;
  test_case.name = name;
  test_case.inputs = {std::move(x), std::move(weight)};
  test_case.attributes = std::move(attributes);
  return test_case;
}

std::string TypeName(DataType dtype) { return NameOf(dtype); }

/// Widths on both sides of every change of method: vectors, tails, blocks, tiles.
void AddWidths(std::vector<OperatorCase>& cases) {
  for (const std::int64_t width : {1, 3, 7, 33, 100, 1000, 1024, 4099, 8192, 20000}) {
    for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
      const bool common = dtype == DataType::kFp16 || dtype == DataType::kFp32;
      if (common || width == 7 || width == 1000 || width == 4099 || width == 20000) {
        const Shape shape{width > 5000 ? 2 : 5, width};
        cases.push_back(MakeCase(TypeName(dtype) + "_width_" + std::to_string(width), Normal(dtype, shape),
                                 MakeTensor(dtype, {width}, Values::kUniform, kSeed + 1)));
      }
    }
  }
}

/// Requests that may share a launch, whatever their weights and row counts.
void AddWeights(std::vector<OperatorCase>& cases) {
  constexpr std::int64_t kWidth = 120;
  for (const DataType x_type : {DataType::kBf16, DataType::kFp64}) {
    const std::string name = TypeName(x_type) + "_weight_";
    cases.push_back(MakeCase(name + "absent", Normal(x_type, {17, kWidth})));
    cases.push_back(MakeCase(name + "one_FP32", Normal(x_type, {1, kWidth}), Filled(DataType::kFp32, {}, 0.7)));
    cases.push_back(MakeCase(name + "one_FP16", Normal(x_type, {4, kWidth}), Filled(DataType::kFp16, {1, 1}, -3.0)));
    for (const DataType type : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
      cases.push_back(MakeCase(name + "row_" + TypeName(type), Normal(x_type, {3, kWidth}),
                               MakeTensor(type, {kWidth}, Values::kNormal, kSeed + 2)));
    }
  }
}

void AddShapes(std::vector<OperatorCase>& cases) {
  const auto fp32 = [](const Shape& shape) { return Normal(DataType::kFp32, shape); };
  cases.push_back(MakeCase("rank_0", fp32({}), kNoWeight, {{"axis", std::int64_t{0}}}));
  cases.push_back(MakeCase("rank_1", fp32({9}), fp32({9})));
  cases.push_back(MakeCase("rank_3_axis_1", fp32({4, 3, 5}), fp32({3, 5}), {{"axis", std::int64_t{1}}}));
  cases.push_back(MakeCase("rank_4_axis_minus_2", fp32({2, 3, 4, 5}), fp32({4, 5}), {{"axis", std::int64_t{-2}}}));
  cases.push_back(MakeCase("rank_4_axis_0", fp32({2, 3, 4, 5}), fp32({2, 3, 4, 5}), {{"axis", std::int64_t{0}}}));
  cases.push_back(MakeCase("empty_rows", fp32({0, 8}), fp32({8})));
  cases.push_back(MakeCase("empty_width", fp32({4, 0}), fp32({0})));
  cases.push_back(MakeCase("many_short_rows", fp32({1000, 6}), fp32({6})));
  cases.push_back(MakeCase("million_wide_constant", Filled(DataType::kFp32, {1, 1048577}, 1.1)));
}

void AddOutputTypes(std::vector<OperatorCase>& cases) {
  const std::pair<DataType, DataType> kPairs[] = {
      {DataType::kFp16, DataType::kFp32}, {DataType::kFp32, DataType::kBf16}, {DataType::kFp64, DataType::kFp16},
      {DataType::kFp64, DataType::kBf16}, {DataType::kFp32, DataType::kFp64}, {DataType::kBf16, DataType::kFp16},
      {DataType::kBf16, DataType::kFp64}, {DataType::kFp64, DataType::kFp32}};
  for (const auto& [from, to] : kPairs) {
    cases.push_back(MakeCase(TypeName(from) + "_to_" + TypeName(to), Normal(from, {3, 333}),
                             MakeTensor(DataType::kFp32, {333}, Values::kUniform, kSeed),
                             {{"output_type", TypeName(to)}}));
  }
}

void AddValues(std::vector<OperatorCase>& cases) {
  const std::pair<const char*, Values> kKinds[] = {{"outliers", Values::kOutliers},
                                                   {"large_mean", Values::kLargeMean},
                                                   {"tiny", Values::kTiny},
                                                   {"constant", Values::kConstant},
                                                   {"zero", Values::kZero}};
  for (const auto& [name, values] : kKinds) {
    for (const DataType dtype : {DataType::kFp16, DataType::kFp32}) {
      cases.push_back(
          MakeCase(std::string(name) + "_" + TypeName(dtype), MakeTensor(dtype, {4, 515}, values, kSeed + 3)));
    }
  }
  // Rows of 5: each has its own trouble, and none troubles its neighbours.
  const std::vector<double> rows = {1, 2,         3, 4, 5,  //
                                    1, kNan,      3, 4, 5,  //
                                    1, kInfinity, 3, 4, 0,  //
                                    1, 2,         3, 4, -kInfinity};
  cases.push_back(MakeCase("nan_and_infinities_FP32", FromDoubles(DataType::kFp32, {4, 5}, rows)));
  cases.push_back(MakeCase("nan_and_infinities_BF16", FromDoubles(DataType::kBf16, {4, 5}, rows)));
  cases.push_back(MakeCase("nan_and_infinities_FP64", FromDoubles(DataType::kFp64, {4, 5}, rows)));
  cases.push_back(MakeCase("squares_overflow_FP32", Filled(DataType::kFp32, {2, 700}, 3e38)));
  cases.push_back(MakeCase("squares_overflow_BF16", Filled(DataType::kBf16, {2, 5000}, -1e30)));
  cases.push_back(MakeCase("squares_overflow_long", Filled(DataType::kFp32, {1, 17000}, 2e20),
                           Filled(DataType::kFp32, {17000}, 0.5)));
}

void AddEpsilons(std::vector<OperatorCase>& cases) {
  const AttributeList kNoEpsilon = {{"epsilon", 0.0}};
  cases.push_back(MakeCase("epsilon_large", Normal(DataType::kFp32, {3, 64}), kNoWeight, {{"epsilon", 2.5}}));
  cases.push_back(
      MakeCase("epsilon_integer", Normal(DataType::kFp32, {3, 64}), kNoWeight, {{"epsilon", std::int64_t{1}}}));
  cases.push_back(MakeCase("epsilon_0_constant", Filled(DataType::kFp32, {3, 64}, -2.5), kNoWeight, kNoEpsilon));
  cases.push_back(MakeCase("epsilon_0_zero", Filled(DataType::kFp32, {3, 64}, 0.0), kNoWeight, kNoEpsilon));
  cases.push_back(
      MakeCase("epsilon_0_squares_underflow", Filled(DataType::kFp32, {3, 300}, 3e-39), kNoWeight, kNoEpsilon));
  cases.push_back(
      MakeCase("epsilon_0_tiny", MakeTensor(DataType::kBf16, {3, 300}, Values::kTiny, kSeed), kNoWeight, kNoEpsilon));
}

void AddBenchmarks(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t width : {512, 4096}) {
      cases.push_back(MakeCase(TypeName(dtype) + "_bench_64x" + std::to_string(width), Normal(dtype, {64, width}),
                               Normal(dtype, {width})));
      cases.back().benchmark = true;
    }
  }
}

const AttributeValue* Find(const OperatorCase& test_case, const std::string& name) {
  for (const auto& [key, value] : test_case.attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

double EpsilonOf(const OperatorCase& test_case) {
  const AttributeValue* const value = Find(test_case, "epsilon");
  if (value == nullptr) {
    return 1e-5;
  }
  const auto* const integer = std::get_if<std::int64_t>(value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(*value);
}

std::size_t WidthOf(const OperatorCase& test_case) {
  const Shape& shape = test_case.inputs[0].desc.shape;
  const AttributeValue* const value = Find(test_case, "axis");
  const auto axis = static_cast<int>(value == nullptr ? -1 : std::get<std::int64_t>(*value));
  std::size_t width = 1;
  for (int i = axis < 0 ? axis + shape.rank() : axis; i < shape.rank(); ++i) {
    width *= static_cast<std::size_t>(shape[i]);
  }
  return width;
}

std::vector<ExpectedOutput> RmsNormOracle(const OperatorCase& test_case) {
  const HostTensor& x = test_case.inputs[0];
  const HostTensor& weight = test_case.inputs[1];
  const AttributeValue* const output_type = Find(test_case, "output_type");
  const std::size_t width = WidthOf(test_case);

  ExpectedOutput y;
  y.wanted = true;
  y.desc = x.desc;
  y.desc.dtype = output_type == nullptr ? x.desc.dtype : *DataTypeFromName(std::get<std::string>(*output_type));
  y.values = ToDoubles(x);
  y.agreement = Agreement::kRounded;
  y.row_width = static_cast<std::int64_t>(width);
  const std::vector<double> weights = weight.present() ? ToDoubles(weight) : std::vector<double>{1.0};
  for (std::size_t row = 0; width > 0 && row < y.values.size() / width; ++row) {
    double* const values = y.values.data() + row * width;
    long double sum = 0.0L;
    for (std::size_t i = 0; i < width; ++i) {
      sum += static_cast<long double>(values[i]) * values[i];
    }
    const auto mean_square = static_cast<double>(sum / static_cast<long double>(width));
    const double root = std::sqrt(mean_square + EpsilonOf(test_case));
    for (std::size_t i = 0; i < width; ++i) {
      // An infinite root belongs to a row with an infinity: x * (1 / root), as the formula's rstd has it, gives NaN
      // there.
      const double normalised = std::isfinite(root) && root > 0.0 ? values[i] / root : values[i] * (1.0 / root);
      values[i] = normalised * weights[weights.size() == 1 ? 0 : i];
    }
  }
  return {y};
}

}  // namespace

OperatorCases RmsNormCases() {
  OperatorCases cases;
  cases.name = "rms_norm";
  cases.oracle = &RmsNormOracle;
  AddWidths(cases.cases);
  AddWeights(cases.cases);
  AddShapes(cases.cases);
  AddOutputTypes(cases.cases);
  AddValues(cases.cases);
  AddEpsilons(cases.cases);
  AddBenchmarks(cases.cases);
  return cases;
}

}  // namespace kernelwire::testing
