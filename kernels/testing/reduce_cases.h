// Cases and the oracle that all reductions share: every layout of axes, every type, every change of method.
#ifndef KERNELWIRE_KERNELS_TESTING_REDUCE_CASES_H_
#define KERNELWIRE_KERNELS_TESTING_REDUCE_CASES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

/// What differs between reductions.
struct ReductionTraits {
  /// Elements of a shape, whose reduction says something (neither all zeros nor beyond every range).
  HostTensor (*draw)(DataType dtype, const Shape& shape, std::uint64_t seed) = nullptr;
  bool one_axis = false;                    // or all
  bool takes_nothing = true;                // an empty reduction has a result
  std::vector<std::string> output_types{};  // tried for FP16
};

/// Normal floats; integers of up to two hundred, or up to a few 1e8 where there is room.
HostTensor DrawNormal(DataType dtype, const Shape& shape, std::uint64_t seed);

/// Rows of 1000 with one trouble each: NaN, an infinity of either sign, something huge; two of it in a row.
HostTensor TroubledRows(DataType dtype);

OperatorCase ReductionCase(const std::string& name, HostTensor x, AttributeList attributes = {});

std::vector<OperatorCase> ReductionCaseList(const ReductionTraits& traits);

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
