#include "kernels/testing/extreme_cases.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

void AddFloats(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kFp8E5m2}) {
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("troubled_rows_" + name, TroubledRows(dtype), Axes("1")));
    cases.push_back(ReductionCase("troubled_columns_" + name, TroubledRows(dtype), Axes("0")));
    cases.push_back(ReductionCase("minus_infinity_" + name,
                                  FromDoubles(dtype, {2, 40}, std::vector<double>(80, -kInfinity)), Axes("1")));
    cases.push_back(
        ReductionCase("infinity_" + name, FromDoubles(dtype, {2, 40}, std::vector<double>(80, kInfinity)), Axes("1")));
    cases.push_back(ReductionCase("constant_" + name, MakeTensor(dtype, {3, 300}, Values::kConstant, 5), Axes("1")));
  }
}

/// Nothing but the least or the most that a type without infinities holds.
void AddEndsOfTypes(std::vector<OperatorCase>& cases) {
  const auto all = [](DataType dtype, double value) {
    return FromDoubles(dtype, {37}, std::vector<double>(37, value));
  };
  cases.push_back(ReductionCase("E4M3_least", all(DataType::kFp8E4m3, -448.0)));
  cases.push_back(ReductionCase("E4M3_most", all(DataType::kFp8E4m3, 448.0)));
  for (const DataType dtype : {DataType::kInt8, DataType::kInt32}) {
    const double least = dtype == DataType::kInt8 ? -128.0 : -2147483648.0;
    const std::string name = NameOf(dtype);
    cases.push_back(ReductionCase("least_" + name, all(dtype, least)));
    cases.push_back(ReductionCase("most_" + name, all(dtype, -1.0 - least)));
  }
}

/// Columns of what is hard to compare, beside each other: so many that a GPU's threads have vectors of them.
HostTensor HardColumns(DataType dtype) {
  constexpr std::size_t kRows = 129;
  constexpr std::size_t kColumns = 8208;
  const bool is_float = IsFloat(dtype);
  const double least = is_float ? -kInfinity : dtype == DataType::kUint8 ? 0 : -128;
  const double most = is_float ? kInfinity : 127;
  std::vector<double> x;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      const std::size_t drawn = (row * row + 31 * row * column + column) % 97;
      const auto few = static_cast<double>(drawn % 5);
      const double of_kinds[] = {least,
                                 is_float && drawn % 2 == 0 ? -0.0 : 0.0,
                                 is_float && drawn % 23 == 0 ? kNan : few,
                                 drawn % 11 == 0 ? most : few,
                                 dtype == DataType::kUint8 ? few : -few,
                                 drawn % 3 == 0 ? least : most,
                                 2.0};
      x.push_back(of_kinds[column % 7]);
    }
  }
  return FromDoubles(dtype, {kRows, kColumns}, x);
}

void AddHardColumns(std::vector<OperatorCase>& cases) {
  for (const DataType dtype : {DataType::kFp8E4m3, DataType::kFp8E5m2, DataType::kBf16, DataType::kFp16,
                               DataType::kInt8, DataType::kUint8, DataType::kFp32}) {
    cases.push_back(ReductionCase(std::string("hard_tall_columns_") + NameOf(dtype), HardColumns(dtype), Axes("0")));
  }
}

/// Of equals the first; NaN is beyond everything.
template <Extreme kWhich>
std::size_t PlaceOf(const std::vector<double>& x) {
  std::size_t found = 0;
  for (std::size_t i = 1; i < x.size() && !std::isnan(x[found]); ++i) {
    const bool beyond = kWhich == Extreme::kLargest ? x[i] > x[found] : x[i] < x[found];
    found = beyond || std::isnan(x[i]) ? i : found;
  }
  return found;
}

template <Extreme kWhich>
std::vector<ExpectedOutput> ValueOracle(const OperatorCase& test_case) {
  const DataType x = test_case.inputs[0].desc.dtype;
  return ReductionOracle(test_case, IsFloat(x) ? DefaultRealType(x) : x, Agreement::kExact,
                         [](const std::vector<double>& of_result) {
                           return ReducedValue{of_result[PlaceOf<kWhich>(of_result)], 0.0};
                         });
}

template <Extreme kWhich>
std::vector<ExpectedOutput> PlaceOracle(const OperatorCase& test_case) {
  return ReductionOracle(test_case, DataType::kInt64, Agreement::kExact, [](const std::vector<double>& of_result) {
    return ReducedValue{static_cast<double>(PlaceOf<kWhich>(of_result)), 0.0};
  });
}

}  // namespace

OperatorCases ExtremeValueCases(const std::string& name, Extreme which) {
  ReductionTraits traits;
  traits.takes_nothing = false;
  OperatorCases all = ReductionCases(
      name, traits, which == Extreme::kLargest ? &ValueOracle<Extreme::kLargest> : &ValueOracle<Extreme::kSmallest>);
  AddFloats(all.cases);
  AddEndsOfTypes(all.cases);
  AddHardColumns(all.cases);
  for (const char* const type : {"INT32", "INT64", "FP16"}) {
    all.cases.push_back(ReductionCase(std::string("INT8_to_") + type, DrawNormal(DataType::kInt8, {4, 50}, 2),
                                      {{"axes", std::string("1")}, {"output_type", std::string(type)}}));
  }
  return all;
}

OperatorCases ExtremePlaceCases(const std::string& name, Extreme which) {
  ReductionTraits traits;
  traits.takes_nothing = false;
  traits.one_axis = true;
  traits.output_types = {"INT32"};
  OperatorCases all = ReductionCases(
      name, traits, which == Extreme::kLargest ? &PlaceOracle<Extreme::kLargest> : &PlaceOracle<Extreme::kSmallest>);
  AddFloats(all.cases);
  AddEndsOfTypes(all.cases);
  AddHardColumns(all.cases);
  all.cases.push_back(ReductionCase("to_INT32", DrawNormal(DataType::kFp32, {4, 50}, 2),
                                    {{"axes", std::string("1")}, {"output_type", std::string("INT32")}}));
  all.cases.push_back(ReductionCase(
      "zeros_of_both_signs", FromDoubles(DataType::kFp32, {2, 3}, {-0.0, 0.0, -0.0, 0.0, -0.0, 0.0}), Axes("1")));
  return all;
}

}  // namespace kernelwire::testing
