// detection_postprocess on the host. The scores of all images are scanned a chunk of boxes at a time, chunks side by
// side on the threads; then the candidates of each image, few by now, are ranked and suppressed.
//
// Compiled without contraction of a * b + c, which would round otherwise than the definition (box_geometry.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_finish.h"
#include "kernels/primitives/box_suppress.h"
#include "kernels/primitives/scratch_lease.h"
#include "kernels/primitives/segment_lookup.h"

// The reading of scores, once for every instruction set.
#define HWY_TARGET_INCLUDE "kernels/ops/detection_postprocess/detection_postprocess_scan-inl.h"
#include "hwy/foreach_target.h"
#include "kernels/ops/detection_postprocess/detection_postprocess_scan-inl.h"

namespace kernelwire {
namespace detection {

HWY_EXPORT(ScanBest);
HWY_EXPORT(LoadScores);

namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// A run of boxes of one image.
struct Chunk {
  const Segment* segment;
  std::int64_t image;  // within the request
  std::int64_t first;
  std::int64_t count;
  std::vector<Candidate> candidates;  // by box, then class
};

/// What a launch needs, kept by its thread.
struct LaunchScratch {
  std::vector<Chunk> chunks;
  std::vector<std::size_t> first_chunk;  // of each image, and the number of chunks behind the last

  /// What a rare huge launch needed is not held for ever.
  void GiveBackIfHuge() {
    constexpr std::size_t kRetainedBytes = std::size_t{16} << 20;
    std::size_t bytes = chunks.capacity() * sizeof(Chunk) + first_chunk.capacity() * sizeof(first_chunk[0]);
    for (const Chunk& chunk : chunks) {
      bytes += chunk.candidates.capacity() * sizeof(Candidate);
    }
    if (bytes > kRetainedBytes) {
      *this = {};
    }
  }
};

std::int64_t RealBoxes(const Segment& segment, std::int64_t image) {
  const auto* const counts = static_cast<const std::int32_t*>(segment.inputs[kCounts]);
  const std::int64_t boxes = segment.extents[kBoxesPerImage];
  return counts == nullptr ? boxes : std::clamp<std::int64_t>(counts[image], 0, boxes);
}

/// Scores of one chunk of boxes.
class Scanner {
 public:
  Scanner(const Params& params, const CountedClasses& counted, Chunk* chunk)
      : params_(params),
        counted_(counted),
        chunk_(*chunk),
        places_(PlacesOfScores(params, *chunk->segment, chunk->image)) {}

  void Run() {
    chunk_.candidates.clear();
    if (chunk_.count == 0) {
      return;  // with its classes, however many: without boxes they take no bytes of the request
    }
    if (!params_.multi_label || params_.activation == Activation::kSoftmax) {
      HWY_DYNAMIC_DISPATCH(ScanBest)(params_, places_, counted_, chunk_.first, chunk_.count, &found_);
    }
    if (!params_.multi_label) {
      for (std::int64_t i = 0; i < chunk_.count; ++i) {
        AddBest(i);
      }
    } else if (params_.layout == Layout::kYolov8) {
      AddPlanes();
    } else {
      AddRows();
    }
  }

 private:
  /// The lowest class that counts whose score is minus infinity, which no comparison finds.
  std::int32_t LowestClassOf(std::int64_t i) const {
    for (const std::int32_t c : counted_.list) {
      if (Raw(i, c) == kLowest) {
        return c;
      }
    }
    return -1;
  }

  float Raw(std::int64_t i, std::int64_t class_id) const {
    return LoadFloat(params_.scores, places_.data,
                     places_.first + (chunk_.first + i) * places_.box_step + class_id * places_.class_step);
  }

  bool CannotPass(float raw) const { return params_.raw_cutoff != kLowest && !(raw > params_.raw_cutoff); }

