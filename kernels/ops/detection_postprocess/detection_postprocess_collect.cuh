// The streaming half of detection_postprocess on the device: from the scores of all boxes to candidates.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_COLLECT_CUH_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_COLLECT_CUH_

#include <math_constants.h>

#include <cstdint>
#include <cstring>

#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_kernel.cuh"
#include "kernels/primitives/box_load.cuh"
#include "kernels/primitives/box_rank.cuh"

namespace kernelwire::detection {

// Collecting: a block takes Chunk::kBoxesOfBlock boxes at a time, kSoftmaxLanes threads a box. Each of these looks at
// every kSoftmaxLanes-th class, so that the partial sums of softmax are those of the definition. Where the scores of a
// box lie together its threads are neighbours; where the boxes lie together, the threads of one class are.
inline constexpr int kCollectThreads = 256;
inline constexpr int kPlaces = kCollectThreads / kSoftmaxLanes;
inline constexpr int kLoads = 2;           // of a thread for a class: loads of so many
inline constexpr int kClassesAtOnce = 10;  // classes are under way together

/// How a block's boxes fall to its threads, of which each load brings scores of `kAbreast` boxes.
template <int kAbreast>
struct Chunk {
  static constexpr int kBoxesOfThread = kLoads * kAbreast;
  static constexpr int kBoxesOfBlock = kPlaces * kBoxesOfThread;

  /// Which box of the block's is number `turn` of the thread at `place`.
  __device__ static int PlaceOf(int place, int turn) {
    return (turn / kAbreast * kPlaces + place) * kAbreast + turn % kAbreast;
  }

  float best[kSoftmaxLanes][kBoxesOfBlock];
  std::int32_t class_of[kSoftmaxLanes][kBoxesOfBlock];
  float largest[kSoftmaxLanes][kBoxesOfBlock];
  float sums[kSoftmaxLanes][kBoxesOfBlock];
};

/// What one load brings: the scores of `kAbreast` boxes for a class. Taken apart only when they are looked at, so that
/// nothing waits for them before.
template <typename T, int kAbreast>
struct LoadedScores {
  static_assert(kAbreast == 1);
  T score;
  __device__ static LoadedScores Nan() { return {T(CUDART_NAN_F)}; }
  __device__ float Of(int /*turn*/) const { return box::ToFloat(score); }
};

template <typename T>
struct LoadedScores<T, 2> {
  static_assert(sizeof(T) == 2);
  std::uint32_t word;  // one number, so that it is one load
  __device__ static LoadedScores Nan() { return {0x7fff7fffu}; }
  __device__ float Of(int turn) const {
    const auto bits = static_cast<std::uint16_t>(turn % 2 == 0 ? word : word >> 16);
    T score;
    memcpy(&score, &bits, sizeof(score));
    return box::ToFloat(score);
  }
};

/// The scores of the boxes of one image, of element type T. `kAbreast` is 2 for 16-bit scores of which those of boxes
/// 2 i and 2 i + 1 for a class lie in one word.
template <typename T, int kAbreast>
class Collector {
 public:
  using Shared = Chunk<kAbreast>;

  __device__ Collector(const Params& params, const box::BoxImage& image, Shared& shared)
      : params_(params),
        image_(image),
        shared_(shared),
        places_(PlacesOfScores(params, image.segment, image.index)),
        scores_(static_cast<const T*>(places_.data)),
        lane_(static_cast<int>(params.layout == Layout::kYolov8 ? threadIdx.x / kPlaces : threadIdx.x % kSoftmaxLanes)),
        place_(
            static_cast<int>(params.layout == Layout::kYolov8 ? threadIdx.x % kPlaces : threadIdx.x / kSoftmaxLanes)),
        real_(RealBoxes()) {}

  /// Goes over the boxes [first_box, first_box + Shared::kBoxesOfBlock), whose first scores Prefetch has asked for, and
  /// asks for those from `next_box` on before it adds candidates: memory has something to do meanwhile. Called by all
  /// threads of the block.
  __device__ void Run(std::int64_t first_box, std::int64_t next_box) {
    first_box_ = first_box;
    const bool softmax = params_.activation == Activation::kSoftmax;
    if (!params_.multi_label || softmax) {
      FindBest();
    }
    if (softmax) {
      SumExponentials();
    }
    Prefetch(next_box);
    if (params_.multi_label) {
      AddLabels();
    } else {
      AddBest();
    }
    __syncthreads();  // the shared memory may be used for other boxes
  }

