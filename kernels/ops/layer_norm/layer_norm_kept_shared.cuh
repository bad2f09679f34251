// layer_norm of 16-bit rows that begin anywhere, and which blocks share, in large tensors where memory is fast:
// clusters stay, and the next row is on its way to shared memory while registers have this one (row_staged.cuh). Each
// block keeps the weights and biases of its share, and has rows that all begin alike, whose words are not moved
// (layer_norm_kept.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_SHARED_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_SHARED_CUH_

#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_kept.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/kept_parameters.cuh"
#include "kernels/primitives/row_beginning.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_staged.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_usual.cuh"
#include "kernels/primitives/row_words_in_place.cuh"

namespace kernelwire {

/// A warp's words of its rows, and the beginning of each, on their way.
template <typename T, typename Shape>
class StagedWordsOfWarp {
 public:
  using Own = LayerNormKept<T, Shape>;
  using Kept = typename Own::Kept;
  using Span = typename Own::Span;

  __device__ __forceinline__ explicit StagedWordsOfWarp(Granule* place) : place_(place) { Staged::Open(place); }

  /// Asks for row `row`, if there is one.
  __device__ __forceinline__ void Begin(const Own& own, const Span& span, unsigned row) {
    if (row < own.Rows()) {
      Staged::Begin(place_, [&] { return Kept::SpanOf(span, FirstWordOf(own, span, row), row + 1 == own.Rows()); });
      beginning_.LoadWithin(own.RowAt(row));
    }
  }
  /// Waits for it, which is the `turn`-th; then the next one may begin.
  __device__ __forceinline__ void Take(Own& own, const Span& span, unsigned row, unsigned turn) const {
    Staged::Await(place_, turn);
    const T* const from = FirstWordOf(own, span, row);
    own.kept.TakeFrom(span, from, Staged::CopyAt(place_, Kept::SpanOf(span, from, row + 1 == own.Rows())));
    own.beginning = beginning_;
    __syncwarp();
  }

 private:
  using Staged = StagedSpan<Kept::kMostGranulesOfSpan>;
  static __device__ __forceinline__ const T* FirstWordOf(const Own& own, const Span& span, unsigned row) {
    return own.RowAt(row) + (own.Width() - span.LeftOfWarp());
  }

  Granule* place_;
  RowBeginning<T, false> beginning_ = {};
};

/// For the usual launch. The bits are those of LayerNormResidentKernel.
template <typename T, typename Shape>
__global__ void __launch_bounds__(MostThreadsOfKeptCluster(Shape::kBytes / 4), 2)
    LayerNormKeptByClustersKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Space = HeldSpace<T, StagedWordShape<Shape>, RowAccess::kOdd, 1>;  // parameters lie behind it
  extern __shared__ Granule granules_of_block[];
  auto* const pairs =
      reinterpret_cast<KeptPair<T, Shape>*>(granules_of_block + Space::BytesOfBlock(blockDim.x) / sizeof(Granule));
  const int blocks = arguments.tuning.cluster_blocks;
  TicketRows<2> alike(arguments.tickets, blocks);
  const BlockGroup group(blocks, true);
  const int threads_before = static_cast<int>(group.block() * blockDim.x);
  constexpr int kWords = Shape::kBytes / 4;
  const int first = threads_before * kWords;
  LayerNormKept<T, Shape> own{arguments, pairs - first, group};
  const auto odd = static_cast<int>(alike.Kind() & arguments.width & 1);
  typename LayerNormKept<T, Shape>::Span span(own.Width(), odd, threads_before);
  StagedWordsOfWarp<T, Shape> staged(Space().In(0));
  staged.Begin(own, span, alike.Row());
  const Segment& only = arguments.table.only;
  KeepParameters(pairs, static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormWeightInput])),
                 static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormBiasInput])), own.Width(), odd, first,
                 first + static_cast<int>(blockDim.x) * kWords);
  __syncthreads();
  // Beside more words there are no registers for more on its way; FP16 is unpacked by other instructions.
  constexpr ResultsOfWords kResults =
      kWords > 24 || std::is_same_v<T, __half> ? ResultsOfWords::kInTurn : ResultsOfWords::kFirst;
  const auto same_span = [&] { return span; };
#pragma unroll 1
  for (; alike.HaveOneBefore(own.Rows()); alike.GoOn()) {
    alike.Ask(group);
    span.Forget();
    unsigned kind = alike.Kind();  // remembered anyway; what follows from it is found anew
    asm volatile("" : "+r"(kind));
    span.odd = (kind & static_cast<unsigned>(own.Width()) & 1U) != 0;
    const unsigned then = alike.Next();
    staged.Take(own, span, alike.Row(), alike.Turn());
    staged.Begin(own, span, then);
    const auto moments = own.Reduce(same_span);
    alike.Tell(group);
    own.template Store<kResults>(moments, same_span, [&] { return alike.Row(); });
  }
  alike.End(group);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_SHARED_CUH_
