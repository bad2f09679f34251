// Device code of nms. A launch runs these kernels in order, each over all images of all requests:
//
//   RankTiles    tiles of keys (score downwards, index), sorted; the counters of the image cleared       nms_rank.cuh
//   MergeRuns    twice the run length a launch, until the images are sorted
//   OrderTiles   index of each rank; with classes: tiles of keys (class, rank), sorted
//   MergeRuns    again, with classes
//   Suppress     tiles of boxes in this order, each held against the kept ones of its class              here
//   CountKept    kept boxes of each tile of ranks                                                  nms_output.cuh
//   WriteKept    the outputs
//
// Keys are unique, so there are no ties, and every result is a function of the inputs alone: no order of arrival
// reaches it. Positions within an image are 32-bit (the plan sees to it), what depends on the number of images is
// 64-bit.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_

#include <cstdint>
#include <cuda/atomic>

#include "kernels/ops/nms/nms_image.cuh"

namespace kernelwire::nms {

/// What a tile of boxes has decided, in one word, so that one load tells whether and what. Of its last class, which may
/// go on in the next tile: which of the tile's listed boxes belong to it, and how many were kept since the class began.
struct TileState {
  std::uint64_t word;
  static constexpr std::uint64_t kReady = std::uint64_t{1} << 63;
  __device__ static TileState Make(int begin, int end, int kept) {
    return {kReady | static_cast<std::uint64_t>(kept) << 32 | static_cast<std::uint64_t>(end) << 16 |
            static_cast<std::uint64_t>(begin)};
  }
  __device__ int begin() const { return static_cast<int>(word & 0xffff); }
  __device__ int end() const { return static_cast<int>(word >> 16 & 0xffff); }
  __device__ int kept() const { return static_cast<int>(word >> 32 & 0x7fffffff); }
};
using SharedWord = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

/// Two corners in f32, x1 y1 x2 y2. Every operation is rounded by itself: the _rn intrinsics are never contracted.
__device__ inline float4 LoadBox(const Params& params, const void* boxes, std::int64_t i, bool* has_nan) {
  const float a = LoadFloat(params.boxes, boxes, 4 * i);
  const float b = LoadFloat(params.boxes, boxes, 4 * i + 1);
  const float c = LoadFloat(params.boxes, boxes, 4 * i + 2);
  const float d = LoadFloat(params.boxes, boxes, 4 * i + 3);
  *has_nan = a != a || b != b || c != c || d != d;
  const float half_c = __fmul_rn(0.5f, c);
  const float half_d = __fmul_rn(0.5f, d);
  switch (params.coding) {
    case BoxCoding::kYxyx:
      return {fminf(b, d), fminf(a, c), fmaxf(b, d), fmaxf(a, c)};
    case BoxCoding::kXywh:
      return {a, b, __fadd_rn(a, c), __fadd_rn(b, d)};
    case BoxCoding::kCxcywh:
      return {__fsub_rn(a, half_c), __fsub_rn(b, half_d), __fadd_rn(a, half_c), __fadd_rn(b, half_d)};
    default:
      return {a, b, c, d};
  }
}

__device__ inline float Area(const float4& box) { return __fmul_rn(__fsub_rn(box.z, box.x), __fsub_rn(box.w, box.y)); }

/// A box that neither suppresses nor is suppressed is one with a NaN, an empty one, and one whose area is 0 or
/// infinite: then what it shares with others is 0, or every IoU 0 or NaN.
__device__ inline bool IsActive(const float4& box, float area, bool has_nan) {
  return !has_nan && box.z > box.x && box.w > box.y && area > 0.0f && area < __int_as_float(0x7f800000);
}

/// Whether the IoU of two active boxes is strictly greater than the threshold. Symmetric.
__device__ inline bool Overlap(const float4& a, float a_area, const float4& b, float b_area, float threshold) {
  const float width = __fsub_rn(fminf(a.z, b.z), fmaxf(a.x, b.x));
  const float height = __fsub_rn(fminf(a.w, b.w), fmaxf(a.y, b.y));
  if (!(width > 0.0f && height > 0.0f)) {
    return false;
  }
  const float shared = __fmul_rn(width, height);
  return __fdiv_rn(shared, __fsub_rn(__fadd_rn(a_area, b_area), shared)) > threshold;
}

struct SuppressShared {
  float4 own[kTile];    // the boxes of this tile
  float4 rival[kTile];  // kept boxes of an earlier one
  float own_area[kTile];
  float rival_area[kTile];
  unsigned class_starts[kWarps];  // bit i of word w: at 32 w + i another class begins than before it
  unsigned kept[kWarps];
  unsigned listed[kWarps];  // kept and active: what later tiles test against
  unsigned ticket;
  int first_tile;
  TileState state;
};

/// What a thread knows of its box.
struct Candidate {
  float4 box;
  float area;
  bool in_range;
  bool active;
  bool chained;        // its class began in an earlier tile
  bool alive;          // not yet suppressed
  int first_of_class;  // in the tile
  int kept_before;     // boxes of its class kept ahead of it, as far as is known
  std::uint32_t rank;
};

/// The word of bits [first, 32 * word + 32) of a tile's bits, for the word.
__device__ inline unsigned BitsFrom(int first, int word) {
  const int shift = first - 32 * word;
  return shift <= 0 ? kAllLanes : shift >= 32 ? 0u : kAllLanes << shift;
}

/// The position in the tile where the class at `position` begins, or -1 if it began before the tile.
__device__ inline int FirstOfClass(const unsigned (&starts)[kWarps], int position) {
  unsigned bits = starts[position / 32] & (kAllLanes >> (31 - position % 32));
  int word = position / 32;
  while (bits == 0 && word > 0) {
    bits = starts[--word];
  }
  return bits == 0 ? -1 : 32 * word + 31 - __clz(static_cast<int>(bits));
}

/// Loads the box of each thread into registers and shared memory and finds out where its class begins.
__device__ inline Candidate LoadCandidate(const KernelArguments& arguments, const Image& image, int tile,
                                          SuppressShared& shared) {
  const bool has_classes = arguments.params.classes != DataType::kInvalid;
  const std::uint64_t* const sorted = image.second_buffer;
  const int thread = static_cast<int>(threadIdx.x);
  const int position = tile * kTile + thread;
  Candidate mine{};
  mine.in_range = position < *image.candidates;
  bool starts = position == 0;
  if (mine.in_range) {
    const std::uint64_t key = has_classes ? sorted[position] : static_cast<std::uint32_t>(position);
    mine.rank = static_cast<std::uint32_t>(key);
    starts = starts || (has_classes && sorted[position - 1] >> 32 != key >> 32);
    bool has_nan = false;
    mine.box =
        LoadBox(arguments.params, image.segment->inputs[kBoxes], image.first_box + image.order[mine.rank], &has_nan);
    mine.area = Area(mine.box);
    mine.active = IsActive(mine.box, mine.area, has_nan);
  }
  const unsigned bits = __ballot_sync(kAllLanes, starts);
  if (thread % 32 == 0) {
    shared.class_starts[thread / 32] = bits;
  }
  shared.own[thread] = mine.box;
  shared.own_area[thread] = mine.active ? mine.area : 0.0f;
  __syncthreads();
  const int first = FirstOfClass(shared.class_starts, thread);
  mine.chained = first < 0 && mine.in_range;
  mine.first_of_class = max(first, 0);
  mine.alive = mine.in_range;
  return mine;
}

/// Bit i of before[w]: the box at 32 w + i of this tile, of the same class and ahead of this thread's, overlaps it.
/// Needs nothing of other tiles, so it is done while they are still at work.
__device__ inline void FindOverlapsInTile(const Candidate& mine, float threshold, const SuppressShared& shared,
                                          unsigned (&before)[kWarps]) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int word = 0; word < kWarps; ++word) {
    before[word] = 0;
    const int end = mine.active ? min(thread, 32 * word + 32) : 0;
    for (int i = max(mine.first_of_class, 32 * word); i < end; ++i) {
      if (shared.own_area[i] > 0.0f && Overlap(mine.box, mine.area, shared.own[i], shared.own_area[i], threshold)) {
        before[word] |= 1u << (i - 32 * word);
      }
    }
  }
}

