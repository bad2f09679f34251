// layer_norm of 16-bit rows that begin anywhere, in large tensors where memory is fast: a block works on several rows
// one after another, and keeps their weights and biases.
//
// Instructions are what such rows wait for. Every second row of an odd width begins in the middle of a word. A block
// has rows that all begin alike, every second one, so that its parameters lie in shared memory as rows' words in memory
// do, and no word is moved (row_words_in_place.cuh). Rows of even widths, which all begin with a word, go the same way.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_again.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/kept_parameters.cuh"
#include "kernels/primitives/row_alike.cuh"
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

/// Results of a row of `width` elements, which lies at `y`.
template <ResultsOfWords kResults, typename T, typename Kept, typename Pair>
__device__ __forceinline__ void StoreKept(const Kept& kept, const typename Kept::Span& span, const Pair* pairs,
                                          const Normalisation<float, float>& normalisation, T* y, int width) {
  const unsigned zero = UnknownZero();
  const Pair* const own = pairs + span.FirstWord(width);
  Kept::template Store<kResults>(span, y + span.FirstElement(width), width, [&](int v) {
    float values[2];
    float weights[2];
    float biases[2];
    UnpackAgain<T>(kept.words[v], zero, values);
    own[v * (Kept::Span::kStep / 2)].Unpacked(weights, biases);
    Normalise(normalisation, weights, biases, values);
    return Pack<T>(values);
  });
}

/// What a thread has of the kernel's rows.
template <typename T, typename Shape>
struct LayerNormKept {
  using Group = typename Shape::Group;
  using Held = HeldRow<T, Shape, RowAccess::kOdd, 1>;  // of rows that are read again
  using Kept = WordsInPlace<T, Group, Shape::kBytes / 4, Shape::kFirstThatEnds>;
  using Span = typename Kept::Span;
  using Pair = KeptPair<T, Shape>;
  static_assert(!kInTwoPasses<Held, Group>);

  const LayerNormArguments& arguments;
  const Pair* pairs;
  Group group;
  RowMean<T, Group, float> mean = RowMean<T, Group, float>(arguments.reciprocal, arguments.width);
  Kept kept = {};
  RowBeginning<T, false> beginning = {};

  __device__ __forceinline__ const T* RowAt(unsigned row) const {
    return ExistingRowAt(static_cast<const T*>(arguments.table.only.inputs[kLayerNormX]), row);
  }
  __device__ __forceinline__ T* ResultAt(unsigned row) const {
    return ExistingRowAt(static_cast<T*>(arguments.table.only.outputs[kLayerNormY]), row);
  }
  __device__ __forceinline__ int Width() const { return static_cast<int>(arguments.width); }
  __device__ __forceinline__ unsigned Rows() const { return static_cast<unsigned>(arguments.total_rows); }

  __device__ __forceinline__ void Load(const Span& span, unsigned row) {
    kept.Load(span, RowAt(row) + span.FirstElement(Width()), row + 1 == Rows());
    beginning.LoadWithin(RowAt(row));
  }
  __device__ __forceinline__ void FetchRow(unsigned row) const {
    FetchAhead(RowAt(row), arguments.width * std::int64_t{sizeof(T)}, 0, 1);
  }

  /// `span()` finds a Span, `row()` the row.
  template <typename FindSpan>
  __device__ __forceinline__ Moments<float> Reduce(const FindSpan& span) {
    const auto deviations_from = [&](float first_mean) -> RowParts<Deviations<float>, 1> {
      return {{kept.DeviationsFrom(group, span(), first_mean)}};
    };
    const auto moments = MomentsOfHeld(group, kept, Width(), beginning.template Mean<float>(), mean, deviations_from);
    kept.StayPacked();
    return moments;
  }
  template <ResultsOfWords kResults, typename FindSpan, typename FindRow>
  __device__ __forceinline__ void Store(const Moments<float>& moments, const FindSpan& span, const FindRow& row) {
    if (moments.LeaveF32(arguments.epsilon)) {
      const auto its = UsualLayerNormRowAt<T>(arguments, row());
      NormaliseAgain<Held, double>(group, its, MomentsInF64<Held>(group, its), arguments.epsilon);
      return;
    }
    const Normalisation<float, float> normalisation(moments, moments.template InvStdDev<T>(arguments.epsilon));
    StoreKept<kResults>(kept, span(), pairs, normalisation, ResultAt(row()), Width());
  }

