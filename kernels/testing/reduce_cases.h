// Cases and the oracle that all reductions share: every layout of axes, every type, every change of method.
#ifndef KERNELWIRE_KERNELS_TESTING_REDUCE_CASES_H_
#define KERNELWIRE_KERNELS_TESTING_REDUCE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

/// Normal floats; integers of up to two hundred, or up to a few 1e8 where there is room.
HostTensor DrawNormal(DataType dtype, const Shape& shape, std::uint64_t seed);

/// What differs between reductions.
struct ReductionTraits {
  /// Elements of a shape, whose reduction says something (neither all zeros nor beyond every range).
  HostTensor (*draw)(DataType dtype, const Shape& shape, std::uint64_t seed) = &DrawNormal;
  bool one_axis = false;                                                  // or all
  bool takes_nothing = true;                                              // an empty reduction has a result
  std::vector<std::string> output_types{"FP16", "BF16", "FP32", "FP64"};  // tried for FP16 and FP8
};

/// Rows of 1000 with one trouble each: NaN, an infinity of either sign, something huge; two of it in a row.
HostTensor TroubledRows(DataType dtype);

/// The attribute that says which axes to reduce.
AttributeList Axes(const std::string& axes);

OperatorCase ReductionCase(const std::string& name, HostTensor x, AttributeList attributes = {});
/// For a test of its own, where a name tells nothing.
OperatorCase ReductionOf(HostTensor x, AttributeList attributes = {});

/// The cases that all reductions share; an operator adds what is particular to it.
OperatorCases ReductionCases(const std::string& name, const ReductionTraits& traits, Oracle oracle);

/// What the elements of one result, in order, come to.
struct ReducedValue {
  double value = 0.0;
  double magnitude = 0.0;  // for Agreement::kSummed
};

/// The one output of a reduction of input 0. `y_type` is that of y unless the case has `output_type`.
std::vector<ExpectedOutput> ReductionOracle(const OperatorCase& test_case, DataType y_type, Agreement agreement,
                                            ReducedValue (*reduce)(const std::vector<double>& x));

/// The type of y that the contract gives by default for sums and the like of `x_type`; for the means and the like.
DataType DefaultSumType(DataType x_type, const OperatorCase& test_case);
DataType DefaultRealType(DataType x_type);

/// The value of an attribute that is a string, or "".
std::string TextAttribute(const OperatorCase& test_case, const std::string& name);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_REDUCE_CASES_H_
