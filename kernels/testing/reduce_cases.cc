#include "kernels/testing/reduce_cases.h"

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kReductionSeed = 20240601;

constexpr DataType kReductionTypes[] = {DataType::kFp16,    DataType::kBf16,   DataType::kFp32,  DataType::kFp64,
                                        DataType::kInt8,    DataType::kUint8,  DataType::kInt32, DataType::kInt64,
                                        DataType::kFp8E4m3, DataType::kFp8E5m2};

class Builder {
 public:
  explicit Builder(const ReductionTraits& traits) : traits_(traits) {}

  std::vector<OperatorCase> Build() {
    AddWidths();
    AddTypes();
    AddShapes();
    AddColumns();
    AddSeveralAxes();
    AddEmpty();
    AddOutputTypes();
    AddBenchmarks();
    return std::move(cases_);
  }

 private:
  void Add(const std::string& name, DataType dtype, const Shape& shape, AttributeList attributes = {}) {
    cases_.push_back(
        ReductionCase(name, traits_.draw(dtype, shape, kReductionSeed + cases_.size()), std::move(attributes)));
  }

  /// Both sides of every change of method: vectors, tails, one thread, eight, a warp, a block, parts.
  void AddWidths() {
    for (const std::int64_t width :
         {1, 2, 3, 7, 16, 33, 64, 100, 256, 257, 1000, 1024, 1025, 4099, 8192, 8193, 20000}) {
      for (const DataType dtype : {DataType::kFp16, DataType::kFp32}) {
        Add(std::string(NameOf(dtype)) + "_width_" + std::to_string(width), dtype, {width > 5000 ? 2 : 5, width},
            Axes("-1"));
      }
    }
    for (const std::int64_t rows : {1, 2, 300}) {  // these share a launch
      Add("FP16_rows_" + std::to_string(rows), DataType::kFp16, {rows, 100}, Axes("1"));
      Add("FP32_long_rows_" + std::to_string(rows % 5), DataType::kFp32, {rows % 5, 33001}, Axes("1"));
    }
    Add("FP32_70001_in_all", DataType::kFp32, {70001});
    Add("FP32_300000_in_all", DataType::kFp32, {3, 100000});
  }

  void AddTypes() {
    for (const DataType dtype : kReductionTypes) {
      const std::string name = NameOf(dtype);
      Add(name + "_rows", dtype, {7, 37}, Axes("1"));
      Add(name + "_aligned_rows", dtype, {40, 512}, Axes("1"));
      Add(name + "_block_rows", dtype, {2, 9001}, Axes("1"));
      Add(name + "_long_row", dtype, {1, 150016}, Axes("1"));
      Add(name + "_all", dtype, {3, 5, 70});
      Add(name + "_columns", dtype, {40, 96}, Axes("0"));
      Add(name + "_odd_columns", dtype, {3, 41, 37}, Axes("1"));
      Add(name + "_tall_columns", dtype, {1300, 16}, Axes("0"));
      Add(name + "_tall_odd_columns", dtype, {1300, 3}, Axes("0"));
    }
  }

  void AddShapes() {
    Add("rank_0", DataType::kFp32, {});
    Add("rank_0_axis_0", DataType::kFp32, {}, Axes("0"));
    Add("rank_0_axis_minus_1_kept", DataType::kFp32, {}, {{"axes", std::int64_t{-1}}, {"keepdims", true}});
    Add("rank_1_kept", DataType::kFp32, {9}, {{"keepdims", true}});
    Add("rank_3_all_kept", DataType::kFp32, {4, 3, 5}, {{"keepdims", true}});
    Add("rank_4_axis_minus_2_kept", DataType::kFp32, {2, 3, 4, 5}, {{"axes", std::int64_t{-2}}, {"keepdims", true}});
    Add("axis_of_one", DataType::kFp32, {6, 1, 5}, Axes("1"));
    Add("axis_of_one_last", DataType::kFp16, {33, 1}, Axes("1"));
    Add("axis_between_ones", DataType::kFp32, {1, 6, 1, 9, 1}, Axes("3"));
    Add("many_short_rows", DataType::kFp32, {1000, 3}, Axes("1"));
  }

