// Cases of dot, and the oracle.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

constexpr DataType kDotTypes[] = {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64, DataType::kInt8};

OperatorCase DotCase(const std::string& name, HostTensor a, HostTensor b, AttributeList attributes = {}) {
  OperatorCase test_case = ReductionCase(name, std::move(a), std::move(attributes));
  test_case.inputs.push_back(std::move(b));
  return test_case;
}

OperatorCase Drawn(const std::string& name, DataType dtype, const Shape& shape, AttributeList attributes = {}) {
  return DotCase(name, DrawNormal(dtype, shape, 11), DrawNormal(dtype, shape, 12), std::move(attributes));
}

void AddDotShapes(std::vector<OperatorCase>& cases) {
  for (const std::int64_t width : {1, 3, 7, 16, 33, 100, 256, 1000, 1024, 4099, 8192, 20000, 70001}) {
    for (const DataType dtype : kDotTypes) {
      cases.push_back(
          Drawn(std::string(NameOf(dtype)) + "_width_" + std::to_string(width), dtype, {width > 5000 ? 1 : 5, width}));
    }
  }
  for (const std::int64_t rows : {1, 2, 300}) {  // these share a launch
    cases.push_back(Drawn("FP16_rows_" + std::to_string(rows), DataType::kFp16, {rows, 100}));
  }
  cases.push_back(Drawn("rank_0", DataType::kFp32, {}));
  cases.push_back(Drawn("rank_1", DataType::kFp32, {9}));
  cases.push_back(Drawn("rank_4", DataType::kFp32, {2, 3, 4, 5}));
  cases.push_back(Drawn("no_rows", DataType::kFp32, {0, 5}));
  cases.push_back(Drawn("nothing", DataType::kFp32, {3, 0}));
  cases.push_back(Drawn("nothing_of_int8", DataType::kInt8, {0}));
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16}) {
    cases.push_back(Drawn(std::string(NameOf(dtype)) + "_bench_64x4096", dtype, {64, 4096}));
    cases.back().benchmark = true;
  }
}

void AddDotValues(std::vector<OperatorCase>& cases) {
  const auto fp32 = [](const std::vector<double>& values) {
    return FromDoubles(DataType::kFp32, {static_cast<std::int64_t>(values.size())}, values);
  };
  cases.push_back(DotCase("infinity_times_zero", fp32({kInfinity, 1}), fp32({0, 1})));
  cases.push_back(DotCase("infinity", fp32({kInfinity, 1}), fp32({-2, 1})));
  cases.push_back(DotCase("nan", fp32({std::nan(""), 1}), fp32({1, 1})));
  cases.push_back(DotCase("beyond_f32", fp32({1e30, 1}), fp32({1e30, 1})));
  const std::vector<double> sixty(16, 60000.0);
  cases.push_back(DotCase("FP16_large", FromDoubles(DataType::kFp16, {16}, sixty),
                          FromDoubles(DataType::kFp16, {16}, sixty), {{"output_type", std::string("FP32")}}));
  for (const char* const accumulator : {"FP16", "BF16", "FP32", "FP64"}) {
    cases.push_back(DotCase(
        std::string("FP16_accumulator_") + accumulator, FromDoubles(DataType::kFp16, {2, 3}, {1, 2, 3, -4, 5, 6}),
        FromDoubles(DataType::kFp16, {2, 3}, {3, 2, -1, 4, 1, 2}), {{"accumulator", std::string(accumulator)}}));
  }
  cases.push_back(Drawn("INT8_accumulator_INT64", DataType::kInt8, {3, 999}, {{"accumulator", std::string("INT64")}}));
  cases.push_back(Drawn("INT8_to_BF16", DataType::kInt8, {3, 999}, {{"output_type", std::string("BF16")}}));
  const std::vector<double> least(3000, -128.0);
  cases.push_back(
      DotCase("INT8_least", FromDoubles(DataType::kInt8, {3000}, least), FromDoubles(DataType::kInt8, {3000}, least)));
}

std::vector<ExpectedOutput> DotOracle(const OperatorCase& test_case) {
  const HostTensor& a = test_case.inputs[0];
  const Shape& shape = a.desc.shape;
  const std::vector<double> x = ToDoubles(a);
  const std::vector<double> z = ToDoubles(test_case.inputs[1]);
  ExpectedOutput y;
  y.wanted = true;
  y.desc.dtype =
      DataTypeFromName(TextAttribute(test_case, "output_type")).value_or(DefaultSumType(a.desc.dtype, test_case));
  y.agreement = Agreement::kSummed;
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    y.desc.shape.Append(shape[axis]);
    rows *= shape[axis];
  }
  const std::size_t width = rows == 0 ? 0 : x.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    long double sum = 0.0L;
    double magnitude = 0.0;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      sum += static_cast<long double>(x[i]) * static_cast<long double>(z[i]);
      magnitude += std::abs(x[i] * z[i]);
    }
    y.values.push_back(static_cast<double>(sum));
    y.magnitudes.push_back(magnitude);
  }
  return {y};
}

}  // namespace

OperatorCases DotCases() {
  OperatorCases cases;
  cases.name = "dot";
  AddDotShapes(cases.cases);
  AddDotValues(cases.cases);
  cases.oracle = &DotOracle;
  return cases;
}

}  // namespace kernelwire::testing