  void AddBest(std::int64_t i) {
    if (CannotPass(found_.best[i])) {
      return;
    }
    const std::int32_t class_id = found_.class_of[i] >= 0 ? found_.class_of[i] : LowestClassOf(i);
    if (class_id >= 0) {
      Add(i, class_id, found_.best[i], SumOf(i, found_.best[i]), Objectness(i));
    }
  }

  void Add(std::int64_t i, std::int64_t class_id, float raw, float sum, float objectness) {
    const float of_class = Activate(params_.activation, raw, found_.largest[i], sum);
    const float score = params_.layout == Layout::kYolov5 ? box::Mul(of_class, objectness) : of_class;
    if (score > params_.score_threshold) {
      chunk_.candidates.push_back(
          {score, static_cast<std::uint32_t>(chunk_.first + i), static_cast<std::int32_t>(class_id)});
    }
  }

  float Objectness(std::int64_t i) const {
    if (params_.layout != Layout::kYolov5) {
      return 1.0f;
    }
    return ActivateObjectness(params_.activation, Raw(i, -1));  // stands before class 0
  }

  /// What softmax divides by. No probability exceeds exp(raw - largest), so the sum is spared where that is too little.
  float SumOf(std::int64_t i, float raw) {
    if (params_.activation != Activation::kSoftmax) {
      return 1.0f;
    }
    const bool bounded = params_.layout != Layout::kYolov5;  // objectness is at most 1, but may be NaN
    if (bounded && params_.score_threshold >= 0.0f &&
        box::Exponential(box::Sub(raw, found_.largest[i])) <= params_.score_threshold) {
      return std::numeric_limits<float>::infinity();
    }
    if (sums_[i] != 0.0f) {
      return sums_[i];
    }
    float sums[kSoftmaxLanes] = {};
    for (std::int32_t c = 0; c < params_.classes; ++c) {
      float& sum = sums[c % kSoftmaxLanes];
      sum = box::Add(sum, box::Exponential(box::Sub(Raw(i, c), found_.largest[i])));
    }
    for (int step = kSoftmaxLanes / 2; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) {
        sums[k] = box::Add(sums[k], sums[k + step]);
      }
    }
    sums_[i] = sums[0];
    return sums[0];
  }

  /// Every class above the threshold, a class after another; then brought into the order of the boxes.
  void AddPlanes() {
    float buffer[kScanBoxes];
    for (const std::int32_t c : counted_.list) {
      const float* const scores = HWY_DYNAMIC_DISPATCH(LoadScores)(
          params_.scores, places_.data, places_.first + chunk_.first + c * places_.class_step, chunk_.count, buffer);
      for (std::int64_t i = 0; i < chunk_.count; ++i) {
        AddLabel(i, c, scores[i]);
      }
    }
    std::sort(chunk_.candidates.begin(), chunk_.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.box != b.box ? a.box < b.box : a.class_id < b.class_id;
    });
  }

  void AddRows() {
    for (std::int64_t i = 0; i < chunk_.count; ++i) {
      for (const std::int32_t c : counted_.list) {
        AddLabel(i, c, Raw(i, c));
      }
    }
  }

  void AddLabel(std::int64_t i, std::int32_t class_id, float raw) {
    if (!CannotPass(raw)) {
      Add(i, class_id, raw, SumOf(i, raw), Objectness(i));
    }
  }

  const Params& params_;
  const CountedClasses& counted_;
  Chunk& chunk_;
  const ScorePlaces places_;
  ScanResult found_;
  float sums_[kScanBoxes] = {};  // of softmax, by box; 0 until known, since each is at least 1
};

