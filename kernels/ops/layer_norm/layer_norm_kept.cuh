// layer_norm of 16-bit rows that begin anywhere, in large tensors where memory is fast: a block works on several rows
// one after another, and keeps their weights and biases.
//
// Instructions are what such rows wait for. Every second row of an odd width begins in the middle of a word. A block
// has rows that all begin alike, every second one, so that its parameters lie in shared memory as rows' words in memory
// do, and no word is moved (row_words_in_place.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_again.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/kept_parameters.cuh"
#include "kernels/primitives/row_beginning.cuh"
#include "kernels/primitives/row_kept.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_words_in_place.cuh"

namespace kernelwire {

/// What blocks keep for each word of a row. Where lanes of a block have rows of their own it serves them all, and may
/// be wide.
template <typename T, typename Shape>
using KeptPair = std::conditional_t<Shape::kOfBlocks, PackedPair<T>, WidePair<T>>;

/// Results of a row, which lies at `y`.
template <typename T, typename Kept, typename Pair>
__device__ __forceinline__ void StoreKept(const Kept& kept, const typename Kept::Span& span, const Pair* pairs,
                                          const Normalisation<float, float>& normalisation, T* y) {
  const unsigned zero = UnknownZero();
  const Pair* const own = pairs + span.first;
  Kept::Store(span, y, [&](int v) {
    float values[2];
    float weights[2];
    float biases[2];
    UnpackAgain<T>(kept.words[v], zero, values);
    own[v * (Kept::Span::kStep / 2)].Unpacked(weights, biases);
    Normalise(normalisation, weights, biases, values);
    return Pack<T>(values);
  });
}

/// Lanes of a warp have a row each from here on.
template <int kLanes>
__device__ __forceinline__ void BeginTogether(LaneGroup<kLanes>& group) {
  __syncwarp();
  group.Begin(true);
}
__device__ __forceinline__ void BeginTogether(BlockGroup& /*group*/) {}

/// For the usual launch. The bits are those of LayerNormResidentKernel.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kKeptThreads<Shape>, kKeptBlocks<Shape>)
    LayerNormKeptKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Group = typename Shape::Group;
  using Held = HeldRow<T, Shape, RowAccess::kOdd, 1>;  // of rows that are read again
  using Kept = WordsInPlace<T, Group, Shape::kBytes / 4, Shape::kFirstThatEnds>;
  static_assert(!kInTwoPasses<Held, Group>);
  using Span = typename Kept::Span;
  extern __shared__ Granule granules_of_block[];
  auto* const pairs = reinterpret_cast<KeptPair<T, Shape>*>(granules_of_block);
  auto group = RowGrid<Group>::GroupOf(1, Shape::kWholeBlocks);
  const RowMean<T, Group, float> mean(arguments.reciprocal, arguments.width);
  const Segment& only = arguments.table.only;
  const auto width = static_cast<int>(arguments.width);
  const auto rows = static_cast<unsigned>(arguments.total_rows);
  const RowsThatBeginAlike<Group> alike(arguments.tuning.turns);
  const auto odd = static_cast<int>(alike.first & arguments.width & 1U);
  const unsigned end = min(rows, alike.end);
  const auto row_at = [&](unsigned row) {
    return UsualRowAt(static_cast<const T*>(only.inputs[kLayerNormX]), row, width);
  };
  const auto fetch_ahead = [&](unsigned row) {
    if (group.rank() == 0 && row < end) {
      FetchAhead(row_at(row), width * std::int64_t{sizeof(T)}, 0, 1);
    }
  };
  fetch_ahead(alike.first);
  // Lanes beside others that have a row when these have none have that, too, so as to come along; they do not write.
  const unsigned before = threadIdx.x % 32 / Group::kLanes * 2;
  KeepParameters(pairs, static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormWeightInput])),
                 static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormBiasInput])), width, odd);
  __syncthreads();
  Kept kept = {};
  RowBeginning<T, false> beginning;
#pragma unroll 1
  for (unsigned next = alike.first; next - before < end; next += alike.step) {
    const unsigned index = next < end ? next : next - before;
    BeginTogether(group);
    kept.Load(Span(width, odd), row_at(index), index + 1 == rows);
    beginning.LoadWithin(row_at(index));
    fetch_ahead(next + alike.step);
    const auto deviations_from = [&](float first_mean) -> RowParts<Deviations<float>, 1> {
      return {{kept.DeviationsFrom(group, Span(width, odd), first_mean)}};
    };
    const auto moments = MomentsOfHeld(group, kept, width, beginning.template Mean<float>(), mean, deviations_from);
    kept.StayPacked();
    if (next >= end) {
      continue;
    }
    if (moments.LeaveF32(arguments.epsilon)) {
      const auto row = UsualLayerNormRowAt<T>(arguments, index);
      NormaliseAgain<Held, double>(group, row, MomentsInF64<Held>(group, row), arguments.epsilon);
      continue;
    }
    const Normalisation<float, float> normalisation(moments, moments.template InvStdDev<T>(arguments.epsilon));
    StoreKept(kept, Span(width, odd), pairs, normalisation,
              UsualRowAt(static_cast<T*>(only.outputs[kLayerNormY]), index, width));
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_
