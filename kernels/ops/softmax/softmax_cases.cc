// Cases of softmax, and the oracle.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/softmax/softmax_family_cases.h"
#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kSoftmaxSeed = 20240502;

HostTensor Normal(DataType dtype, const Shape& shape) {
  return MakeTensor(dtype, shape, Values::kNormal, kSoftmaxSeed);
}

OperatorCase MakeCase(const std::string& name, HostTensor x, AttributeList attributes = {}) {
  OperatorCase test_case;
  test_case.name = name;
  test_case.inputs = {std::move(x)};
  test_case.attributes = std::move(attributes);
  return test_case;
}

/// Widths on both sides of every change of method: threads, vectors, tails, blocks, tiles.
void AddWidths(std::vector<OperatorCase>& cases) {
  for (const std::int64_t width :
       {1,   2,   3,    7,    12,   16,   20,   28,   30,    33,    44,     60,     64,    100,
        257, 661, 1000, 1024, 1301, 1999, 4099, 8192, 20000, 70001, 131071, 210001, 262143}) {
    for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
      const bool common = dtype == DataType::kFp16 || dtype == DataType::kFp32;
      if (common || width == 7 || width == 257 || width == 1000 || width == 1999 || width == 4099 || width == 20000) {
        cases.push_back(MakeCase(TypeName(dtype) + "_width_" + std::to_string(width),
                                 Normal(dtype, {width > 5000 ? 2 : 5, width})));
      }
    }
  }
  for (const std::int64_t rows : {1, 2, 300}) {  // these share a launch
    cases.push_back(MakeCase("FP16_rows_" + std::to_string(rows), Normal(DataType::kFp16, {rows, 100})));
  }
}

void AddSoftmaxShapes(std::vector<OperatorCase>& cases) {
  const auto fp32 = [](const Shape& shape) { return Normal(DataType::kFp32, shape); };
  cases.push_back(MakeCase("rank_0", fp32({}), Axis(0)));
  cases.push_back(MakeCase("rank_0_axis_minus_1", fp32({}), Axis(-1)));
  cases.push_back(MakeCase("rank_0_all", fp32({}), {{"axis", std::string("all")}}));
  cases.push_back(MakeCase("rank_1", fp32({9})));
  cases.push_back(MakeCase("rank_3_all", fp32({4, 3, 50}), {{"axis", std::string("all")}}));
  cases.push_back(MakeCase("rank_4_axis_3", fp32({2, 3, 4, 5}), Axis(3)));
  cases.push_back(MakeCase("axis_0", fp32({5, 7}), Axis(0)));
  cases.push_back(MakeCase("axis_0_of_4", fp32({3, 2, 4, 5}), Axis(0)));
  cases.push_back(MakeCase("axis_minus_2", fp32({2, 6, 4}), Axis(-2)));
  cases.push_back(MakeCase("axis_1_of_one", fp32({6, 9, 1, 1}), Axis(1)));
  cases.push_back(MakeCase("axis_1_wide", fp32({2, 4099, 3}), Axis(1)));
  cases.push_back(MakeCase("empty_rows", fp32({0, 5})));
  cases.push_back(MakeCase("empty_axis", fp32({2, 0, 3}), Axis(1)));
  cases.push_back(MakeCase("empty_inner", fp32({2, 3, 0}), Axis(1)));
  cases.push_back(MakeCase("empty_all", fp32({0, 4}), {{"axis", std::string("all")}}));
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    cases.push_back(MakeCase("axis_1_" + TypeName(dtype), Normal(dtype, {3, 40, 161}), Axis(1)));
  }
}

