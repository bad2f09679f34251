// A reduction as host code and kernels see it: which elements belong to one result, and how they are cut into parts.
//
// A request is a run of equal pieces, contiguous in x; Segment::rows counts them. Neighbouring axes of one kind count
// as one, and axes of extent 1 are left out, so that a piece's axes are alternately reduced and kept, a reduced one
// first: [R], [R, K], [R, K, R], ... (what is kept before them makes the pieces). If the last axis is reduced, results
// are sums over stretches of neighbours ("rows"), otherwise neighbours in x belong to neighbouring results
// ("columns"). Either way x is read where it lies.
//
// The element order within a result, and the parts, follow from these numbers and the type; never from how many pieces
// there are. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARAMS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARAMS_H_

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/shape.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// Equal for all requests of a launch; what Plan::Params holds for every reduction.
struct ReduceParams {
  DataType x_type = DataType::kInvalid;
  DataType accumulator = DataType::kInvalid;
  DataType y_type = DataType::kInvalid;
  /// Whether a result may not fit: then one byte a result follows y's bytes, 0 where it did, ReduceMisfit bits else.
  bool checked = false;
  std::int32_t rank = 0;                  // of the piece
  std::int64_t extents[Shape::kMaxRank];  // reduced, kept, reduced, ...
};

enum ReduceMisfit : std::uint8_t { kFits = 0, kMissesAccumulator = 1, kMissesOutputType = 2 };

/// From a number that counts over some axes of the piece to an offset in elements. No axes: the offset is 0.
struct IndexMap {
  static constexpr int kMaxAxes = Shape::kMaxRank / 2;

  int axes = 0;
  std::int64_t extents[kMaxAxes];  // outermost first
  std::int64_t strides[kMaxAxes];

  KERNELWIRE_HOST_DEVICE std::int64_t Offset(std::int64_t index) const {
    std::int64_t offset = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int axis = axes - 1; axis > 0; --axis) {
      const std::int64_t above = index / extents[axis];
      offset += (index - above * extents[axis]) * strides[axis];
      index = above;
    }
    return axes > 0 ? offset + index * strides[0] : 0;
  }
};

/// The geometry of a piece.
struct ReduceLayout {
  std::int64_t width = 0;    // elements of a result
  std::int64_t results = 0;  // of a piece
  std::int64_t piece = 0;    // elements of a piece
  std::int64_t run = 0;      // neighbours in x: of one result (rows), or of as many results (columns)
  bool columns = false;
  /// Columns: so many neighbours in x are of one result, each a column of its own until the end. Else 1.
  std::int64_t fold = 1;
  IndexMap kept;  // rows: result -> its first element; columns: result / run -> the first element of the run
  // Rows: number of a run -> offset from the result's first element (MapOfVectors: of a vector); columns: element ->
  // offset
  IndexMap reduced;

  /// One run a result, or one column of runs: no map is needed.
  KERNELWIRE_HOST_DEVICE bool IsPlain() const { return kept.axes == 0 && reduced.axes <= (columns ? 1 : 0); }
};

inline ReduceLayout LayOutReduction(const ReduceParams& params) {
  ReduceLayout layout;
  layout.columns = params.rank % 2 == 0;
  layout.width = 1;
  layout.results = 1;
  layout.piece = 1;
  layout.run = params.extents[params.rank - 1];
  std::int64_t strides[Shape::kMaxRank];
  for (int axis = params.rank - 1; axis >= 0; --axis) {
    strides[axis] = layout.piece;
    layout.piece *= params.extents[axis];
    (axis % 2 == 0 ? layout.width : layout.results) *= params.extents[axis];
  }
  for (int axis = 0; axis + 1 < params.rank; ++axis) {
    IndexMap& map = axis % 2 == 0 ? layout.reduced : layout.kept;
    map.extents[map.axes] = params.extents[axis];
    map.strides[map.axes] = strides[axis];
    ++map.axes;
  }
  return layout;
}

/// How a device takes it. Many short runs a result, [R, K, S], are R rows of K * S columns there, of which S neighbours
/// are of one result: threads read 16 bytes of neighbours, where each run would begin elsewhere and end early. `width`
/// is that of a column then. Not so few elements that a second launch costs more than it saves (on an H100 it does
/// at 2 million, and seldom at 10), nor so few rows that a column's total is much beside what it is of, nor results of
/// so many elements that a few threads would merge thousands of totals. Requires: a reduction that has columns.
inline ReduceLayout LayOutOnDevice(const ReduceParams& params) {
  constexpr std::int64_t kLeastElements = std::int64_t{1} << 23;
  constexpr std::int64_t kMostBytesOfRun = 1024;
  constexpr std::int64_t kLeastBytesOfColumn = 256;
  constexpr std::int64_t kMostElementsOfResult = std::int64_t{1} << 21;
  ReduceLayout layout = LayOutReduction(params);
  const auto bytes = static_cast<std::int64_t>(SizeOf(params.x_type));
  const std::int64_t rows = params.extents[0];
  if (params.rank == 3 && layout.piece >= kLeastElements && layout.run * bytes <= kMostBytesOfRun &&
      rows * bytes >= kLeastBytesOfColumn && layout.width <= kMostElementsOfResult) {
    layout.columns = true;
    layout.fold = layout.run;
    layout.width = rows;
    layout.run *= layout.results;
    layout.kept = {};
  }
  return layout;
}

