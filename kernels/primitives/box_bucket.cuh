// The first half of suppression for images of up to kBucketedSlots slots, in one launch. Blocks share an image, and
// need not wait for each other: each takes in the keys of all boxes, sorts them into buckets in its own memory, and
// ranks its share of the boxes, of which only those in the same bucket have to be looked at. Tiles and merges, which
// larger images need, are steps that wait for each other, and each leaves most of a GPU without work.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_BUCKET_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_BUCKET_CUH_

#include <cstdint>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/box_rank.cuh"
#include "kernels/primitives/box_tile.cuh"
#include "kernels/primitives/bucket_sort.cuh"

namespace kernelwire::box {

inline constexpr int kBucketedSlots = 11 * 1024;  // whose arrays a block of compute capability 9.0 has room for

/// The beginning of a block's memory.
struct alignas(16) BucketShared {
  int ends_by_score[kBuckets];  // of the buckets
  int ends_by_group[kBuckets];
  int ranks[kBucketThreads];   // of the boxes at hand
  int places[kBucketThreads];  // the same by group
  int of_warps[kBucketThreads / 32];
  std::uint32_t least;  // of the scores' words
  std::uint32_t most;
  int candidates;
};

/// The rest, which depends on the number of slots. By slot: keys and, where groups are brought together, scattered
/// groups; slots by bucket.
struct BucketArrays {
  std::uint64_t* keys;
  std::uint32_t* groups;
  std::uint16_t* by_score;
  std::uint16_t* by_group;

  static std::size_t Bytes(std::int64_t slots, bool grouped) {
    const std::size_t of_slot = sizeof(*keys) + sizeof(*by_score) + (grouped ? sizeof(*groups) + sizeof(*by_group) : 0);
    return sizeof(BucketShared) + static_cast<std::size_t>(slots) * of_slot;
  }
  __device__ static BucketArrays Behind(BucketShared& shared, int slots, bool grouped) {
    BucketArrays arrays{};
    arrays.keys = reinterpret_cast<std::uint64_t*>(&shared + 1);
    arrays.groups = reinterpret_cast<std::uint32_t*>(arrays.keys + slots);
    arrays.by_score = reinterpret_cast<std::uint16_t*>(arrays.groups + (grouped ? slots : 0));
    arrays.by_group = arrays.by_score + slots;
    return arrays;
  }
};

/// Ranks boxes of one image. `kGrouped`: its groups are brought together. All functions are called by all
/// kBucketThreads threads of the block.
template <typename P, bool kGrouped>
class BucketRanker {
 public:
  using Box = typename P::Box;

  __device__ BucketRanker(const typename P::Params& params, const BoxImage& image, int slots, BucketShared& shared)
      : params_(params),
        rules_(P::Rules(params)),
        image_(image),
        slots_(slots),
        arrays_(BucketArrays::Behind(shared, slots, kGrouped)),
        shared_(shared) {}

  /// Sorts all boxes into buckets. Returns how many there are.
  __device__ int Sort() {
    LoadKeys();
    SortIntoBuckets(ByScore(), slots_, shared_.ends_by_score, arrays_.by_score, shared_.of_warps);
    if (kGrouped) {
      SortIntoBuckets(ByGroup(), slots_, shared_.ends_by_group, arrays_.by_group, shared_.of_warps);
    }
    return shared_.candidates;
  }

  /// Ranks the slots [first, end), at most kBucketThreads, and puts these boxes where the kernels behind this one look
  /// for them.
  __device__ void Rank(int first, int end) {
    const int thread = static_cast<int>(threadIdx.x);
    const int share = (end - first + 31) / 32 * 32;
    const int parts = kBucketThreads / share;
    const int mine = thread % share;
    const int part = thread / share;
    const std::uint64_t key = part < parts && first + mine < end ? arrays_.keys[first + mine] : kNoKey;
    Box box = NowhereOf<Box>();
    if (part == 0 && key != kNoKey) {  // on its way while others are counted
      box = P::BoxOf(params_, image_, static_cast<std::uint32_t>(key));
    }
    shared_.ranks[thread] = 0;
    shared_.places[thread] = 0;
    __syncthreads();
    if (key != kNoKey) {
      const int before = CountBefore(ByScore(), shared_.ends_by_score, arrays_.by_score, first + mine, part, parts);
      atomicAdd(&shared_.ranks[mine], before);
    }
    if (kGrouped && key != kNoKey) {
      const int before = CountBefore(ByGroup(), shared_.ends_by_group, arrays_.by_group, first + mine, part, parts);
      atomicAdd(&shared_.places[mine], before);
    }
    __syncthreads();
    if (part == 0 && key != kNoKey) {
      Place(first + mine, key, box, shared_.ranks[mine], shared_.places[mine]);
    }
    __syncthreads();  // `ranks` may be used for other boxes
  }

