// Device code of detection_postprocess. A launch runs
//
//   ClearKernel     the counters of each image
//   CollectKernel   one streaming read of the scores; what passes the threshold becomes a candidate
//
// and then ranking and suppression (box_launch.cuh). Candidates arrive in any order and are sorted by unique keys, so
// no order of arrival reaches a result.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_

#include <cstdint>

#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_workspace.h"
#include "kernels/primitives/box_load.cuh"
#include "kernels/primitives/box_rank.cuh"

namespace kernelwire::detection {

/// detection_postprocess as ranking and suppression see it. A candidate's number is its box or, with multi_label,
/// box * classes + class.
struct Policy {
  using Params = detection::Params;
  using Box = box::Corners;
  static constexpr bool kCollects = true;
  static constexpr std::int64_t kAlone = box::kSortTile;

  __host__ __device__ static box::SuppressionRules Rules(const Params& params) {
    const bool by_class = CountsByClass(params);
    const std::int32_t per_group =
        by_class || params.max_output < params.max_per_class ? params.max_output : params.max_per_class;
    return {params.iou_threshold, params.top_k, params.class_agnostic ? params.max_output : per_group,
            by_class ? params.max_per_class : box::kNoLimit, !params.class_agnostic};
  }

  __device__ static box::BoxImage Find(const Params& params, const Segment& segment, std::int64_t row) {
    box::BoxImage image;
    image.segment = &segment;
    image.index = row - segment.first_row;
    image.slots = SlotsOfImage(segment.extents[kBoxesPerImage], params);
    image.columns = params.max_output;
    std::uint8_t* const base = Base(image);
    image.space = {base, box::Workspace::Padded(image.slots), sizeof(Box)};
    image.kept_of_class = CountsByClass(params)
                              ? reinterpret_cast<std::int32_t*>(base + PartsOf(image.slots, params).counters_at)
                              : nullptr;
    return image;
  }

  __device__ static std::uint64_t KeyOf(const Params& /*params*/, const box::BoxImage& image, std::int64_t slot) {
    return slot < image.space.header()->found ? image.space.keys(0)[slot] : box::kNoKey;
  }
  __device__ static std::uint32_t GroupOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    return ClassOf(params, image, id);
  }
  __device__ static std::uint32_t ClassOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    return params.multi_label ? id % static_cast<std::uint32_t>(params.classes)
                              : static_cast<std::uint32_t>(BestClasses(params, image)[id]);
  }
  __device__ static std::uint32_t IndexOf(const Params& params, std::uint32_t id) {
    return params.multi_label ? id / static_cast<std::uint32_t>(params.classes) : id;
  }
  __device__ static Box BoxOf(const Params& params, const box::BoxImage& image, std::uint32_t id) {
    bool has_nan = false;
    const Box corners = Decode(params, image, id, &has_nan);
    return box::ForSuppression(corners, has_nan);
  }

  __device__ static void Write(const Params& params, const box::BoxImage& image, std::int64_t column,
                               std::uint64_t key) {
    const auto id = static_cast<std::uint32_t>(key);
    bool has_nan = false;
    const Box corners = ToImage(*image.segment, Decode(params, image, id, &has_nan));
    Put(image, column, corners, box::ScoreOfKey(static_cast<std::uint32_t>(key >> 32)),
        static_cast<std::int32_t>(ClassOf(params, image, id)), IndexOf(params, id));
  }
  __device__ static void Pad(const Params& /*params*/, const box::BoxImage& image, std::int64_t column) {
    Put(image, column, {0.0f, 0.0f, 0.0f, 0.0f}, 0.0f, -1, -1);
  }
  __device__ static void WriteCount(const Params& /*params*/, const box::BoxImage& image, std::int32_t kept) {
    if (auto* const counts = static_cast<std::int32_t*>(image.segment->outputs[kNumDetections])) {
      counts[image.index] = kept;
    }
  }

  /// By box, written for candidates only.
  __device__ static std::int32_t* BestClasses(const Params& params, const box::BoxImage& image) {
    return reinterpret_cast<std::int32_t*>(Base(image) + PartsOf(image.slots, params).classes_at);
  }

 private:
  __device__ static std::uint8_t* Base(const box::BoxImage& image) {
    return static_cast<std::uint8_t*>(image.segment->workspace) + image.index * image.segment->extents[kWorkspaceBytes];
  }

  __device__ static Box Decode(const Params& params, const box::BoxImage& image, std::uint32_t id, bool* has_nan) {
    const std::int64_t index = IndexOf(params, id);
    const int class_id = params.boxes_of_classes ? static_cast<int>(ClassOf(params, image, id)) : 0;
    const BoxPlaces places = PlacesOfBox(params, *image.segment, image.index, index, class_id);
    const bool has_anchor = params.anchors != DataType::kInvalid;
    float numbers[4];
    float anchor[4] = {};
    for (int k = 0; k < 4; ++k) {
      numbers[k] = box::LoadFloat(params.boxes, places.data, places.first + k * places.step);
      if (has_anchor) {
        anchor[k] = box::LoadFloat(params.anchors, image.segment->inputs[kAnchors], 4 * index + k);
      }
      *has_nan = *has_nan || numbers[k] != numbers[k] || anchor[k] != anchor[k];
    }
    return DecodeBox(params, numbers, has_anchor ? anchor : nullptr);
  }

  __device__ static void Put(const box::BoxImage& image, std::int64_t column, const Box& corners, float score,
                             std::int32_t class_id, std::int64_t index) {
    const std::int64_t place = image.index * image.columns + column;
    void* const* const outputs = image.segment->outputs;
    if (outputs[kDetectedBoxes] != nullptr) {
      static_cast<Box*>(outputs[kDetectedBoxes])[place] = corners;
    }
    if (outputs[kDetectedScores] != nullptr) {
      static_cast<float*>(outputs[kDetectedScores])[place] = score;
    }
    if (outputs[kDetectedClasses] != nullptr) {
      static_cast<std::int32_t*>(outputs[kDetectedClasses])[place] = class_id;
    }
    if (outputs[kIndices] != nullptr) {
      static_cast<std::int64_t*>(outputs[kIndices])[place] = index;
    }
  }
};