/// Every way to share an interleaved row out, of pairs of neighbours and of single ones; and rows that hold what is
/// no number beside rows that do not.
void AddInterleaved(std::vector<OperatorCase>& cases) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : {1, 2, 8, 9, 21, 32, 33, 64, 128, 129}) {
      for (const std::int64_t inner : {3, 66}) {
        const std::string name = TypeName(dtype) + "_" + std::to_string(width) + "_by_" + std::to_string(inner);
        cases.push_back(MakeCase("interleaved_" + name, Normal(dtype, {5, width, inner}), Axis(1)));
      }
    }
    for (const std::int64_t width : {7, 20, 100, 200}) {
      std::vector<double> values = ToDoubles(Normal(dtype, {width, 6}));
      for (std::size_t i = 0; i < values.size(); i += 6) {
        values[i + 1] = -kInfinity;
      }
      const auto middle = static_cast<std::size_t>(width / 2 * 6);
      values[middle + 2] = -kInfinity;
      values[middle + 3] = kInfinity;
      values[middle + 4] = std::numeric_limits<double>::quiet_NaN();
      cases.push_back(MakeCase("interleaved_extremes_" + TypeName(dtype) + "_" + std::to_string(width),
                               FromDoubles(dtype, {width, 6}, values), Axis(0)));
    }
  }
}

void AddOutputTypes(std::vector<OperatorCase>& cases) {
  const std::pair<DataType, DataType> kPairs[] = {
      {DataType::kFp16, DataType::kFp32}, {DataType::kFp32, DataType::kBf16}, {DataType::kFp64, DataType::kFp16},
      {DataType::kBf16, DataType::kFp64}, {DataType::kFp32, DataType::kFp64}, {DataType::kBf16, DataType::kFp16}};
  for (const auto& [from, to] : kPairs) {
    const std::string name = TypeName(from) + "_to_" + TypeName(to);
    cases.push_back(MakeCase(name, Normal(from, {3, 333}), {{"output_type", TypeName(to)}}));
    cases.push_back(
        MakeCase(name + "_axis_0", Normal(from, {21, 37}), {{"output_type", TypeName(to)}, {"axis", std::int64_t{0}}}));
  }
}

/// Nine rows, each with its own trouble; none may trouble its neighbours.
std::vector<double> TroubledValues(std::size_t width) {
  std::vector<double> values;
  const auto add_row = [&](auto element) {
    for (std::size_t i = 0; i < width; ++i) {
      values.push_back(element(i));
    }
  };
  const auto ordinary = [](std::size_t i) { return std::sin(static_cast<double>(i) * 1.7) * 3.0; };
  add_row(ordinary);
  add_row([](std::size_t) { return -kInfinity; });
  add_row([&](std::size_t i) { return i == width / 2 ? -kInfinity : ordinary(i); });
  add_row([&](std::size_t i) { return i + 1 < width ? -kInfinity : 2.0; });                   // the last alone counts
  add_row([&](std::size_t i) { return i < width * 3 / 4 ? -kInfinity : ordinary(i); });       // a long masked slice
  add_row([&](std::size_t i) { return i % 512 < 480 && i > 0 ? -kInfinity : ordinary(i); });  // whole threads masked
  add_row([&](std::size_t i) { return i == width / 3 ? kInfinity : ordinary(i); });
  add_row([&](std::size_t i) { return i == width - 1 ? kNan : ordinary(i); });
  add_row([&](std::size_t i) { return i == 0 ? kNan : -kInfinity; });
  return values;
}

void AddTroubledRows(std::vector<OperatorCase>& cases) {
  for (const std::int64_t width : {8, 300, 2500, 17000}) {
    const std::vector<double> rows = TroubledValues(static_cast<std::size_t>(width));
    for (const char* const algorithm : {"safe", "online"}) {
      const std::string name = "troubled_" + std::to_string(width) + "_" + algorithm;
      const AttributeList attributes = {{"algorithm", std::string(algorithm)}};
      cases.push_back(MakeCase(name + "_FP32", FromDoubles(DataType::kFp32, {9, width}, rows), attributes));
      if (width != 17000) {
        cases.push_back(MakeCase(name + "_BF16", FromDoubles(DataType::kBf16, {9, width}, rows), attributes));
        cases.push_back(MakeCase(name + "_FP64", FromDoubles(DataType::kFp64, {9, width}, rows), attributes));
      }
    }
  }
  // The same rows as columns.
  constexpr std::size_t kWidth = 600;
  const std::vector<double> rows = TroubledValues(kWidth);
  std::vector<double> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    columns[i % kWidth * 9 + i / kWidth] = rows[i];
  }
  cases.push_back(MakeCase("troubled_columns", FromDoubles(DataType::kFp32, {kWidth, 9}, columns), Axis(0)));
}