 private:
  static constexpr int kAtOnce = 6;  // loads of a thread that are under way together

  __device__ ScoreOrder ByScore() const { return {arrays_.keys, shared_.least, shared_.most}; }
  __device__ GroupOrder ByGroup() const { return {arrays_.keys, arrays_.groups}; }

  /// Takes in all keys and groups, and finds the range of the keys' words.
  __device__ void LoadKeys() {
    if (threadIdx.x == 0) {
      shared_.least = 0xffffffffu;
      shared_.most = 0;
      shared_.candidates = 0;
    }
    __syncthreads();
    std::uint32_t least = 0xffffffffu;
    std::uint32_t most = 0;
    int candidates = 0;
    for (int first = static_cast<int>(threadIdx.x); first < slots_; first += kAtOnce * kBucketThreads) {
      std::uint64_t keys[kAtOnce];
      std::uint32_t groups[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int slot = first + k * kBucketThreads;
        keys[k] = slot < slots_ ? P::KeyOf(params_, image_, slot) : kNoKey;
        groups[k] = kGrouped && slot < slots_ ? P::GroupOf(params_, image_, static_cast<std::uint32_t>(slot)) : 0;
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int slot = first + k * kBucketThreads;
        if (slot < slots_) {
          arrays_.keys[slot] = keys[k];
        }
        if (kGrouped && slot < slots_) {
          arrays_.groups[slot] = GroupOrder::Scatter(groups[k]);
        }
        if (keys[k] != kNoKey) {
          least = min(least, static_cast<std::uint32_t>(keys[k] >> 32));
          most = max(most, static_cast<std::uint32_t>(keys[k] >> 32));
          ++candidates;
        }
      }
    }
    for (int step = 16; step > 0; step /= 2) {
      least = min(least, __shfl_xor_sync(kAllLanes, least, step));
      most = max(most, __shfl_xor_sync(kAllLanes, most, step));
    }
    candidates = WarpSum(candidates);
    if (threadIdx.x % 32 == 0) {
      atomicMin(&shared_.least, least);
      atomicMax(&shared_.most, most);
      atomicAdd(&shared_.candidates, candidates);
    }
    __syncthreads();
  }

  __device__ void Place(int slot, std::uint64_t key, const Box& box, int rank, int place) const {
    if (rank >= rules_.top_k) {
      return;
    }
    const int passes = MergePasses(image_.slots);
    image_.space.keys(ScoreBuffer(passes))[rank] = key;
    if (kGrouped && IsChained<P>(rules_, image_)) {
      image_.space.keys(GroupBuffer(passes, passes))[place] =
          std::uint64_t{arrays_.groups[slot]} << 32 | static_cast<std::uint32_t>(rank);
    } else {
      place = rank;
      if (rules_.has_groups) {
        image_.space.groups()[rank] =
            static_cast<std::int32_t>(P::GroupOf(params_, image_, static_cast<std::uint32_t>(key)));
      }
    }
    image_.space.boxes<Box>()[place] = box;
  }

  const typename P::Params& params_;
  const SuppressionRules rules_;
  const BoxImage& image_;
  const int slots_;
  const BucketArrays arrays_;
  BucketShared& shared_;
};

/// Ranks images of which none has more than kBucketedSlots slots. A block's memory has BucketShared and BucketArrays of
/// the most. /// `kGrouped`: there may be images whose groups are brought together; then a slot is a box, and no rank
/// beyond top_k.
template <typename P, bool kGrouped>
__global__ void __launch_bounds__(kBucketThreads)
    BucketRankKernel(const __grid_constant__ BoxArguments<typename P::Params> arguments) {
  AwaitEarlierWork(arguments);
  static_assert(!(P::kCollects && kGrouped), "groups are loaded by slot");
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<BucketShared*>(memory);
  const BoxImage image = FindImage<P>(arguments);
  const int slots = static_cast<int>(SlotsInUse<P>(image));
  const int block = static_cast<int>(blockIdx.x % arguments.blocks_per_image);
  const int share =
      (slots + static_cast<int>(arguments.blocks_per_image) - 1) / static_cast<int>(arguments.blocks_per_image);
  const int first = block * share;
  if (block > 0 && first >= slots) {
    return;
  }
  BucketRanker<P, kGrouped> ranker(arguments.params, image, slots, shared);
  const int candidates = ranker.Sort();
  for (int begin = first; begin < min(first + share, slots); begin += kBucketThreads) {
    ranker.Rank(begin, min(begin + kBucketThreads, min(first + share, slots)));
  }
  ForEachTile(arguments, slots, kSortTile, [&](std::int64_t tile) { ClearTile(image.space, tile); });
  if (block == 0 && threadIdx.x == 0) {
    ClearCounters(image);
    image.space.header()->candidates = static_cast<std::uint32_t>(min(candidates, P::Rules(arguments.params).top_k));
  }
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_BUCKET_CUH_
