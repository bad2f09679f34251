// What the spec, the host path and the kernels of nms agree on: the order of its tensors, the parameters of a launch
// and the numbers of a request. Read by device code too.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_H_

#include <cstdint>
#include <limits>

#include "kernels/core/dtype.h"

namespace kernelwire::nms {

/// Positions in Segment::inputs and Segment::outputs.
enum Input : int { kBoxes, kScores, kClasses, kCounts };
enum Output : int { kIndices, kCount, kKeptScores };

/// Positions in Segment::extents. Images of one request have equal shapes; those of different requests need not.
enum Extent : int {
  kBoxesPerImage,
  kColumns,         // of `indices` and `scores` as planned: the most boxes that an image can keep
  kWorkspaceBytes,  // of one image: see WorkspaceLayout
};

/// How the four numbers of a box are read. Whatever the coding, a box becomes two corners in f32 first.
enum class BoxCoding : std::uint8_t {
  kXyxy,    // near corner, far corner
  kYxyx,    // any two opposite corners, y first
  kXywh,    // near corner, size
  kCxcywh,  // centre, size
};

/// Stands for "no limit": no image has more boxes.
inline constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();

/// What all requests of a launch have in common.
struct Params {
  DataType boxes;
  DataType scores;
  DataType classes;  // kInvalid: one class
  BoxCoding coding;
  bool has_score_threshold;
  float score_threshold;  // a box stays out unless its score is strictly greater
  float iou_threshold;    // within [0, 1]; a box goes when its IoU with a kept one is strictly greater
  std::int32_t top_k;
  std::int32_t max_output;
  std::int32_t max_per_class;
};

/// Columns beyond the kept boxes of an image are filled with these before `finish` sees them. A kept box never has such
/// a value (a NaN score keeps a box out), so that either output alone tells how many boxes were kept.
inline constexpr std::int64_t kNoIndex = -1;
inline constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();

/// Scratch on the device of one image: a header and then, for its boxes rounded up to whole tiles, the arrays below in
/// this order. Linear in the number of boxes: 29 bytes each, 16 a tile, and 256.
struct WorkspaceLayout {
  static constexpr int kTile = 256;           // boxes that one block resolves at a time
  static constexpr int kHeaderBytes = 256;    // counters; keeps the arrays aligned
  static constexpr int kKeptBytes = 16;       // a box: corners of kept boxes; before that, a sort buffer of 8 bytes
  static constexpr int kKeyBytes = 8;         // a box: the other sort buffer
  static constexpr int kOrderBytes = 4;       // a box: index of the box of each rank
  static constexpr int kFlagBytes = 1;        // a box: whether the box of a rank was kept
  static constexpr int kTileStateBytes = 16;  // a tile: its published state (8), its kept boxes (4), and 4 unused
  static constexpr int kBytesPerTile = kTile * (kKeptBytes + kKeyBytes + kOrderBytes + kFlagBytes) + kTileStateBytes;
};

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_H_
