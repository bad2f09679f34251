#include "kernels/testing/norm_cases.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kSeed = 20240501;
constexpr DataType kTypes[] = {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64};

/// Gathers cases of one operator.
class CaseList {
 public:
  explicit CaseList(ArrangeInputs arrange) : arrange_(arrange) {}

  void Add(const std::string& name, HostTensor x, HostTensor weight = {}, AttributeList attributes = {}) {
    cases.push_back(NormCase(name, arrange_(std::move(x), std::move(weight)), std::move(attributes)));
  }

  std::vector<OperatorCase> cases;

 private:
  ArrangeInputs arrange_;
};

/// Both sides of every change of method: threads, vectors, tails, blocks, parts, tiles.
void AddWidths(CaseList& list) {
  for (const std::int64_t width :
       {1,   2,   3,    7,    12,   16,   20,   28,   30,    33,    44,     60,     64,    100,
        257, 661, 1000, 1024, 1301, 1999, 4099, 8192, 20000, 70001, 131071, 210001, 262143}) {
    for (const DataType dtype : kTypes) {
      const bool common = dtype == DataType::kFp16 || dtype == DataType::kFp32;
      if (common || width == 7 || width == 257 || width == 1000 || width == 1999 || width == 4099 || width == 20000) {
        list.Add(TypeName(dtype) + "_width_" + std::to_string(width),
                 NormalTensor(dtype, {width > 5000 ? 2 : 5, width}),
                 MakeTensor(dtype, {width}, Values::kUniform, kSeed + 1));
      }
    }
  }
}

/// Requests that may share a launch, whatever their weights and row counts.
void AddWeights(CaseList& list) {
  constexpr std::int64_t kWidth = 120;
  for (const DataType x_type : {DataType::kBf16, DataType::kFp64}) {
    const std::string name = TypeName(x_type) + "_weight_";
    list.Add(name + "absent", NormalTensor(x_type, {17, kWidth}));
    list.Add(name + "one_FP32", NormalTensor(x_type, {1, kWidth}), FilledTensor(DataType::kFp32, {}, 0.7));
    list.Add(name + "one_FP16", NormalTensor(x_type, {4, kWidth}), FilledTensor(DataType::kFp16, {1, 1}, -3.0));
    for (const DataType type : kTypes) {
      list.Add(name + "row_" + TypeName(type), NormalTensor(x_type, {3, kWidth}),
               MakeTensor(type, {kWidth}, Values::kNormal, kSeed + 2));
    }
  }
}

void AddShapes(CaseList& list) {
  const auto fp32 = [](const Shape& shape) { return NormalTensor(DataType::kFp32, shape); };
  list.Add("rank_0", fp32({}), {}, Axis(0));
  list.Add("rank_1", fp32({9}), fp32({9}));
  list.Add("rank_3_axis_1", fp32({4, 3, 5}), fp32({3, 5}), Axis(1));
  list.Add("rank_4_axis_minus_2", fp32({2, 3, 4, 5}), fp32({4, 5}), Axis(-2));
  list.Add("rank_4_axis_0", fp32({2, 3, 4, 5}), fp32({2, 3, 4, 5}), Axis(0));
  list.Add("empty_rows", fp32({0, 8}), fp32({8}));
  list.Add("empty_width", fp32({4, 0}), fp32({0}));
  list.Add("many_short_rows", fp32({1000, 6}), fp32({6}));
  list.Add("million_wide_constant", FilledTensor(DataType::kFp32, {1, 1048577}, 1.1));
}

void AddOutputTypes(CaseList& list) {
  const std::pair<DataType, DataType> kPairs[] = {
      {DataType::kFp16, DataType::kFp32}, {DataType::kFp32, DataType::kBf16}, {DataType::kFp64, DataType::kFp16},
      {DataType::kFp64, DataType::kBf16}, {DataType::kFp32, DataType::kFp64}, {DataType::kBf16, DataType::kFp16},
      {DataType::kBf16, DataType::kFp64}, {DataType::kFp64, DataType::kFp32}};
  for (const auto& [from, to] : kPairs) {
    list.Add(TypeName(from) + "_to_" + TypeName(to), NormalTensor(from, {3, 333}),
             MakeTensor(DataType::kFp32, {333}, Values::kUniform, kSeed), {{"output_type", TypeName(to)}});
  }
}

