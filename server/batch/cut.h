// What rows of a request need, and how a large request is cut by rows.
#ifndef KERNELWIRE_SERVER_BATCH_CUT_H_
#define KERNELWIRE_SERVER_BATCH_CUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/batch/request.h"

namespace kernelwire {

/// Every tensor in a slab begins at a multiple of this.
inline constexpr std::size_t kTensorAlignment = 256;

constexpr std::size_t AlignUp(std::size_t bytes) { return (bytes + kTensorAlignment - 1) & ~(kTensorAlignment - 1); }

/// A request is cut into no more parts: each takes a launch, and its place in the scheduler's lists.
inline constexpr std::int64_t kMostParts = 64;

/// Bytes [offset, offset + bytes) of a tensor.
struct Stretch {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// What belongs to some rows of an input or output, which are all rows where the tensor cannot be cut.
Stretch InputStretch(const Request& request, std::size_t input, const RowRange& rows);
Stretch OutputStretch(const Request& request, std::size_t output, const RowRange& rows);
/// Scratch that some rows of a request need, aligned as tensors are.
std::size_t WorkspaceBytes(const Request& request, const RowRange& rows);

/// Bytes of a slab that some rows of a request need as tensors and workspace, alignment included.
std::size_t TensorBytes(const Request& request, const RowRange& rows);
/// The same in a batch of their own, with its table.
std::size_t SlabBytes(const Request& request, const RowRange& rows);

/// All rows of a request.
RowRange AllRows(const Request& request);
/// The rows of one of `parts` parts, which differ by one row at most.
RowRange RowsOfPart(const Request& request, std::int64_t parts, std::int64_t index);

struct Cut {
  std::int64_t parts = 1;
  std::size_t slab_bytes = 0;  // for each part; of a request that is not cut: what it needs
};

/// How a request goes into the slabs of a pool that gives `smallest << n` bytes, up to `largest`, and `total` in all.
/// One that needs more than `wanted` is cut, if its rows can be, into slabs of `wanted` bytes, or of the smallest
/// larger ones with which it has no more than kMostParts parts; so its copies and its kernels overlap, and it may be
/// larger than any slab. All parts together must fit into the pool: their results leave together, so none of their
/// slabs comes back before the last has been computed. nullopt: there is no way.
std::optional<Cut> CutFor(const Request& request, std::size_t wanted, const SlabPool& pool);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_CUT_H_