/// None where there is no box: `params` may name any number of classes then.
CountedClasses CountClasses(const Params& params, std::int64_t boxes) {
  CountedClasses counted;
  if (boxes == 0) {
    return counted;
  }
  for (std::int32_t c = 0; c < params.classes; ++c) {
    const bool counts = IsAllowed(params, c);
    counted.all = counted.all && counts;
    counted.spoil.push_back(counts ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    if (counts) {
      counted.list.push_back(c);
    }
  }
  return counted;
}

/// Cuts all images of the launch into chunks; an image without boxes has one, an empty one. Vectors of earlier launches
/// keep their memory.
void MakeChunks(const Launch& launch, LaunchScratch* scratch) {
  std::size_t used = 0;
  scratch->first_chunk.clear();
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    for (std::int64_t image = 0; image < segment.rows; ++image) {
      scratch->first_chunk.push_back(used);
      const std::int64_t boxes = RealBoxes(segment, image);
      for (std::int64_t first = 0; first == 0 || first < boxes; first += kScanBoxes) {
        if (used == scratch->chunks.size()) {
          scratch->chunks.emplace_back();
        }
        Chunk& chunk = scratch->chunks[used++];
        chunk.segment = &segment;
        chunk.image = image;
        chunk.first = first;
        chunk.count = std::min(kScanBoxes, boxes - first);
      }
    }
  }
  scratch->first_chunk.push_back(used);
}

/// Brings the candidates of an image together.
void Gather(const LaunchScratch& launch, std::size_t image, ImageScratch* scratch) {
  scratch->candidates.clear();
  for (std::size_t c = launch.first_chunk[image]; c < launch.first_chunk[image + 1]; ++c) {
    const std::vector<Candidate>& found = launch.chunks[c].candidates;
    scratch->candidates.insert(scratch->candidates.end(), found.begin(), found.end());
  }
}

void FinishImages(const Params& params, const LaunchScratch& scratch, ParallelExecutor& threads) {
  const std::size_t images = scratch.first_chunk.size() - 1;
  const auto is_large = [&](std::size_t image) {
    std::size_t candidates = 0;
    for (std::size_t c = scratch.first_chunk[image]; c < scratch.first_chunk[image + 1]; ++c) {
      candidates += scratch.chunks[c].candidates.size();
    }
    return candidates >= static_cast<std::size_t>(box::kLargeImage);
  };
  const auto finish = [&](std::size_t image, ParallelExecutor* helpers) {
    const ScratchLease<ImageScratch> own(helpers == nullptr);
    Gather(scratch, image, &*own);
    const Chunk& first = scratch.chunks[scratch.first_chunk[image]];
    ImageFinisher(params, *first.segment, first.image, &*own).Run(helpers);
  };
  threads.ParallelFor(static_cast<std::int64_t>(images), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto image = static_cast<std::size_t>(begin); image < static_cast<std::size_t>(end); ++image) {
      if (!is_large(image)) {
        finish(image, nullptr);
      }
    }
  });
  for (std::size_t image = 0; image < images; ++image) {
    if (is_large(image)) {
      finish(image, &threads);
    }
  }
}

std::int64_t RealBoxes(const Launch& launch) {
  std::int64_t boxes = 0;
  for (int s = 0; s < launch.segment_count; ++s) {
    for (std::int64_t image = 0; image < launch.segments[s].rows; ++image) {
      boxes += RealBoxes(launch.segments[s], image);
    }
  }
  return boxes;
}

void RunLaunch(const Launch& launch, ParallelExecutor& threads) {
  const Params params = launch.plan->Params<Params>();
  const CountedClasses counted = CountClasses(params, RealBoxes(launch));
  const ScratchLease<LaunchScratch> scratch;
  MakeChunks(launch, &*scratch);
  const auto chunks = static_cast<std::int64_t>(scratch->first_chunk.back());
  threads.ParallelFor(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Scanner(params, counted, &scratch->chunks[static_cast<std::size_t>(i)]).Run();
    }
  });
  FinishImages(params, *scratch, threads);
  scratch->GiveBackIfHuge();
}

}  // namespace
}  // namespace detection

absl::Status RunDetectionPostprocessHost(const Launch& launch, ParallelExecutor& threads) {
  detection::RunLaunch(launch, threads);
  return absl::OkStatus();
}

}  // namespace kernelwire