void AddValues(CaseList& list) {
  for (const auto& [name, values] : kHardValues) {
    for (const DataType dtype : {DataType::kFp16, DataType::kFp32}) {
      list.Add(std::string(name) + "_" + TypeName(dtype), MakeTensor(dtype, {4, 515}, values, kSeed + 3));
    }
  }
  // Rows of 5: each has its own trouble, and none troubles its neighbours.
  const std::vector<double> rows = {1, 2,         3, 4, 5,  //
                                    1, kNan,      3, 4, 5,  //
                                    1, kInfinity, 3, 4, 0,  //
                                    1, 2,         3, 4, -kInfinity};
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    list.Add("nan_and_infinities_" + TypeName(dtype), FromDoubles(dtype, {4, 5}, rows));
  }
  // Sums and sums of squares that f32 cannot hold.
  list.Add("squares_overflow_FP32", FilledTensor(DataType::kFp32, {2, 700}, 3e38));
  list.Add("squares_overflow_BF16", FilledTensor(DataType::kBf16, {2, 5000}, -1e30));
  list.Add("squares_overflow_long", FilledTensor(DataType::kFp32, {1, 70000}, 2e20),
           FilledTensor(DataType::kFp32, {70000}, 0.5));
  HostTensor huge = NormalTensor(DataType::kFp64, {3, 2500});
  std::vector<double> values = ToDoubles(huge);
  for (double& value : values) {
    value = std::clamp(value * 1e38, -3e38, 3e38);
  }
  list.Add("huge_FP32", FromDoubles(DataType::kFp32, {3, 2500}, values));
  list.Add("huge_BF16", FromDoubles(DataType::kBf16, {3, 2500}, values));
}

/// Rows that several blocks walk over, each a part: both sides of where parts end, and parts unlike each other.
void AddLongRows(CaseList& list) {
  const auto with_weight = [&](const std::string& name, DataType dtype, const Shape& shape, AttributeList attributes) {
    list.Add(name, NormalTensor(dtype, shape),
             MakeTensor(dtype, {shape[shape.rank() - 1]}, Values::kUniform, kSeed + 4), std::move(attributes));
  };
  with_weight("held_by_most_blocks_BF16", DataType::kBf16, {2, 400000}, {});
  with_weight("long_FP32", DataType::kFp32, {2, 524288}, {});
  with_weight("long_BF16", DataType::kBf16, {2, 532488}, {});
  with_weight("long_FP16_odd", DataType::kFp16, {3, 532481}, {});
  with_weight("long_FP32_odd", DataType::kFp32, {2, 266241}, {});
  with_weight("long_BF16_odd", DataType::kBf16, {3, 540679}, {});
  list.Add("long_BF16_odd_weight_FP32", NormalTensor(DataType::kBf16, {2, 532487}),
           MakeTensor(DataType::kFp32, {532487}, Values::kUniform, kSeed + 4));
  list.Add("long_FP32_odd_weight_one", NormalTensor(DataType::kFp32, {2, 266243}),
           FilledTensor(DataType::kBf16, {}, 0.75));
  with_weight("long_FP64", DataType::kFp64, {1, 139264}, {});
  with_weight("long_FP32_to_BF16", DataType::kFp32, {2, 270336}, {{"output_type", std::string("BF16")}});
  list.Add("long_large_mean", MakeTensor(DataType::kFp32, {1, 300000}, Values::kLargeMean, kSeed + 5));
  // What one part has of the row leaves f32, or is far from what the others have.
  const std::pair<const char*, double> kUnlike[] = {{"most", 3e38}, {"huge", 3e20}, {"large", 1e4}, {"tiny", 1e-30}};
  for (const auto& [name, value] : kUnlike) {
    for (const std::int64_t width : {300000, 300001}) {
      std::vector<double> values = ToDoubles(NormalTensor(DataType::kFp32, {1, width}));
      std::fill(values.begin() + 8192, values.begin() + 12288, value);
      list.Add((width % 2 == 0 ? "long_with_a_part_that_is_" : "long_odd_with_a_part_that_is_") + std::string(name),
               FromDoubles(DataType::kFp32, {1, width}, values), {}, {{"epsilon", 0.0}});
    }
  }
}