  /// Asks for this thread's first classes of the boxes from `first_box` on.
  __device__ void Prefetch(std::int64_t first_box) {
    if (!params_.multi_label || params_.activation == Activation::kSoftmax) {
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        Load(first_box + PlaceOf(load * kAbreast), lane_, raw_[load]);
      }
    }
  }

 private:
  static constexpr int kBoxesOfThread = Shared::kBoxesOfThread;

  using Scores = LoadedScores<T, kAbreast>;

  __device__ std::int64_t RealBoxes() const {
    const auto* const counts = static_cast<const std::int32_t*>(image_.segment.inputs[kCounts]);
    const std::int64_t boxes = image_.segment.extents[kBoxesPerImage];
    return counts == nullptr ? boxes : min(max(std::int64_t{counts[image_.index]}, std::int64_t{0}), boxes);
  }

  __device__ float Raw(std::int64_t box_index, int class_id) const {
    return box::ToFloat(scores_[places_.first + box_index * places_.box_step + class_id * places_.class_step]);
  }

  /// Of this thread's boxes.
  __device__ int PlaceOf(int turn) const { return Shared::PlaceOf(place_, turn); }
  __device__ bool IsReal(int place) const { return first_box_ + place < real_; }

  /// Each thread's best of its classes, and the largest of all of them. Comparisons drop NaN.
  __device__ void FindBest() {
    if (!params_.listed && params_.background == kNoBackground) {
      FindBestOf<true>();
    } else {
      FindBestOf<false>();
    }
    __syncthreads();
  }

  /// `kAll`: every class is allowed, so that the best is the largest, too.
  template <bool kAll>
  __device__ void FindBestOf() {
    float best[kBoxesOfThread];
    float largest[kBoxesOfThread];
    int class_of[kBoxesOfThread];
#pragma unroll
    for (int turn = 0; turn < kBoxesOfThread; ++turn) {
      best[turn] = largest[turn] = -box::Infinity();
      class_of[turn] = -1;
    }
    for (int first = lane_; first < params_.classes; first += kClassesAtOnce * kSoftmaxLanes) {
#pragma unroll
      for (int load = 0; load < kLoads && first != lane_; ++load) {
        Load(first_box_ + PlaceOf(load * kAbreast), first, raw_[load]);
      }
#pragma unroll
      for (int turn = 0; turn < kBoxesOfThread; ++turn) {
#pragma unroll
        for (int k = 0; k < kClassesAtOnce; ++k) {
          const int c = first + k * kSoftmaxLanes;
          const float value = raw_[turn / kAbreast][k].Of(turn % kAbreast);
          if (value > best[turn] && (kAll || IsAllowed(params_, c))) {
            best[turn] = value;
            class_of[turn] = c;
          }
          if (!kAll) {
            largest[turn] = value > largest[turn] ? value : largest[turn];
          }
        }
      }
    }
#pragma unroll
    for (int turn = 0; turn < kBoxesOfThread; ++turn) {
      const int place = PlaceOf(turn);
      shared_.best[lane_][place] = best[turn];
      shared_.class_of[lane_][place] = class_of[turn] >= 0 ? class_of[turn] : FirstNumber(place);
      shared_.largest[lane_][place] = kAll ? best[turn] : largest[turn];
    }
  }

  /// This thread's classes of the boxes of a load from `first` on; NaN where there are no more.
  __device__ void Load(std::int64_t box_index, int first, Scores (&raw)[kClassesAtOnce]) const {
    const T* from = scores_ + places_.first + box_index * places_.box_step + first * places_.class_step;
    const std::int64_t step = kSoftmaxLanes * places_.class_step;
    const int classes = box_index < real_ ? params_.classes - first : 0;
#pragma unroll
    for (int k = 0; k < kClassesAtOnce; ++k, from += step) {
      raw[k] = k * kSoftmaxLanes < classes ? *reinterpret_cast<const Scores*>(from) : Scores::Nan();
    }
  }