  void AddColumns() {
    for (const std::int64_t height : {1, 2, 8, 9, 64, 127, 512, 513, 2000}) {
      Add("FP32_height_" + std::to_string(height), DataType::kFp32, {2, height, 12}, Axes("1"));
      Add("BF16_height_" + std::to_string(height), DataType::kBf16, {2, height, 5}, Axes("1"));
    }
    // Several parts, in numbers that are powers of two and others; tiles of them, and requests that share a launch.
    for (const std::int64_t height : {1100, 1500, 4000, 4600}) {
      Add("FP32_tall_" + std::to_string(height), DataType::kFp32, {3, height, 70}, Axes("1"));
      Add("INT8_tall_" + std::to_string(height), DataType::kInt8, {2, height, 272}, Axes("1"));
      Add("BF16_tall_odd_" + std::to_string(height), DataType::kBf16, {2, height, 19}, Axes("1"));
    }
    // So many that threads have vectors of them, aligned or not; the last one's columns are another thread's, too.
    for (const std::int64_t columns : {4112, 4133, 8208, 8217}) {
      Add("INT8_tall_columns_" + std::to_string(columns), DataType::kInt8, {600, columns}, Axes("0"));
      Add("FP8_E5M2_tall_columns_" + std::to_string(columns), DataType::kFp8E5m2, {600, columns}, Axes("0"));
      Add("BF16_tall_columns_" + std::to_string(columns), DataType::kBf16, {600, columns}, Axes("0"));
      Add("FP32_tall_columns_" + std::to_string(columns), DataType::kFp32, {600, columns}, Axes("0"));
    }
    Add("FP8_E4M3_tall_columns_4112", DataType::kFp8E4m3, {520, 4112}, Axes("0"));
    Add("INT32_tall_columns_3088", DataType::kInt32, {520, 3088}, Axes("0"));
    Add("INT32_tall_columns_2057", DataType::kInt32, {520, 2057}, Axes("0"));
    Add("FP64_tall_columns_528", DataType::kFp64, {520, 528}, Axes("0"));
    Add("FP64_tall_columns_1033", DataType::kFp64, {520, 1033}, Axes("0"));
    Add("INT64_tall_columns_528", DataType::kInt64, {520, 528}, Axes("0"));
    // Of few rows, and so many that threads have vectors of them.
    Add("FP32_short_of_many", DataType::kFp32, {2, 3, 131076}, Axes("1"));
    Add("BF16_short_of_many", DataType::kBf16, {2, 2, 262152}, Axes("1"));
    Add("INT8_short_of_many", DataType::kInt8, {2, 2, 524304}, Axes("1"));
    Add("FP8_E4M3_short_of_many", DataType::kFp8E4m3, {9, 262160}, Axes("0"));
    Add("FP64_short_of_many", DataType::kFp64, {2, 8, 65538}, Axes("1"));
    Add("FP32_two_lanes_of_many", DataType::kFp32, {12, 131076}, Axes("0"));
    Add("BF16_odd_two_lanes_of_many", DataType::kBf16, {9, 262153}, Axes("0"));
    Add("INT8_odd_short_of_many", DataType::kInt8, {3, 1048577}, Axes("0"));
    Add("FP32_odd_short", DataType::kFp32, {2, 16, 3277}, Axes("1"));  // these one by one
    for (const std::int64_t pieces : {1, 2, 5}) {
      Add("FP8_E4M3_tall_" + std::to_string(pieces), DataType::kFp8E4m3, {pieces, 1100, 2}, Axes("1"));
      Add("FP16_tall_" + std::to_string(pieces), DataType::kFp16, {pieces, 1100, 3}, Axes("1"));
    }
    for (const std::int64_t columns : {1, 2, 3, 31, 255, 256, 257, 600}) {
      Add("FP32_columns_" + std::to_string(columns), DataType::kFp32, {70, columns}, Axes("0"));
      Add("INT8_columns_" + std::to_string(columns), DataType::kInt8, {70, columns}, Axes("0"));
    }
    // Whole vectors and a last one that reaches back, with rows that make no whole step; tiles, and what is left of
    // them.
    for (const std::int64_t height : {2, 7, 8, 9, 15, 517}) {
      Add("BF16_wide_height_" + std::to_string(height), DataType::kBf16, {2, height, 37}, Axes("1"));
      Add("FP64_wide_height_" + std::to_string(height), DataType::kFp64, {2, height, 37}, Axes("1"));
      Add("INT32_wide_height_" + std::to_string(height), DataType::kInt32, {2, height, 37}, Axes("1"));
    }
    for (const std::int64_t columns : {15, 16, 17, 1024, 1025, 2111}) {
      Add("FP16_columns_" + std::to_string(columns), DataType::kFp16, {140, columns}, Axes("0"));
      Add("FP8_E5M2_columns_" + std::to_string(columns), DataType::kFp8E5m2, {19, columns}, Axes("0"));
    }
  }