using Arguments = box::BoxArguments<Params>;

inline constexpr int kClearThreads = 128;

__global__ void __launch_bounds__(kClearThreads) ClearKernel(const __grid_constant__ Arguments arguments) {
  AwaitEarlierWork();
  const box::BoxImage image = box::FindImage<Policy>(arguments);
  if (threadIdx.x == 0) {
    image.space.header()->found = 0;
  }
  if (image.kept_of_class != nullptr) {
    for (int i = static_cast<int>(threadIdx.x); i < arguments.params.classes; i += kClearThreads) {
      image.kept_of_class[i] = 0;
    }
  }
}

// Collecting: a block takes kCollectBoxes boxes at a time, kSoftmaxLanes threads a box. Each of these looks at every
// kSoftmaxLanes-th class, so that the partial sums of softmax are those of the definition. Where the scores of a box
// lie together its threads are neighbours; where the boxes lie together, the threads of one class are.
inline constexpr int kCollectBoxes = 32;
inline constexpr int kCollectThreads = kCollectBoxes * kSoftmaxLanes;

struct CollectShared {
  float best[kSoftmaxLanes][kCollectBoxes];
  std::int32_t class_of[kSoftmaxLanes][kCollectBoxes];
  float largest[kSoftmaxLanes][kCollectBoxes];
  float sums[kSoftmaxLanes][kCollectBoxes];
};

/// The scores of the boxes of one image, of element type T.
template <typename T>
class Collector {
 public:
  __device__ Collector(const Params& params, const box::BoxImage& image, CollectShared& shared)
      : params_(params),
        image_(image),
        shared_(shared),
        places_(PlacesOfScores(params, *image.segment, image.index)),
        scores_(static_cast<const T*>(places_.data)),
        lane_(static_cast<int>(params.layout == Layout::kYolov8 ? threadIdx.x / kCollectBoxes
                                                                : threadIdx.x % kSoftmaxLanes)),
        place_(static_cast<int>(params.layout == Layout::kYolov8 ? threadIdx.x % kCollectBoxes
                                                                 : threadIdx.x / kSoftmaxLanes)),
        real_(RealBoxes()) {}

  /// Called by all threads of the block.
  __device__ void Run(std::int64_t first_box) {
    box_ = first_box + place_;
    in_range_ = box_ < real_;
    const bool softmax = params_.activation == Activation::kSoftmax;
    if (!params_.multi_label || softmax) {
      FindBest();
    }
    if (softmax) {
      SumExponentials();
    }
    if (params_.multi_label) {
      AddLabels();
    } else {
      AddBest(first_box);
    }
    __syncthreads();  // the shared memory may be used for other boxes
  }

 private:
  __device__ std::int64_t RealBoxes() const {
    const auto* const counts = static_cast<const std::int32_t*>(image_.segment->inputs[kCounts]);
    const std::int64_t boxes = image_.segment->extents[kBoxesPerImage];
    return counts == nullptr ? boxes : min(max(std::int64_t{counts[image_.index]}, std::int64_t{0}), boxes);
  }

  __device__ float Raw(std::int64_t box_index, int class_id) const {
    return box::ToFloat(scores_[places_.first + box_index * places_.box_step + class_id * places_.class_step]);
  }

  /// Each thread's best of its classes, and the largest of all of them. Comparisons drop NaN.
  __device__ void FindBest() {
    float best = -box::Infinity();
    float largest = -box::Infinity();
    int class_of = -1;
    if (in_range_) {
#pragma unroll 8
      for (int c = lane_; c < params_.classes; c += kSoftmaxLanes) {
        const float raw = Raw(box_, c);
        largest = raw > largest ? raw : largest;
        const bool better = raw > best || (class_of < 0 && raw == raw);
        if (better && IsAllowed(params_, c)) {
          best = raw;
          class_of = c;
        }
      }
    }
    shared_.best[lane_][place_] = best;
    shared_.class_of[lane_][place_] = class_of;
    shared_.largest[lane_][place_] = largest;
    __syncthreads();
  }