/// How the elements of one result are shared out: part p has [p * length, (p + 1) * length) of them (columns) or of the
/// vectors that they fill (rows), in the result's own order. A part is reduced by itself; then slot s of `slots` takes
/// the parts s, s + slots, ... in turn, and the slots are merged pairwise, s with s + half.
struct ReduceParts {
  static constexpr int kMaxSlots = 256;

  std::int64_t length = 0;
  std::int64_t count = 1;
  int slots = 1;  // a power of two
};

inline ReduceParts CutIntoParts(std::int64_t width, std::int64_t length) {
  ReduceParts parts;
  parts.length = length;
  parts.count = width <= length ? 1 : (width + length - 1) / length;
  while (parts.slots < parts.count && parts.slots < ReduceParts::kMaxSlots) {
    parts.slots *= 2;
  }
  return parts;
}

/// Elements that a 16-byte vector holds.
constexpr std::int64_t LengthOfVector(DataType type) { return 16 / static_cast<std::int64_t>(SizeOf(type)); }

/// Vectors of a run: no vector spans two of them, the last one of a run may be cut short.
inline std::int64_t VectorsOfRun(const ReduceLayout& layout, DataType x_type) {
  const std::int64_t length = LengthOfVector(x_type);
  return (layout.run + length - 1) / length;
}

/// Of a result whose elements lie in runs.
inline std::int64_t VectorsOfResult(const ReduceLayout& layout, DataType x_type) {
  return layout.width == 0 ? 0 : layout.width / layout.run * VectorsOfRun(layout, x_type);
}

/// From the number of a result's vector, run by run, to its offset.
inline IndexMap MapOfVectors(const ReduceLayout& layout, DataType x_type) {
  IndexMap map = layout.reduced;
  map.extents[map.axes] = VectorsOfRun(layout, x_type);
  map.strides[map.axes] = LengthOfVector(x_type);
  ++map.axes;
  return map;
}

/// Bytes of a piece: what threads have in turn of rows that are no multiple of 16 bytes. Most of them are one of 4 (or
/// of an element), so that all of them can be read as they lie in memory.
KERNELWIRE_HOST_DEVICE constexpr std::int64_t BytesOfPiece(std::int64_t element_bytes) {
  return element_bytes < 4 ? 4 : element_bytes;
}

/// What threads have in turn of a row.
enum class RowShares : std::uint8_t {
  kVectors,  // the row is whole vectors
  kPieces,   // pieces; the last one may be cut short
  kRagged,   // vectors; the last one of each of its runs may be cut short
};

inline RowShares SharesOf(const ReduceLayout& layout, DataType x_type) {
  if (!layout.IsPlain()) {
    return RowShares::kRagged;
  }
  return layout.run % LengthOfVector(x_type) == 0 ? RowShares::kVectors : RowShares::kPieces;
}

/// Rows: parts of 32 KiB, which a block of 256 threads has in flight at once; of up to 128 KiB where there would be
/// more than 512 of them. They are counted in vectors. Columns: parts of 512 elements, and of up to 4096 likewise; of
/// 8-bit elements, whose totals are eight times as large, where there would be more than 64.
inline ReduceParts PartsOf(const ReduceLayout& layout, DataType x_type) {
  const std::int64_t most = layout.columns && SizeOf(x_type) == 1 ? 64 : 512;
  const std::int64_t width = layout.columns ? layout.width : VectorsOfResult(layout, x_type);
  const std::int64_t longest = layout.columns ? 4096 : 8192;
  std::int64_t length = layout.columns ? 512 : 2048;
  while (length < longest && width > length * most) {
    length *= 2;
  }
  return CutIntoParts(width, length);
}

/// What a result's totals merge from, if they are more than one: of each part, and of each column.
inline ReduceParts TotalsOf(const ReduceLayout& layout, const ReduceParts& parts) {
  return layout.fold == 1 ? parts : CutIntoParts(layout.fold * parts.count, 1);
}

/// Bytes that a part's outcome takes in the workspace, whatever the operator.
inline constexpr std::int64_t kPartBytes = 16;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARAMS_H_