  void AddSeveralAxes() {
    if (traits_.one_axis) {
      return;
    }
    for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kInt8}) {
      const std::string name = NameOf(dtype);
      Add(name + "_axes_0_2", dtype, {4, 5, 6}, Axes("0,2"));
      Add(name + "_axes_1_3", dtype, {3, 4, 5, 6}, Axes("3,1"));
      Add(name + "_axes_1_3_wide", dtype, {2, 9, 3, 300}, Axes("1,3"));
      Add(name + "_axes_0_2_of_4", dtype, {4, 5, 6, 7}, Axes("0,-2"));
      Add(name + "_axes_0_2_4_of_6", dtype, {2, 3, 4, 3, 5, 2}, Axes("0,2,4"));
      Add(name + "_axes_0_2_tall", dtype, {40, 2, 30, 33}, Axes("2,0"));
    }
    // Rows of one part and of several, whole vectors and not.
    Add("FP16_axes_0_2_of_one_part", DataType::kFp16, {30, 3, 301}, Axes("0,2"));
    Add("FP32_axes_0_2_of_parts", DataType::kFp32, {70, 3, 500}, Axes("0,2"));
    Add("FP32_odd_axes_0_2_of_parts", DataType::kFp32, {70, 3, 499}, Axes("0,2"));
    Add("BF16_odd_axes_0_2_of_parts", DataType::kBf16, {70, 3, 1001}, Axes("0,2"));
    Add("INT8_odd_axes_0_2_4_6_of_7", DataType::kInt8, {7, 2, 9, 2, 3, 3, 33}, Axes("0,2,4,6"));
    // Short runs, whole vectors and not, of several pieces; so many that a GPU takes them for columns: ShortRunsTest.
    Add("FP32_axes_0_2_of_short_runs", DataType::kFp32, {70, 5, 33}, Axes("0,2"));
    Add("FP64_axes_0_2_of_short_runs", DataType::kFp64, {40, 3, 20}, Axes("0,2"));
    Add("BF16_axes_0_2_of_short_runs", DataType::kBf16, {600, 8, 49}, Axes("0,2"));
    Add("FP16_axes_1_3_of_short_runs", DataType::kFp16, {3, 130, 41, 10}, Axes("1,3"));
    Add("FP8_E4M3_axes_0_2_of_short_runs", DataType::kFp8E4m3, {1100, 3, 16}, Axes("0,2"));
    Add("INT8_axes_1_3_of_short_runs", DataType::kInt8, {2, 256, 3, 7}, Axes("1,3"));
    Add("INT32_axes_0_2_of_short_runs", DataType::kInt32, {64, 3, 255}, Axes("0,2"));
    // Columns, so many that threads have vectors of them.
    Add("FP32_axes_0_2_of_many", DataType::kFp32, {3, 4, 50, 1040}, Axes("0,2"));
    Add("FP32_odd_axes_0_2_4_of_many", DataType::kFp32, {2, 2, 5, 2, 15, 1041}, Axes("0,2,4"));
    Add("BF16_odd_axes_0_2_of_many", DataType::kBf16, {3, 8, 50, 1041}, Axes("0,2"));
    Add("INT8_odd_axes_0_2_of_many", DataType::kInt8, {3, 16, 50, 1041}, Axes("0,2"));
    Add("neighbouring_axes", DataType::kFp32, {3, 4, 5, 6}, Axes("1,2"));
    Add("rank_16", DataType::kFp32, {2, 1, 2, 3, 1, 2, 2, 1, 3, 2, 1, 2, 1, 2, 1, 2}, Axes("0,3,6,9,13"));
    Add("alternating_rank_12", DataType::kFp32, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, Axes("0,2,4,6,8,10"));
  }

  void AddEmpty() {
    Add("no_rows", DataType::kFp32, {0, 5}, Axes("1"));
    Add("no_columns", DataType::kFp16, {5, 0}, Axes("0"));
    if (traits_.takes_nothing) {
      Add("nothing", DataType::kFp32, {0});
      Add("nothing_in_rows", DataType::kFp32, {3, 0}, Axes("1"));
      Add("nothing_in_columns", DataType::kBf16, {0, 3}, {{"axes", std::int64_t{0}}, {"keepdims", true}});
      Add("nothing_of_int8", DataType::kInt8, {2, 0, 3}, Axes("1"));
    }
  }

  void AddOutputTypes() {
    for (const std::string& type : traits_.output_types) {
      Add("FP16_to_" + type, DataType::kFp16, {5, 300}, {{"axes", std::string("1")}, {"output_type", type}});
      Add("FP8_E4M3_to_" + type, DataType::kFp8E4m3, {300, 5}, {{"axes", std::string("0")}, {"output_type", type}});
    }
  }

  void AddBenchmarks() {
    for (const DataType dtype : {DataType::kFp32, DataType::kBf16}) {
      Add(std::string(NameOf(dtype)) + "_bench_64x4096", dtype, {64, 4096}, Axes("1"));
      cases_.back().benchmark = true;
    }
  }

  const ReductionTraits& traits_;
  std::vector<OperatorCase> cases_;
};