  __device__ float LargestOf(int place) const {
    float largest = shared_.largest[0][place];
    for (int lane = 1; lane < kSoftmaxLanes; ++lane) {
      largest = shared_.largest[lane][place] > largest ? shared_.largest[lane][place] : largest;
    }
    return largest;
  }

  __device__ void SumExponentials() {
    float sum = 0.0f;
    const float largest = LargestOf(place_);
    if (in_range_) {
      for (int c = lane_; c < params_.classes; c += kSoftmaxLanes) {
        sum = box::Add(sum, box::Exponential(box::Sub(Raw(box_, c), largest)));
      }
    }
    shared_.sums[lane_][place_] = sum;
    __syncthreads();
  }

  __device__ float SumOf(int place) const {
    float sums[kSoftmaxLanes];
    for (int lane = 0; lane < kSoftmaxLanes; ++lane) {
      sums[lane] = shared_.sums[lane][place];
    }
    for (int step = kSoftmaxLanes / 2; step > 0; step /= 2) {
      for (int lane = 0; lane < step; ++lane) {
        sums[lane] = box::Add(sums[lane], sums[lane + step]);
      }
    }
    return sums[0];
  }

  __device__ bool CannotPass(float raw) const {
    return params_.raw_cutoff != -box::Infinity() && !(raw > params_.raw_cutoff);
  }

  /// The score of a class of the box at `place`; NaN for one that has none.
  __device__ float ScoreOf(std::int64_t box_index, int place, float raw) const {
    const bool softmax = params_.activation == Activation::kSoftmax;
    const float of_class =
        Activate(params_.activation, raw, softmax ? LargestOf(place) : 0.0f, softmax ? SumOf(place) : 1.0f);
    return params_.layout == Layout::kYolov5
               ? box::Mul(of_class, ActivateObjectness(params_.activation, Raw(box_index, -1)))
               : of_class;
  }

  /// Makes a candidate of each lane's number whose score passes. Called by whole warps.
  __device__ void Append(bool passes, float score, std::uint32_t id) {
    const unsigned lanes = __ballot_sync(box::kAllLanes, passes);
    if (lanes == 0) {
      return;
    }
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int leader = __ffs(static_cast<int>(lanes)) - 1;
    std::uint32_t place = 0;
    if (lane == leader) {
      place = atomicAdd(&image_.space.header()->found, static_cast<std::uint32_t>(__popc(lanes)));
    }
    place = __shfl_sync(box::kAllLanes, place, leader) + static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)));
    if (passes) {
      image_.space.keys(0)[place] = std::uint64_t{box::DescendingKey(score)} << 32 | id;
    }
  }

  /// One warp, a box a lane, picks the best of what the threads of each box found: the lowest class of the best.
  __device__ void AddBest(std::int64_t first_box) {
    if (threadIdx.x >= kCollectBoxes) {
      return;
    }
    const int place = static_cast<int>(threadIdx.x);
    const std::int64_t box_index = first_box + place;
    float best = -box::Infinity();
    int class_of = -1;
    for (int lane = 0; lane < kSoftmaxLanes; ++lane) {
      const float raw = shared_.best[lane][place];
      const int other = shared_.class_of[lane][place];
      if (other >= 0 && (class_of < 0 || raw > best || (raw == best && other < class_of))) {
        best = raw;
        class_of = other;
      }
    }
    float score = 0.0f;
    bool passes = class_of >= 0 && !CannotPass(best);
    if (passes) {
      score = ScoreOf(box_index, place, best);
      passes = score > params_.score_threshold;
    }
    if (passes) {
      Policy::BestClasses(params_, image_)[box_index] = class_of;
    }
    Append(passes, score, static_cast<std::uint32_t>(box_index));
  }

  __device__ void AddLabels() {
    for (int first = 0; first < params_.classes; first += kSoftmaxLanes) {
      const int c = first + lane_;
      float score = 0.0f;
      bool passes = in_range_ && c < params_.classes && IsAllowed(params_, c);
      if (passes) {
        const float raw = Raw(box_, c);
        passes = !CannotPass(raw);
        score = passes ? ScoreOf(box_, place_, raw) : 0.0f;
        passes = passes && score > params_.score_threshold;
      }
      Append(passes, score, static_cast<std::uint32_t>(box_ * params_.classes + c));
    }
  }

  const Params& params_;
  const box::BoxImage& image_;
  CollectShared& shared_;
  const ScorePlaces places_;
  const T* const scores_;
  const int lane_;   // which classes
  const int place_;  // which box of the block's
  const std::int64_t real_;
  std::int64_t box_ = 0;
  bool in_range_ = false;
};

template <typename T>
__global__ void __launch_bounds__(kCollectThreads) CollectKernel(const __grid_constant__ Arguments arguments) {
  AwaitEarlierWork();
  __shared__ CollectShared shared;
  const box::BoxImage image = box::FindImage<Policy>(arguments);
  Collector<T> collector(arguments.params, image, shared);
  box::ForEachTile(arguments, image.segment->extents[kBoxesPerImage], kCollectBoxes,
                   [&](std::int64_t tile) { collector.Run(tile * kCollectBoxes); });
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_KERNEL_CUH_
