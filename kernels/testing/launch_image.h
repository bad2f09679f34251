// Everything that one launch touches, in host memory: the tensors of several cases between guard bands, and the table
// of segments that points at them.
#ifndef KERNELWIRE_KERNELS_TESTING_LAUNCH_IMAGE_H_
#define KERNELWIRE_KERNELS_TESTING_LAUNCH_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/testing/case.h"
#include "kernels/testing/guarded_buffer.h"

namespace kernelwire::testing {

/// A case as planned: what PlanRequestFor got and gave. Not movable: `request` points at `attributes`.
struct PlannedCase {
  PlannedCase() = default;
  PlannedCase(const PlannedCase&) = delete;
  PlannedCase& operator=(const PlannedCase&) = delete;

  const OperatorCase* source = nullptr;
  Attributes attributes;
  PlanRequest request;
  Plan plan;
};
using PlannedCases = std::vector<std::unique_ptr<PlannedCase>>;

/// Plans one case and checks its values, as a server would before the launch. Errors: those of the operator, as they
/// are; INTERNAL for a plan that contradicts itself.
absl::StatusOr<std::unique_ptr<PlannedCase>> PlanCase(const Operator& op, const OperatorCase& test_case);

/// The memory of one launch. `cases` must outlive it. Tensors lie as their case's layout says: rows may have gaps
/// between them, which nobody may write to, and an output may lie in an input's memory.
class LaunchImage {
 public:
  /// Outputs, workspaces and guard bands are filled with `fill`; inputs are copied from the cases.
  LaunchImage(const Operator& op, const PlannedCases& cases, std::byte fill);

  /// Where a buffer lies for the one who runs the launch: the payload itself, or that of its mirror on a device.
  using Locate = std::function<std::byte*(const GuardedBuffer&)>;

  std::vector<Segment> Segments(const Locate& locate) const;
  std::int64_t total_rows() const { return total_rows_; }

  /// Every buffer, for mirroring and for guarding.
  const std::vector<GuardedBuffer>& buffers() const { return buffers_; }

  /// Requires: the launch has run. Holds guard bands, gaps and inputs against what they were, lets the operator finish,
  /// and returns each case's outputs in the spec's order. Errors: INTERNAL that names the case and the tensor; the
  /// operator's own.
  absl::StatusOr<std::vector<std::vector<HostTensor>>> Collect() const;

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  /// One tensor: which of `buffers_`, and the rows in it. A dense tensor is one row.
  struct Placement {
    std::size_t buffer = kAbsent;
    std::size_t offset = 0;  // bytes from its beginning
    std::size_t rows = 1;
    std::size_t row_bytes = 0;
    std::size_t stride_bytes = 0;

    std::size_t RowAt(std::size_t row) const { return offset + row * stride_bytes; }
    std::size_t Bytes() const { return offset + (rows == 0 ? 0 : (rows - 1) * stride_bytes + row_bytes); }
  };
  struct Placements {
    std::vector<Placement> inputs;
    std::vector<Placement> outputs;
    std::size_t workspace = kAbsent;
  };
  static Placement LayOut(const TensorDesc& desc, std::size_t bytes, std::int64_t row_stride, std::size_t offset,
                          std::int64_t rows);
  void PlaceInputs(const PlannedCase& planned, Placements& placements);
  void PlaceOutputs(const PlannedCase& planned, Placements& placements);
  std::size_t AddBuffer(std::size_t bytes, const std::string& what);
  bool GapsIntact(const Placement& placement) const;
  bool HoldsRows(const Placement& placement, const std::vector<std::byte>& bytes) const;
  absl::Status CheckUntouched() const;
  absl::StatusOr<std::vector<HostTensor>> Finish(const PlannedCase& planned, const Placements& placements) const;

  const Operator& op_;
  const PlannedCases& cases_;
  std::byte fill_;
  std::int64_t total_rows_ = 0;
  std::vector<GuardedBuffer> buffers_;
  std::vector<std::string> names_;  // of the buffers, for messages
  std::vector<Placements> placements_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_LAUNCH_IMAGE_H_
