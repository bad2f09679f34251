// A part of a request: the rows that are placed, copied and launched as one. All of them, unless the request was cut.
#ifndef KERNELWIRE_SERVER_BATCH_REQUEST_PART_H_
#define KERNELWIRE_SERVER_BATCH_REQUEST_PART_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/core/segment.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {

class Batch;
class Request;

/// Rows [first, first + count) of a request.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Guarded by the scheduler's mutex. A placed part belongs to the thread that copies the request's bytes: nobody else
/// ends it. So that thread may read its place without the mutex, and the request lives until its last part is staged.
struct RequestPart {
  // Waiting: admitted, no slab yet; all parts of a request wait together. Placed: has a place in a batch, bytes not
  // copied. Staged: copied. Running: launched. Ended: computed, or given up.
  enum class State : std::uint8_t { kWaiting, kPlaced, kStaged, kRunning, kEnded };
  static constexpr std::size_t kAbsent = ~std::size_t{0};

  Request* request = nullptr;
  RowRange rows;
  State state = State::kWaiting;
  Batch* batch = nullptr;
  std::uint32_t member = 0;                               // index in the batch
  std::array<std::size_t, kMaxInputs> input_offsets{};    // in the batch's slab, or kAbsent
  std::array<std::size_t, kMaxOutputs> output_offsets{};  // likewise
  /// Of a cut request: the slab of a part that was computed, with a reference of its own until all parts are.
  Slab* computed = nullptr;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_REQUEST_PART_H_
