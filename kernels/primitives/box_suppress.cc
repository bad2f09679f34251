#include "kernels/primitives/box_suppress.h"

#include <algorithm>
#include <array>

#include "kernels/primitives/scratch_lease.h"

// The inner loops, once for every instruction set.
#define HWY_TARGET_INCLUDE "kernels/primitives/box_greedy-inl.h"
#include "hwy/foreach_target.h"
#include "kernels/primitives/box_greedy-inl.h"

namespace kernelwire::box {

HWY_EXPORT(TestAgainstKept);
HWY_EXPORT(Resolve);

namespace {

/// What the resolving of one group needs.
struct GroupScratch {
  RankedBoxes::Columns kept;
  std::vector<std::int64_t> kept_of_class;

  void Clear(const RankedBoxes::Group& group) {
    kept.Clear(static_cast<std::size_t>(group.count));
    if (group.classes != nullptr && group.count > 0) {
      kept_of_class.assign(std::size_t{*std::max_element(group.classes, group.classes + group.count)} + 1, 0);
    }
  }
};

}  // namespace

void SortByUpperHalf(std::vector<std::uint64_t>* keys, std::vector<std::uint64_t>* spare) {
  constexpr std::size_t kShort = 128;  // below, comparing is cheaper than counting
  if (keys->size() < kShort) {
    std::sort(keys->begin(), keys->end());
    return;
  }
  spare->resize(keys->size());
  std::array<std::array<std::uint32_t, 256>, 4> counts{};
  for (const std::uint64_t key : *keys) {
    for (std::size_t digit = 0; digit < 4; ++digit) {
      ++counts[digit][(key >> (32 + 8 * digit)) & 0xff];
    }
  }
  for (std::size_t digit = 0; digit < 4; ++digit) {
    std::array<std::uint32_t, 256>& next = counts[digit];
    if (next[(keys->front() >> (32 + 8 * digit)) & 0xff] == keys->size()) {
      continue;
    }
    std::uint32_t place = 0;
    for (std::uint32_t& bucket : next) {
      const std::uint32_t size = bucket;
      bucket = place;
      place += size;
    }
    for (const std::uint64_t key : *keys) {
      (*spare)[next[(key >> (32 + 8 * digit)) & 0xff]++] = key;
    }
    keys->swap(*spare);
  }
}

void RankedBoxes::Columns::Clear(std::size_t count) {
  constexpr std::size_t kLargestVector = 64;  // floats that one load may reach beyond the last
  size = 0;
  for (std::vector<float>* column : {&x1, &y1, &x2, &y2, &area}) {
    if (column->size() < count + kLargestVector) {
      column->resize(count + kLargestVector);
    }
  }
}

void RankedBoxes::Columns::Append(const Corners& box, float box_area) {
  x1[size] = box.x1;
  y1[size] = box.y1;
  x2[size] = box.x2;
  y2[size] = box.y2;
  area[size] = box_area;
  ++size;
}

/// Makes keys_[position] = group, rank (all of one group if there are none) and puts the boxes in this order.
void RankedBoxes::GatherGroups(bool with_classes) {
  const std::size_t count = boxes.size();
  keys_.resize(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    keys_[rank] = std::uint64_t{groups.empty() ? 0 : groups[rank]} << 32 | rank;
  }
  SortByUpperHalf(&keys_, &spare_);
  boxes_by_position_.resize(count);
  classes_by_position_.resize(with_classes ? count : 0);
  first_of_group_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto rank = static_cast<std::uint32_t>(keys_[i]);
    boxes_by_position_[i] = boxes[rank];
    if (with_classes) {
      classes_by_position_[i] = classes[rank];
    }
    if (i == 0 || keys_[i] >> 32 != keys_[i - 1] >> 32) {
      first_of_group_.push_back(static_cast<std::int64_t>(i));
    }
  }
  first_of_group_.push_back(static_cast<std::int64_t>(count));
  keep_by_position_.assign(count, 1);
}

RankedBoxes::Group RankedBoxes::GroupAt(std::int64_t index) {
  const std::int64_t first = first_of_group_[static_cast<std::size_t>(index)];
  const std::int64_t end = first_of_group_[static_cast<std::size_t>(index) + 1];
  return {boxes_by_position_.data() + first,
          classes_by_position_.empty() ? nullptr : classes_by_position_.data() + first,
          keep_by_position_.data() + first, end - first};
}

/// A group of many boxes, tile by tile: the threads test a tile against all that is kept, then one resolves it.
void RankedBoxes::SuppressLong(const GreedyOptions& options, const Group& group, ParallelExecutor& threads) {
  constexpr std::int64_t kTile = 1024;
  constexpr std::int64_t kGrain = 64;
  const ScratchLease<GroupScratch> scratch(group.count <= kRetainedBoxes);
  scratch->Clear(group);
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin < group.count; begin += kTile) {
    const std::int64_t end = count < options.per_group ? std::min(group.count, begin + kTile) : begin;
    if (end == begin) {
      std::fill(group.keep + begin, group.keep + group.count, std::uint8_t{0});
      return;
    }
    const Columns& kept = scratch->kept;
    threads.ParallelFor(end - begin, kGrain, [&](std::int64_t from, std::int64_t to) {
      HWY_DYNAMIC_DISPATCH(TestAgainstKept)(group, begin + from, begin + to, kept, options.iou_threshold);
    });
    count += HWY_DYNAMIC_DISPATCH(Resolve)(group, begin, end, scratch->kept.size, options.per_group - count,
                                           options.per_class, options.iou_threshold, &scratch->kept,
                                           &scratch->kept_of_class);
  }
}

void RankedBoxes::Suppress(const GreedyOptions& options, ParallelExecutor* threads) {
  GatherGroups(options.per_class != kUnlimited);
  const auto is_long = [&](const Group& group) { return threads != nullptr && group.count >= kLargeImage; };
  const auto resolve_short = [&](std::int64_t begin, std::int64_t end) {
    const ScratchLease<GroupScratch> scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      if (const Group group = GroupAt(i); !is_long(group)) {
        scratch->Clear(group);
        HWY_DYNAMIC_DISPATCH(Resolve)
        (group, 0, group.count, 0, options.per_group, options.per_class, options.iou_threshold, &scratch->kept,
         &scratch->kept_of_class);
      }
    }
  };
  const std::int64_t group_count = static_cast<std::int64_t>(first_of_group_.size()) - 1;
  if (threads == nullptr) {
    resolve_short(0, group_count);
  } else {
    threads->ParallelFor(group_count, 1, resolve_short);
    for (std::int64_t i = 0; i < group_count; ++i) {
      if (const Group group = GroupAt(i); is_long(group)) {
        SuppressLong(options, group, *threads);
      }
    }
  }
  keep.resize(boxes.size());
  for (std::size_t i = 0; i < keep_by_position_.size(); ++i) {
    keep[static_cast<std::uint32_t>(keys_[i])] = keep_by_position_[i];
  }
}

}  // namespace kernelwire::box