void AddEpsilons(CaseList& list) {
  list.Add("epsilon_large", NormalTensor(DataType::kFp32, {3, 64}), {}, {{"epsilon", 2.5}});
  list.Add("epsilon_integer", NormalTensor(DataType::kFp32, {3, 64}), {}, {{"epsilon", std::int64_t{1}}});
  list.Add("epsilon_0_zero", FilledTensor(DataType::kFp32, {3, 64}, 0.0), {}, {{"epsilon", 0.0}});
  list.Add("epsilon_0_tiny", MakeTensor(DataType::kBf16, {3, 300}, Values::kTiny, kSeed), {}, {{"epsilon", 0.0}});
  // The sum under the root leaves f32.
  for (const std::int64_t width : {64, 1001, 5000, 70000, 300000}) {
    std::vector<double> values = ToDoubles(NormalTensor(DataType::kFp32, {2, width}));
    std::transform(values.begin(), values.end(), values.begin(), [](double value) { return value * 1e19; });
    list.Add("epsilon_3e38_width_" + std::to_string(width), FromDoubles(DataType::kFp32, {2, width}, values), {},
             {{"epsilon", 3e38}});
  }
}

void AddBenchmarks(CaseList& list) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t width : {512, 4096}) {
      list.Add(TypeName(dtype) + "_bench_64x" + std::to_string(width), NormalTensor(dtype, {64, width}),
               NormalTensor(dtype, {width}));
      list.cases.back().benchmark = true;
    }
  }
}

}  // namespace

std::vector<OperatorCase> NormCases(ArrangeInputs arrange) {
  CaseList list(arrange);
  AddWidths(list);
  AddWeights(list);
  AddShapes(list);
  AddOutputTypes(list);
  AddValues(list);
  AddLongRows(list);
  AddEpsilons(list);
  AddBenchmarks(list);
  return std::move(list.cases);
}

OperatorCase NormCase(const std::string& name, std::vector<HostTensor> inputs, AttributeList attributes) {
  OperatorCase test_case;
  test_case.name = name;
  test_case.inputs = std::move(inputs);
  test_case.attributes = std::move(attributes);
  return test_case;
}

HostTensor NormalTensor(DataType dtype, const Shape& shape, std::uint64_t seed) {
  return MakeTensor(dtype, shape, Values::kNormal, seed);
}

HostTensor FilledTensor(DataType dtype, const Shape& shape, double value) {
  return FromDoubles(dtype, shape, std::vector<double>(static_cast<std::size_t>(*shape.ElementCount()), value));
}

ExpectedOutput ExpectedRows(const OperatorCase& test_case, std::int64_t row_width) {
  const AttributeValue* const output_type = FindAttribute(test_case, "output_type");
  ExpectedOutput y;
  y.wanted = test_case.wanted_outputs == 0 || (test_case.wanted_outputs & 1U) != 0;
  y.desc = test_case.inputs[0].desc;
  if (output_type != nullptr) {
    y.desc.dtype = *DataTypeFromName(std::get<std::string>(*output_type));
  }
  y.agreement = Agreement::kRounded;
  y.row_width = std::max<std::int64_t>(1, row_width);
  return y;
}

double EpsilonOf(const OperatorCase& test_case) {
  const AttributeValue* const value = FindAttribute(test_case, "epsilon");
  if (value == nullptr) {
    return 1e-5;
  }
  const auto* const integer = std::get_if<std::int64_t>(value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(*value);
}

std::size_t NormWidthOf(const OperatorCase& test_case) {
  const Shape& shape = test_case.inputs[0].desc.shape;
  const AttributeValue* const value = FindAttribute(test_case, "axis");
  const auto axis = static_cast<int>(value == nullptr ? -1 : std::get<std::int64_t>(*value));
  std::size_t width = 1;
  for (int i = axis < 0 ? axis + shape.rank() : axis; i < shape.rank(); ++i) {
    width *= static_cast<std::size_t>(shape[i]);
  }
  return width;
}

double ParameterAt(const HostTensor& parameter, std::size_t i, double absent) {
  if (!parameter.present()) {
    return absent;
  }
  const bool one = parameter.desc.shape.ElementCount() == 1;
  return ReadElement(parameter.desc.dtype, parameter.bytes.data(), one ? 0 : static_cast<std::int64_t>(i));
}

}  // namespace kernelwire::testing