/// The tile in which the class at the first position of `tile` began.
__device__ inline int FirstTileOfClass(const KernelArguments& arguments, const Image& image, int tile) {
  if (arguments.params.classes == DataType::kInvalid) {
    return 0;
  }
  const std::uint64_t* const sorted = image.second_buffer;
  const std::uint64_t wanted = sorted[tile * kTile] >> 32 << 32;  // the least key of the class
  int low = 0;
  for (int high = tile * kTile; low < high;) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low / kTile;
}

/// Waits until a tile has been decided. Tiles are handed out in order, so its block has begun and waits for none later.
__device__ inline TileState WaitForTile(std::uint64_t* state) {
  SharedWord word(*state);
  TileState seen{word.load(cuda::memory_order_acquire)};
  while ((seen.word & TileState::kReady) == 0) {
    __nanosleep(32);
    seen.word = word.load(cuda::memory_order_acquire);
  }
  return seen;
}

/// Holds the boxes of the class that comes in from earlier tiles against what those have kept. Called by all threads
/// whenever the tile's first box is chained.
__device__ inline void TestAgainstEarlierTiles(const KernelArguments& arguments, const Image& image, int tile,
                                               int limit, SuppressShared& shared, Candidate& mine) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    shared.first_tile = FirstTileOfClass(arguments, image, tile);
  }
  __syncthreads();
  int kept = 0;
  for (int earlier = shared.first_tile; earlier < tile; ++earlier) {
    if (thread == 0) {
      shared.state = WaitForTile(image.states + earlier);
    }
    __syncthreads();
    const TileState state = shared.state;
    kept = state.kept();
    if (kept >= limit) {
      break;  // the class is full: nothing behind it is kept
    }
    const int rivals = state.end() - state.begin();
    if (thread < rivals) {
      const float4 rival = image.kept[std::int64_t{earlier} * kTile + state.begin() + thread];
      shared.rival[thread] = rival;
      shared.rival_area[thread] = Area(rival);
    }
    __syncthreads();
    for (int i = 0; i < rivals && mine.chained && mine.active && mine.alive; ++i) {
      mine.alive = !Overlap(mine.box, mine.area, shared.rival[i], shared.rival_area[i], arguments.params.iou_threshold);
    }
    if (!__syncthreads_or(mine.chained && mine.active && mine.alive)) {
      earlier = max(earlier, tile - 2);  // all are decided; only how many the class has kept is still to be learnt
    }
  }
  if (mine.chained) {
    mine.kept_before = kept;
  }
  __syncthreads();
}