void AddSoftmaxValues(std::vector<OperatorCase>& cases) {
  for (const auto& [name, values] : kHardValues) {
    for (const DataType dtype : {DataType::kFp16, DataType::kFp32}) {
      cases.push_back(
          MakeCase(std::string(name) + "_" + TypeName(dtype), MakeTensor(dtype, {4, 515}, values, kSoftmaxSeed + 3)));
    }
    cases.push_back(MakeCase(std::string(name) + "_online",
                             MakeTensor(DataType::kFp32, {2, 5000}, values, kSoftmaxSeed + 4),
                             {{"algorithm", std::string("online")}}));
  }
  // Results that are subnormal in FP32 and FP64, and ever rising and falling maxima for the online algorithm.
  std::vector<double> rising;
  rising.reserve(9000);
  for (int i = 0; i < 9000; ++i) {
    rising.push_back(-110.0 + 110.0 * i / 9000.0);
  }
  for (const char* const algorithm : {"safe", "online"}) {
    const AttributeList attributes = {{"algorithm", std::string(algorithm)}};
    cases.push_back(
        MakeCase(std::string("rising_") + algorithm, FromDoubles(DataType::kFp32, {1, 9000}, rising), attributes));
    const std::vector<double> falling(rising.rbegin(), rising.rend());
    cases.push_back(
        MakeCase(std::string("falling_") + algorithm, FromDoubles(DataType::kFp64, {1, 9000}, falling), attributes));
  }
  cases.push_back(MakeCase("far_apart", FromDoubles(DataType::kFp32, {1, 4}, {3e38, -3e38, 2.9e38, 3e38})));
  cases.push_back(MakeCase("million_wide", MakeTensor(DataType::kFp32, {1, 1048577}, Values::kUniform, kSoftmaxSeed)));
}

/// Rows that all blocks of a cluster hold, of which the last ones may have nothing.
void AddRowsOfClusters(std::vector<OperatorCase>& cases) {
  cases.push_back(MakeCase("cluster_FP32", Normal(DataType::kFp32, {3, 131076})));
  cases.push_back(MakeCase("cluster_FP32_full", Normal(DataType::kFp32, {1, 262144})));
  cases.push_back(MakeCase("cluster_BF16", Normal(DataType::kBf16, {2, 300000})));
  cases.push_back(MakeCase("cluster_FP16", Normal(DataType::kFp16, {1, 458752})));
  cases.push_back(MakeCase("cluster_FP64", Normal(DataType::kFp64, {2, 70000})));
  cases.push_back(MakeCase("cluster_troubled", FromDoubles(DataType::kFp32, {9, 140000}, TroubledValues(140000))));
}

/// Rows that several blocks walk over, each a part.
void AddLongRows(std::vector<OperatorCase>& cases) {
  cases.push_back(MakeCase("long_BF16", Normal(DataType::kBf16, {2, 532488})));
  cases.push_back(MakeCase("long_FP16_odd", Normal(DataType::kFp16, {3, 532481})));
  cases.push_back(MakeCase("long_BF16_odd", Normal(DataType::kBf16, {2, 540679})));
  cases.push_back(MakeCase("long_FP32_odd", Normal(DataType::kFp32, {3, 266241})));
  cases.push_back(MakeCase("long_FP64", Normal(DataType::kFp64, {1, 139264})));
  cases.push_back(
      MakeCase("long_FP32_to_BF16", Normal(DataType::kFp32, {2, 270336}), {{"output_type", std::string("BF16")}}));
  for (const char* const algorithm : {"safe", "online"}) {
    for (const std::int64_t width : {270000, 270001}) {
      cases.push_back(
          MakeCase((width % 2 == 0 ? "long_troubled_" : "long_odd_troubled_") + std::string(algorithm),
                   FromDoubles(DataType::kFp32, {9, width}, TroubledValues(static_cast<std::size_t>(width))),
                   {{"algorithm", std::string(algorithm)}}));
    }
  }
}

