// Cases: shapes, types and special values of an operator, with an oracle in f64. One list feeds the battery, the
// benchmark and the end-to-end test.
#ifndef KERNELWIRE_KERNELS_TESTING_CASE_H_
#define KERNELWIRE_KERNELS_TESTING_CASE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/core/operator.h"

namespace kernelwire::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A tensor that owns its bytes.
struct HostTensor {
  TensorDesc desc;  // dtype == kInvalid: absent
  std::vector<std::byte> bytes;

  bool present() const { return desc.dtype != DataType::kInvalid; }
};

/// Whether type, shape and every byte are the same.
bool SameBits(const HostTensor& a, const HostTensor& b);

/// What x has at [first, first + count) of its first axis. Requires: it has that, and any elements.
HostTensor PartOf(const HostTensor& x, std::int64_t first, std::int64_t count);

/// How an output is held against the oracle.
enum class Agreement : std::uint8_t {
  kExact,    // integers, indices: equal; floats: equal values, NaN equal to NaN
  kRounded,  // floats: the bounds of the contract (tolerance.h), per row of `row_width`
  kSummed,   // floats: those for sums, per element, from its `magnitudes`
};

/// What the oracle says an output is. Values in f64, row-major, of the final shape.
struct ExpectedOutput {
  bool wanted = false;
  TensorDesc desc;  // final dtype and shape
  std::vector<double> values;
  Agreement agreement = Agreement::kExact;
  std::int64_t row_width = 1;        // elements that share one magnitude in the tolerance
  std::vector<double> magnitudes{};  // kSummed: of each element, the sum of |x| over what was added up
};

/// How a library caller lays out the tensors of a case; left alone, as a server does: dense and apart.
struct CaseLayout {
  static constexpr int kOwnMemory = -1;

  std::array<std::int64_t, kMaxInputs> input_row_strides{};    // in elements; 0: dense
  std::array<std::int64_t, kMaxOutputs> output_row_strides{};  // the same
  /// Bytes from where a server would have them begin, whole elements.
  std::array<std::size_t, kMaxInputs> input_offsets{};
  std::array<std::size_t, kMaxOutputs> output_offsets{};
  /// The input in whose memory an output lies (of the same type and stride), or kOwnMemory.
  std::array<int, kMaxOutputs> output_in_input{kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory};
};

/// One request to try. Inputs in the spec's order.
struct OperatorCase {
  std::string name;  // composed from its parameters: letters, digits and underscores
  std::vector<HostTensor> inputs;
  AttributeList attributes;
  std::uint32_t wanted_outputs = 0;  // 0: the defaults of the spec
  bool benchmark = false;            // also timed
  CaseLayout layout{};
};

/// Null when the case leaves the attribute to its default.
const AttributeValue* FindAttribute(const OperatorCase& test_case, const std::string& name);

/// The right answer, in f64, by the plainest code that is right.
using Oracle = std::vector<ExpectedOutput> (*)(const OperatorCase& test_case);

/// What an operator's folder offers to tests: <op>_cases.cc defines `OperatorCases <Function>Cases()`.
struct OperatorCases {
  std::string name;                 // the operator's
  std::vector<OperatorCase> cases;  // a few dozen, small (milliseconds each), edge cases among them
  Oracle oracle = nullptr;
};

// Of one operator: RmsNormCases() and so on, made anew by each call.
#define KERNELWIRE_OPERATOR(name, Function) OperatorCases Function##Cases();
#include "kernels/operators.def"
#undef KERNELWIRE_OPERATOR

/// Of all operators, in the order of operators.def; made once.
const std::vector<OperatorCases>& AllOperatorCases();

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_CASE_H_