/// Which axes a case reduces.
std::vector<bool> ReducedAxes(const OperatorCase& test_case) {
  const int rank = test_case.inputs[0].desc.shape.rank();
  const AttributeValue* const value = FindAttribute(test_case, "axes");
  std::vector<bool> reduced(static_cast<std::size_t>(rank), value == nullptr);
  const auto reduce = [&](std::int64_t axis) {
    if (rank > 0) {
      reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
  };
  if (value != nullptr && std::get_if<std::int64_t>(value) != nullptr) {
    reduce(std::get<std::int64_t>(*value));
  } else if (value != nullptr) {
    std::istringstream list(std::get<std::string>(*value));
    for (std::string entry; std::getline(list, entry, ',');) {
      reduce(std::stoll(entry));
    }
  }
  return reduced;
}

}  // namespace

HostTensor DrawNormal(DataType dtype, const Shape& shape, std::uint64_t seed) {
  if (IsFloat(dtype)) {
    return MakeTensor(dtype, shape, Values::kNormal, seed);
  }
  std::vector<double> values = ToDoubles(MakeTensor(DataType::kFp64, shape, Values::kNormal, seed));
  for (double& value : values) {
    value *= SizeOf(dtype) == 1 ? 50.0 : 1e8;
  }
  return FromDoubles(dtype, shape, values);
}

HostTensor TroubledRows(DataType dtype) {
  std::vector<double> rows;
  for (const double trouble : {1.0, std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 3e38}) {
    for (int i = 0; i < 1000; ++i) {
      rows.push_back(i == 517 || i == 999 ? trouble : 0.5);
    }
  }
  return FromDoubles(dtype, {5, 1000}, rows);
}

AttributeList Axes(const std::string& axes) { return {{"axes", axes}}; }

OperatorCase ReductionCase(const std::string& name, HostTensor x, AttributeList attributes) {
  OperatorCase test_case;
  test_case.name = name;
  test_case.inputs = {std::move(x)};
  test_case.attributes = std::move(attributes);
  return test_case;
}

OperatorCase ReductionOf(HostTensor x, AttributeList attributes) {
  return ReductionCase("reduction", std::move(x), std::move(attributes));
}

OperatorCases ReductionCases(const std::string& name, const ReductionTraits& traits, Oracle oracle) {
  OperatorCases all;
  all.name = name;
  all.cases = Builder(traits).Build();
  all.oracle = oracle;
  return all;
}

std::string TextAttribute(const OperatorCase& test_case, const std::string& name) {
  const AttributeValue* const value = FindAttribute(test_case, name);
  return value == nullptr ? "" : std::get<std::string>(*value);
}

DataType DefaultRealType(DataType x_type) { return !IsFloat(x_type) || SizeOf(x_type) == 1 ? DataType::kFp32 : x_type; }

DataType DefaultSumType(DataType x_type, const OperatorCase& test_case) {
  if (IsFloat(x_type)) {
    return DefaultRealType(x_type);
  }
  const auto named = DataTypeFromName(TextAttribute(test_case, "accumulator"));
  return named.value_or(SizeOf(x_type) == 1 ? DataType::kInt32 : DataType::kInt64);
}

std::vector<ExpectedOutput> ReductionOracle(const OperatorCase& test_case, DataType y_type, Agreement agreement,
                                            ReducedValue (*reduce)(const std::vector<double>& x)) {
  const Shape& shape = test_case.inputs[0].desc.shape;
  const std::vector<bool> reduced = ReducedAxes(test_case);
  const AttributeValue* const keepdims = FindAttribute(test_case, "keepdims");
  const bool keep = keepdims != nullptr && std::get<bool>(*keepdims);
  ExpectedOutput y;
  y.wanted = true;
  y.desc.dtype = DataTypeFromName(TextAttribute(test_case, "output_type")).value_or(y_type);
  y.agreement = agreement;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 0);  // of results
  std::int64_t results = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) {
      strides[static_cast<std::size_t>(axis)] = results;
      results *= shape[axis];
    }
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)] || keep) {
      y.desc.shape.Append(reduced[static_cast<std::size_t>(axis)] ? 1 : shape[axis]);
    }
  }
  std::vector<std::vector<double>> elements(static_cast<std::size_t>(results));
  const std::vector<double> x = ToDoubles(test_case.inputs[0]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t result = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      result += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
      rest /= shape[axis];
    }
    elements[static_cast<std::size_t>(result)].push_back(x[i]);
  }
  for (const std::vector<double>& of_result : elements) {
    const ReducedValue value = reduce(of_result);
    y.values.push_back(value.value);
    y.magnitudes.push_back(value.magnitude);
  }
  if (agreement == Agreement::kExact) {  // but for y's own rounding
    y.values = ToDoubles(FromDoubles(y.desc.dtype, y.desc.shape, y.values));
  }
  return {y};
}

}  // namespace kernelwire::testing
