// The result of checking one request against its operator: everything that batching and execution need to know,
// without a word about tensors' contents.
#ifndef KERNELWIRE_KERNELS_CORE_PLAN_H_
#define KERNELWIRE_KERNELS_CORE_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/core/segment.h"
#include "kernels/core/tensor.h"

namespace kernelwire {

class Attributes;  // attributes.h is too heavy for what device code reads

/// What must be equal for requests to share a launch: operator, types, row width, attributes. Operators append every
/// number that their kernel takes as one value for the whole launch.
class BatchKey {
 public:
  static constexpr std::size_t kWords = 44;  // an allow-list of 2048 classes, and twelve numbers

  /// Requires: at most kWords words (checked in every build); a plan function has kWords - 1, since PlanRequestFor puts
  /// the operator's identity in front.
  void Append(std::uint64_t word);
  void AppendDouble(double value);  // by bits
  void Prepend(std::uint64_t word);
  std::size_t Hash() const;
  template <typename State>
  friend State AbslHashValue(State state, const BatchKey& key) {
    return State::combine(std::move(state), key.Hash());
  }
  friend bool operator==(const BatchKey& a, const BatchKey& b) {
    return a.size_ == b.size_ && std::memcmp(a.words_.data(), b.words_.data(), a.size_ * sizeof(std::uint64_t)) == 0;
  }

 private:
  std::array<std::uint64_t, kWords> words_{};
  std::size_t size_ = 0;
};

/// No input or output has more bytes. Far beyond any machine, and far enough below 2^63 that a request's tensors, its
/// workspace and estimates made of their sizes can be added up without a check each.
inline constexpr std::size_t kLargestTensorBytes = std::size_t{1} << 56;

/// What a request asks for: its inputs in the spec's order (nullopt: left out), its attributes, and which outputs it
/// wants (bit i = output i of the spec; none: the spec's defaults). `Plan` functions may rely on types and names having
/// been checked against the spec, on every input's shape having a countable size of at most kLargestTensorBytes, on
/// required inputs being there, on `attributes` not being null and on `wanted_outputs` not being 0.
struct PlanRequest {
  std::array<std::optional<TensorDesc>, kMaxInputs> inputs;
  const Attributes* attributes = nullptr;
  std::uint32_t wanted_outputs = 0;
  /// Elements from the start of one row to that of the next, for tensors in a library caller's memory whose rows do not
  /// follow each other at once; 0 = they do. Only for operators with Operator::takes_row_strides, and where a row is
  /// one contiguous stretch.
  std::array<std::int64_t, kMaxInputs> input_row_strides{};
  std::array<std::int64_t, kMaxOutputs> output_row_strides{};
};

/// One output of a planned request. `desc` is the largest it can get; an operator's `finish` may shrink it afterwards
/// (kept boxes of NMS). `bytes` are reserved before the launch and come back from the device: those of `desc`, and
/// behind them what the operator wants its `finish` to read (whether results fitted their type), which nobody sends.
struct OutputPlan {
  bool wanted = false;
  TensorDesc desc;
  std::size_t bytes = 0;       // at least desc.ByteSize()
  std::int64_t row_bytes = 0;  // see Plan::input_row_bytes
};

struct Plan {
  static constexpr std::size_t kMaxParamBytes = 384;

  BatchKey key;
  std::int64_t rows = 0;                            // see Segment::rows; 0 = nothing to compute
  std::array<std::int64_t, kMaxExtents> extents{};  // see Segment::extents
  std::array<OutputPlan, kMaxOutputs> outputs;      // in the spec's order
  /// Scratch of this request, on the device; a multiple of 256. Each of `rows` has an equal share: some of them, as a
  /// request of their own, need no more than their shares.
  std::size_t workspace_bytes = 0;
  /// Bytes of an input that belong to one of `rows`, where a request may be cut between rows and its parts computed by
  /// launches of their own: rows [r, s) take bytes [r, s) * row_bytes of such a tensor. 0: every part needs all of it
  /// (a weight). A request can be cut when every wanted output has row_bytes; its parts share its key and extents. An
  /// operator's `finish` is not called for a cut request: who needs it leaves row_bytes 0.
  std::array<std::int64_t, kMaxInputs> input_row_bytes{};
  std::int64_t work_bytes = 0;  // estimate of bytes touched: decides inline or worker, and the retry hint

  /// The operator's own values for the whole launch; equal for equal keys. T is plain data.
  template <typename T>
  void SetParams(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxParamBytes);
    std::memcpy(params_.data(), &value, sizeof(T));
  }
  template <typename T>
  T Params() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxParamBytes);
    T value;
    std::memcpy(&value, params_.data(), sizeof(T));
    return value;
  }

 private:
  alignas(16) std::array<std::byte, kMaxParamBytes> params_{};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_PLAN_H_