  /// The first of this thread's allowed classes whose score is a number; -1 without one. Asked where none is above
  /// minus infinity.
  __device__ int FirstNumber(int place) const {
    for (int c = lane_; IsReal(place) && c < params_.classes; c += kSoftmaxLanes) {
      const float raw = Raw(first_box_ + place, c);
      if (raw == raw && IsAllowed(params_, c)) {
        return c;
      }
    }
    return -1;
  }

  __device__ float LargestOf(int place) const {
    float largest = shared_.largest[0][place];
    for (int lane = 1; lane < kSoftmaxLanes; ++lane) {
      largest = shared_.largest[lane][place] > largest ? shared_.largest[lane][place] : largest;
    }
    return largest;
  }

  __device__ void SumExponentials() {
    for (int turn = 0; turn < kBoxesOfThread; ++turn) {
      const int place = PlaceOf(turn);
      const float largest = LargestOf(place);
      float sum = 0.0f;
      for (int c = lane_; IsReal(place) && c < params_.classes; c += kSoftmaxLanes) {
        sum = box::Add(sum, box::Exponential(box::Sub(Raw(first_box_ + place, c), largest)));
      }
      shared_.sums[lane_][place] = sum;
    }
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
  __device__ float ScoreOf(int place, float raw) const {
    const bool softmax = params_.activation == Activation::kSoftmax;
    const float of_class =
        Activate(params_.activation, raw, softmax ? LargestOf(place) : 0.0f, softmax ? SumOf(place) : 1.0f);
    return params_.layout == Layout::kYolov5
               ? box::Mul(of_class, ActivateObjectness(params_.activation, Raw(first_box_ + place, -1)))
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

  /// The first warps, a box a lane, pick the best of what the threads of each box found: the lowest class of the best.
  __device__ void AddBest() {
    if (threadIdx.x >= Shared::kBoxesOfBlock) {
      return;
    }
    const int place = static_cast<int>(threadIdx.x);
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
    bool passes = class_of >= 0 && IsReal(place) && !CannotPass(best);  // a load may reach beyond what is real
    if (passes) {
      score = ScoreOf(place, best);
      passes = score > params_.score_threshold;
    }
    if (passes) {
      Policy::BestClasses(params_, image_)[first_box_ + place] = class_of;
    }
    Append(passes, score, static_cast<std::uint32_t>(first_box_ + place));
  }

  __device__ void AddLabels() {
    for (int turn = 0; turn < kBoxesOfThread; ++turn) {
      const int place = PlaceOf(turn);
      for (int first = 0; first < params_.classes; first += kSoftmaxLanes) {
        const int c = first + lane_;
        float score = 0.0f;
        bool passes = IsReal(place) && c < params_.classes && IsAllowed(params_, c);
        if (passes) {
          const float raw = Raw(first_box_ + place, c);
          passes = !CannotPass(raw);
          score = passes ? ScoreOf(place, raw) : 0.0f;
          passes = passes && score > params_.score_threshold;
        }
        Append(passes, score, static_cast<std::uint32_t>((first_box_ + place) * params_.classes + c));
      }
    }
  }

  const Params& params_;
  const box::BoxImage& image_;
  Shared& shared_;
  const ScorePlaces places_;
  const T* const scores_;
  const int lane_;   // which classes
  const int place_;  // which boxes of the block's: see Chunk::PlaceOf
  const std::int64_t real_;
  std::int64_t first_box_ = 0;
  Scores raw_[kLoads][kClassesAtOnce];
};

template <typename T, int kAbreast>
__global__ void __launch_bounds__(kCollectThreads, 2) CollectKernel(const __grid_constant__ Arguments arguments) {
  AwaitEarlierWork(arguments);
  constexpr int kBoxesOfBlock = Chunk<kAbreast>::kBoxesOfBlock;
  __shared__ Chunk<kAbreast> shared;
  const box::BoxImage image = box::FindImage<Policy>(arguments);
  Collector<T, kAbreast> collector(arguments.params, image, shared);
  const std::int64_t step = arguments.blocks_per_image * kBoxesOfBlock;
  collector.Prefetch(blockIdx.x % arguments.blocks_per_image * kBoxesOfBlock);
  box::ForEachTile(arguments, image.segment.extents[kBoxesPerImage], kBoxesOfBlock,
                   [&](std::int64_t tile) { collector.Run(tile * kBoxesOfBlock, tile * kBoxesOfBlock + step); });
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_COLLECT_CUH_
