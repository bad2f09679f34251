// A batch: requests that share one launch, and the layout of their tensors in one slab. Of a request that was cut, each
// part is a batch by itself.
//
//   | inputs of all members ... | segment table |  workspace (device only)  | ... outputs of all members |
//   0                     input_end                                   output_begin                  slab end
//
// Inputs grow from the front and outputs from the back, so that one copy in and one copy out move them all.
#ifndef KERNELWIRE_SERVER_BATCH_BATCH_H_
#define KERNELWIRE_SERVER_BATCH_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/core/launch.h"
#include "server/batch/request.h"

namespace kernelwire {

/// Addresses that a launch table is written with. For a copy to the device: its slab; for zero-copy: the host's.
struct LaunchAddresses {
  std::byte* inputs = nullptr;     // of the slab's byte 0, as the kernel sees it
  std::byte* outputs = nullptr;    // likewise
  std::byte* workspace = nullptr;  // likewise
  std::byte* table = nullptr;      // likewise: where the kernel reads the table

  std::uint32_t* tickets = nullptr;  // Launch::tickets of the stream; null on the host
};

/// Not thread-safe: the scheduler's mutex guards it until the launch, the device owns it from then until it reports the
/// batch finished. Objects are reused.
class Batch {
 public:
  enum class State : std::uint8_t { kOpen, kSealed, kRunning };

  // ---- for devices ----
  const Operator& op() const { return *op_; }
  std::uint32_t op_index() const { return op_index_; }
  Slab& slab() const { return *slab_; }
  int lane() const { return lane_; }
  std::size_t request_count() const { return live_; }
  std::int64_t rows() const { return launch_.total_rows; }
  std::int64_t work_bytes() const { return work_bytes_; }
  std::size_t input_bytes() const { return input_end_; }
  /// [0, copy_in_bytes) of the slab holds inputs and the table; [copy_out_begin, slab.bytes()) outputs.
  std::size_t copy_in_bytes() const { return copy_in_bytes_; }
  std::size_t copy_out_begin() const { return output_begin_; }

  /// Writes the table of live members into the slab (host side) and returns the launch. Once, by the device.
  const Launch& BuildLaunch(const LaunchAddresses& addresses);

  /// To be set by the device before it reports the batch finished.
  absl::Status status;
  Nanos copy_in = 0;
  Nanos kernel = 0;
  Nanos copy_out = 0;

 private:
  friend class Scheduler;
  friend class BatchTest;

  void Open(const Request& first, Slab* slab, std::uint32_t device);
  bool HasRoomFor(const Request& request) const;
  void Add(RequestPart* part);
  /// The member leaves; its place stays empty.
  void Remove(RequestPart* part);

  State state_ = State::kOpen;
  const Operator* op_ = nullptr;
  std::uint32_t op_index_ = 0;
  std::uint32_t device_ = 0;
  int lane_ = -1;
  Slab* slab_ = nullptr;
  BatchKey key_;
  std::vector<RequestPart*> members_;  // null: left the batch before the launch
  std::size_t live_ = 0;               // members that have not left
  std::size_t staging_ = 0;            // of those, not yet staged
  std::int64_t planned_rows_ = 0;
  std::int64_t work_bytes_ = 0;
  std::size_t input_end_ = 0;
  std::size_t output_begin_ = 0;
  std::size_t workspace_bytes_ = 0;
  std::size_t copy_in_bytes_ = 0;
  Nanos rank_ = kNever;  // the smallest of its members
  Nanos ready_at_ = 0;   // not launched before, unless full
  Nanos launched_at_ = 0;
  Launch launch_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_BATCH_H_