void AddBenchmarks(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t width : {512, 4096}) {
      cases.push_back(MakeCase(TypeName(dtype) + "_bench_64x" + std::to_string(width), Normal(dtype, {64, width})));
      cases.back().benchmark = true;
    }
  }
}

/// x as [outer, width, inner].
struct Extents {
  std::size_t outer = 1;
  std::size_t width = 1;
  std::size_t inner = 1;
};

Extents ExtentsOf(const OperatorCase& test_case) {
  const Shape& shape = test_case.inputs[0].desc.shape;
  const AttributeValue* const value = FindAttribute(test_case, "axis");
  Extents extents;
  if (value != nullptr && std::get_if<std::string>(value) != nullptr) {
    extents.width = static_cast<std::size_t>(*shape.ElementCount());
    return extents;
  }
  std::int64_t axis = value == nullptr ? -1 : std::get<std::int64_t>(*value);
  axis += axis < 0 ? shape.rank() : 0;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? extents.outer : i == axis ? extents.width : extents.inner) *= static_cast<std::size_t>(shape[i]);
  }
  return extents;
}

void ProbabilitiesOfRow(double* row, std::size_t width, std::size_t stride) {
  const double maximum = MaximumOfRow(row, width, stride);
  long double sum = 0.0L;
  for (std::size_t i = 0; i < width; ++i) {
    row[i * stride] = std::exp(row[i * stride] - maximum);
    sum += row[i * stride];
  }
  for (std::size_t i = 0; i < width; ++i) {
    row[i * stride] = static_cast<double>(row[i * stride] / sum);
  }
}

std::vector<ExpectedOutput> SoftmaxOracle(const OperatorCase& test_case) {
  return SoftmaxFamilyOracle(test_case, &ProbabilitiesOfRow);
}

}  // namespace

double MaximumOfRow(const double* row, std::size_t width, std::size_t stride) {
  double maximum = -kInfinity;
  for (std::size_t i = 0; i < width; ++i) {
    const double value = row[i * stride];
    maximum = std::isnan(value) || value > maximum ? value : maximum;  // NaN stays: nothing exceeds it
  }
  return maximum;
}

std::vector<ExpectedOutput> SoftmaxFamilyOracle(const OperatorCase& test_case, SoftmaxOfRow of_row) {
  const Extents extents = ExtentsOf(test_case);
  ExpectedOutput y = ExpectedRows(test_case, static_cast<std::int64_t>(extents.width * extents.inner));
  y.values = ToDoubles(test_case.inputs[0]);
  for (std::size_t row = 0; row < extents.outer * extents.inner && !y.values.empty(); ++row) {
    of_row(y.values.data() + row / extents.inner * extents.width * extents.inner + row % extents.inner, extents.width,
           extents.inner);
  }
  return {y};
}

std::vector<OperatorCase> SoftmaxFamilyCases() {
  std::vector<OperatorCase> cases;
  AddWidths(cases);
  AddSoftmaxShapes(cases);
  AddInterleaved(cases);
  AddOutputTypes(cases);
  AddTroubledRows(cases);
  AddSoftmaxValues(cases);
  AddRowsOfClusters(cases);
  AddLongRows(cases);
  AddBenchmarks(cases);
  return cases;
}

OperatorCases SoftmaxCases() {
  OperatorCases cases;
  cases.name = "softmax";
  cases.oracle = &SoftmaxOracle;
  cases.cases = SoftmaxFamilyCases();
  return cases;
}

}  // namespace kernelwire::testing
