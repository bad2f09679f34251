// Greedy suppression on the host, for boxes already in the order of their scores: a box stays unless a kept box of its
// group overlaps it. Vectorised, and spread over threads where a group is long.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/operator.h"
#include "kernels/primitives/box_geometry.h"

namespace kernelwire::box {

/// Stable by the upper 32 bits: keys whose lower halves ascend end up sorted. `spare` is scratch. Radix of one byte; a
/// byte that all keys share costs no pass, and class numbers share most.
void SortByUpperHalf(std::vector<std::uint64_t>* keys, std::vector<std::uint64_t>* spare);

/// No image has more boxes.
inline constexpr std::int64_t kUnlimited = INT64_MAX;

/// From this many boxes on, one image is worth several threads.
inline constexpr std::int64_t kLargeImage = 8192;

/// Scratch of larger images is given back after use.
inline constexpr std::int64_t kRetainedBoxes = 16 * kLargeImage;

struct GreedyOptions {
  float iou_threshold = 0.5f;           // within [0, 1]; a box goes when its IoU with a kept one is strictly greater
  std::int64_t per_group = kUnlimited;  // boxes kept of a group; one beyond is gone and suppresses nothing
  std::int64_t per_class = kUnlimited;  // the same by class, for groups of several classes; needs `classes`
};

/// The boxes of one image by rank, and what suppression needs; kept from image to image, so that a served request
/// allocates nothing. Not thread-safe.
class RankedBoxes {
 public:
  std::vector<Corners> boxes;          // in: by rank, as ForSuppression gives them
  std::vector<std::uint32_t> groups;   // in: by rank, any numbers; empty: one group
  std::vector<std::uint32_t> classes;  // in: by rank; read only where GreedyOptions::per_class limits
  std::vector<std::uint8_t> keep;      // out: by rank, 1 for boxes that stay

  /// Decides `keep`. `threads` may be null: then all in the calling thread.
  void Suppress(const GreedyOptions& options, ParallelExecutor* threads);

  /// Kept boxes in columns for vector loads.
  struct Columns {
    std::vector<float> x1, y1, x2, y2, area;
    std::size_t size = 0;
    void Clear(std::size_t count);
    void Append(const Corners& box, float box_area);
  };

  /// The boxes of one group, best first; `keep` by the same positions.
  struct Group {
    const Corners* boxes = nullptr;
    const std::uint32_t* classes = nullptr;  // null: no limit by class
    std::uint8_t* keep = nullptr;
    std::int64_t count = 0;
  };

 private:
  void GatherGroups(bool with_classes);
  void SuppressLong(const GreedyOptions& options, const Group& group, ParallelExecutor& threads);
  Group GroupAt(std::int64_t index);

  std::vector<std::uint64_t> keys_, spare_;
  std::vector<Corners> boxes_by_position_;  // groups together, best first
  std::vector<std::uint32_t> classes_by_position_;
  std::vector<std::uint8_t> keep_by_position_;
  std::vector<std::int64_t> first_of_group_;  // positions, and the number of boxes behind the last
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_SUPPRESS_H_