 private:
  /// (Of lanes ptxas makes slower code where it knows that there is a tensor.)
  template <typename Element>
  __device__ __forceinline__ Element* ExistingRowAt(Element* tensor, unsigned row) const {
    if constexpr (Shape::kOfBlocks) {
      __builtin_assume(tensor != nullptr);
    }
    return UsualRowAt(tensor, row, Width());
  }
};

/// Rows that lanes share.
template <typename T, typename Shape>
__device__ __forceinline__ void NormaliseByLanes(LayerNormKept<T, Shape>& own,
                                                 const AlikeRowsOfLanes<Shape::Group::kLanes>& alike, int odd) {
  using Span = typename LayerNormKept<T, Shape>::Span;
  constexpr unsigned kLanes = Shape::Group::kLanes;
  const unsigned end = min(own.Rows(), alike.end);
  const auto span = [&] { return Span(own.Width(), odd); };
  // Lanes beside others that have a row when these have none have that, too, so as to come along; they do not write.
  const unsigned before = threadIdx.x % 32 / kLanes * 2;
#pragma unroll 1
  for (unsigned next = alike.first; next - before < end; next += alike.step) {
    const unsigned index = next < end ? next : next - before;
    __syncwarp();
    own.group.Begin(true);
    own.Load(span(), index);
    if (threadIdx.x % kLanes == 0 && next + alike.step < end) {
      own.FetchRow(next + alike.step);
    }
    const auto moments = own.Reduce(span);
    if (next < end) {
      own.template Store<ResultsOfWords::kFirst>(moments, span, [&] { return index; });
    }
  }
}

/// Rows of blocks.
template <typename T, typename Shape>
__device__ __forceinline__ void NormaliseByBlock(LayerNormKept<T, Shape>& own, AlikeRowsOfBlock& alike, int odd) {
  typename LayerNormKept<T, Shape>::Span span(own.Width(), odd);
  const auto same_span = [&] { return span; };
#pragma unroll 1
  for (; alike.Row() < own.Rows(); alike.GoOn()) {
    const unsigned asked = alike.Ask();
    span.Forget();
    own.Load(span, alike.Row());
    alike.Tell(asked, [&](unsigned row) {
      if (row < own.Rows()) {
        own.FetchRow(row);
      }
    });
    const auto moments = own.Reduce(same_span);
    own.template Store<ResultsOfWords::kFirstBySome>(moments, same_span, [&] { return alike.Row(); });
  }
  alike.End();
}

/// For the usual launch. The bits are those of LayerNormResidentKernel.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kKeptThreads<Shape>, kKeptBlocks<Shape>)
    LayerNormKeptKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  extern __shared__ Granule granules_of_block[];
  auto* const pairs = reinterpret_cast<KeptPair<T, Shape>*>(granules_of_block);
  LayerNormKept<T, Shape> own{arguments, pairs, RowGrid<typename Shape::Group>::GroupOf(1, Shape::kWholeBlocks)};
  const Segment& only = arguments.table.only;
  const auto keep = [&](int odd) {
    KeepParameters(pairs, static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormWeightInput])),
                   static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormBiasInput])), own.Width(), odd, 0,
                   own.Width() / 2 + 1);
    __syncthreads();
  };
  if constexpr (Shape::kOfBlocks) {
    AlikeRowsOfBlock alike(arguments.tickets, arguments.tuning.turns);
    const auto odd = static_cast<int>(blockIdx.x & arguments.width & 1);
    if (threadIdx.x == 0 && alike.Row() < own.Rows()) {
      own.FetchRow(alike.Row());
    }
    keep(odd);
    NormaliseByBlock(own, alike, odd);
  } else {
    constexpr unsigned kLanes = Shape::Group::kLanes;
    const AlikeRowsOfLanes<static_cast<int>(kLanes)> alike(arguments.tuning.turns);
    const auto odd = static_cast<int>(alike.first & arguments.width & 1U);
    if (threadIdx.x % kLanes == 0 && alike.first < min(own.Rows(), alike.end)) {
      own.FetchRow(alike.first);
    }
    keep(odd);
    NormaliseByLanes(own, alike, odd);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_CUH_
