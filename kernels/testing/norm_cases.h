// What the cases of the norms have alike: they normalise rows of one tensor, scaled by a weight.
#ifndef KERNELWIRE_KERNELS_TESTING_NORM_CASES_H_
#define KERNELWIRE_KERNELS_TESTING_NORM_CASES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

/// How an operator takes rows and a weight (absent: dtype kInvalid): its inputs, in the spec's order.
using ArrangeInputs = std::vector<HostTensor> (*)(HostTensor x, HostTensor weight);

/// Widths on both sides of every change of method, weights of every kind and type, shapes, output types, values that
/// make trouble, epsilons, and what is timed. Names are unique; others may be added.
std::vector<OperatorCase> NormCases(ArrangeInputs arrange);

OperatorCase NormCase(const std::string& name, std::vector<HostTensor> inputs, AttributeList attributes = {});

/// Normally distributed, of one seed.
HostTensor NormalTensor(DataType dtype, const Shape& shape, std::uint64_t seed = 20240501);
/// `value` everywhere.
HostTensor FilledTensor(DataType dtype, const Shape& shape, double value);

inline std::string TypeName(DataType dtype) { return NameOf(dtype); }
inline AttributeList Axis(std::int64_t axis) { return {{"axis", axis}}; }

// For oracles: what a case asks for.

/// Of an operator whose first input gives y its shape and, unless `output_type` says otherwise, its type. The values
/// are left to the caller.
ExpectedOutput ExpectedRows(const OperatorCase& test_case, std::int64_t row_width);
double EpsilonOf(const OperatorCase& test_case);
std::size_t NormWidthOf(const OperatorCase& test_case);
/// Element `i` of a row's parameter; `absent` for one that was left out.
double ParameterAt(const HostTensor& parameter, std::size_t i, double absent);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_NORM_CASES_H_