/// Decides the tile's boxes in order, 32 at a time: a warp settles its own by ballots, one kept box a step, and the
/// later ones drop what those suppress. `limit` is the most that a class may keep.
__device__ inline void ResolveTile(int limit, const unsigned (&before)[kWarps], SuppressShared& shared,
                                   Candidate& mine) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int word = 0; word < kWarps; ++word) {
    if (warp == word) {
      unsigned open = __ballot_sync(kAllLanes, mine.alive && mine.kept_before < limit);
      unsigned kept = 0;
      while (open != 0) {
        const int next = __ffs(static_cast<int>(open)) - 1;
        kept |= 1u << next;
        const bool same_class = next < lane && 32 * word + next >= mine.first_of_class;
        mine.kept_before += same_class ? 1 : 0;
        const bool gone = (before[word] >> next & 1u) != 0 || (same_class && mine.kept_before >= limit);
        open &= ~(__ballot_sync(kAllLanes, gone) | 1u << next);
      }
      const unsigned active = __ballot_sync(kAllLanes, mine.active);
      if (lane == 0) {
        shared.kept[word] = kept;
        shared.listed[word] = kept & active;
      }
    }
    __syncthreads();
    if (warp > word) {
      mine.alive = mine.alive && (before[word] & shared.kept[word]) == 0;
      mine.kept_before += __popc(shared.kept[word] & BitsFrom(mine.first_of_class, word));
    }
  }
}

/// Lists the tile's kept boxes for later tiles, marks them by rank, and lets the waiting go on.
__device__ inline void PublishTile(const Image& image, int tile, SuppressShared& shared, const Candidate& mine) {
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const unsigned here = 1u << (thread % 32);
  const bool kept = (shared.kept[warp] & here) != 0;
  int listed_before = __popc(shared.listed[warp] & (here - 1));
  int listed = 0;
  int listed_before_class = 0;
  for (int word = 0; word < kWarps; ++word) {
    const unsigned bits = shared.listed[word];
    listed += __popc(bits);
    listed_before += word < warp ? __popc(bits) : 0;
    listed_before_class += __popc(bits & ~BitsFrom(mine.first_of_class, word));
  }
  if ((shared.listed[warp] & here) != 0) {
    image.kept[std::int64_t{tile} * kTile + listed_before] = mine.box;
  }
  if (mine.in_range) {
    image.flags[mine.rank] = kept ? 1 : 0;
  }
  __syncthreads();  // the list is complete before the release that publishes it
  const int last = min(kTile, *image.candidates - tile * kTile) - 1;
  if (thread == last) {
    const TileState state = TileState::Make(listed_before_class, listed, mine.kept_before + (kept ? 1 : 0));
    SharedWord(image.states[tile]).store(state.word, cuda::memory_order_release);
  }
}

/// Greedy suppression of all classes of an image, a tile of boxes a block. A tile waits for the earlier ones only where
/// its first class began there, and only to read what they kept.
__global__ void __launch_bounds__(kThreads) SuppressKernel(const KernelArguments arguments) {
  __shared__ SuppressShared shared;
  const Image image = FindImage(arguments);
  if (image.boxes == 0) {
    return;
  }
  const int limit = min(arguments.params.max_per_class, arguments.params.max_output);
  const int tiles = (*image.candidates + kTile - 1) / kTile;
  while (true) {
    if (threadIdx.x == 0) {
      shared.ticket = atomicAdd(image.ticket, 1u);
    }
    __syncthreads();
    const int tile = static_cast<int>(min(shared.ticket, static_cast<unsigned>(tiles)));
    if (tile >= tiles) {
      return;
    }
    Candidate mine = LoadCandidate(arguments, image, tile, shared);
    unsigned before[kWarps];
    FindOverlapsInTile(mine, arguments.params.iou_threshold, shared, before);
    if ((shared.class_starts[0] & 1u) == 0) {
      TestAgainstEarlierTiles(arguments, image, tile, limit, shared, mine);
    }
    ResolveTile(limit, before, shared, mine);
    PublishTile(image, tile, shared, mine);
    __syncthreads();
  }
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_KERNEL_CUH_
