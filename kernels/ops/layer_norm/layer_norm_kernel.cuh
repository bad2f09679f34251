// layer_norm on the device: the kernel for rows that registers hold, and the launch of this one and of that for all
// others (layer_norm_stream.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_again.cuh"
#include "kernels/ops/layer_norm/layer_norm_held.cuh"
#include "kernels/ops/layer_norm/layer_norm_kept.cuh"
#include "kernels/ops/layer_norm/layer_norm_kept_shared.cuh"
#include "kernels/ops/layer_norm/layer_norm_kept_vectors.cuh"
#include "kernels/ops/layer_norm/layer_norm_kept_wide.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/ops/layer_norm/layer_norm_stream.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_parameter.cuh"
#include "kernels/primitives/row_parameter_wide.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// With parameters of its type. `kAtOnce`: how many vectors of each are asked for at a time, 0 if all have been asked
/// for already; `kBegun`: how many have.
template <int kAtOnce, int kBegun, typename Held, typename Group, typename Row, typename Parameter, typename Acc,
          typename Factor>
__device__ __forceinline__ void StoreNormalised(const Group& group, const Held& held, const Row& row, Parameter& weight,
                                                Parameter& bias, const Normalisation<Acc, Factor>& normalisation,
                                                Granule* out) {
  const int count = row.x.count;
  using Values = Acc(&)[Held::kLength];
  const auto store = [&](const auto& parameters) {
    StoreNormalisedBy(group, held, row, normalisation, out, parameters);
  };
  if constexpr (kAtOnce == 0) {
    store([&](int v, Values weights, Values biases, auto...) {
      weight.FetchedValues(v, weights);
      bias.FetchedValues(v, biases);
    });
  } else {
    // Known where parameters are read, so that it takes no branch there.
    store([&](int v, Values weights, Values biases, auto... full) {
      constexpr bool kFull = sizeof...(full) > 0;
      if (v % kAtOnce == 0) {
        if (v == 0) {
          weight.template Fetch<kAtOnce, kFull, kBegun>(group, v, count);
          bias.template Fetch<kAtOnce, kFull, kBegun>(group, v, count);
        } else {
          weight.template Fetch<kAtOnce, kFull>(group, v, count);
          bias.template Fetch<kAtOnce, kFull>(group, v, count);
        }
        weight.template FetchRest<kAtOnce>(group, v, count);
        bias.template FetchRest<kAtOnce>(group, v, count);
      }
      weight.template FetchedValues<kAtOnce>(v, weights);
      bias.template FetchedValues<kAtOnce>(v, biases);
    });
  }
}

/// With parameters of f32, or one element for all, or none.
template <typename Wide, typename Held, typename Group, typename Row, typename Acc, typename Factor>
__device__ __forceinline__ void StoreNormalisedByWide(const Group& group, const Held& held, const Row& row,
                                                      const Normalisation<Acc, Factor>& normalisation, Granule* out) {
  Wide weight(row.weight_word, row.weight, Acc{1});
  Wide bias(row.bias_word, row.bias, Acc{0});
  StoreNormalisedBy(group, held, row, normalisation, out,
                    [&](int v, Acc(&weights)[Held::kLength], Acc(&biases)[Held::kLength], auto...) {
                      if (v % Wide::kAtOnce == 0) {
                        weight.Fetch(group, v, row.x.count);
                        bias.Fetch(group, v, row.x.count);
                      }
                      weight.FetchedValues(v, weights);
                      bias.FetchedValues(v, biases);
                    });
}

/// Where a held row finds the bias that was left out beside its weight: memory that nobody writes, so that it is zeros
/// from the first use of the device on. Each file of kernels has its own.
static __device__ Granule zeros_of_row[kLongestHeldRow / sizeof(Granule)];

/// How many threads a multiprocessor has at a time, where lanes have rows. In the usual launch fewer registers are
/// enough, and more threads hide more of what rows wait for between so many instructions (up to 6 % of the time on an
/// H200).
template <typename Shape, RowAccess kAccess>
inline constexpr int kThreadsOfLanes =
    Shape::kOfWords || !kInUsualLaunch<kAccess> ? Shape::template kThreadsOfLanes<true>
    : Shape::kBytes == 64                       ? 1024
    : Shape::kBytes == 48                       ? 1152
                                                : 1280;

/// How much a thread asks for of each parameter at a time. More would take registers from the row; where shared memory
/// has that, each time is a way to the second-level cache and back that few other warps hide.
template <typename Shape, typename Held>
inline constexpr int kParameterBytes = Shape::kInShared || (Shape::kLooksAhead && !Held::kMoves) ? 64 : 32;

/// Rows that registers hold: each is read once, and written after all of it has been read.
///
/// `kFew`: there are too few rows for other warps to hide the way of weights and biases, so they are asked for before
/// the reduction. Where there are many, that would only take the registers that let more warps run, and a row of a
/// block is found again rather than remembered.
template <typename T, typename Shape, RowAccess kAccess, bool kFew>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess),
                                  kFew ? 1 : Shape::ResidentBlocks(kAccess, kThreadsOfLanes<Shape, kAccess>))
    LayerNormResidentKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess, 1>;
  using Summed = SummedRow<Shape, Held>;
  using Loads = LayerNormLoads<Held>;
  using Parameter = DeviceParameter<Held, Acc, kAccess, true>;
  using Wide = WideParameter<Held, Acc, std::is_same_v<typename Held::Unit, Word> ? 2 : 1>;  // of two, beside the row
  const int blocks = arguments.tuning.cluster_blocks;
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks, Shape::kWholeBlocks);
  const RowMean<T, typename Shape::Group, Acc> mean(arguments.reciprocal, arguments.width);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualLayerNormRowAt<T>(arguments, index);
    } else {
      return LayerNormRowAt<T, T>(arguments, index);
    }
  };
  constexpr bool kAhead = Shape::kLooksAhead;
  constexpr bool kFindsAgain = Shape::kOfBlocks && !kAhead && !kFew;
  constexpr int kMost = kParameterBytes<Shape, Held> / static_cast<int>(sizeof(typename Held::Unit));
  constexpr int kAtOnce = kFew ? 0 : kMost < Parameter::kTogether ? kMost : Parameter::kTogether;
  // As many as registers are left for are on their way during the reduction.
  constexpr bool kBegins = kInUsualLaunch<kAccess> && Shape::kOfBlocks && !Shape::kOfWords && Shape::kBytes > 64;
  constexpr int kBegun = !kBegins ? 0 : sizeof(T) == 2 && kAtOnce > 2 ? 2 : kAtOnce;
  const auto finish = [&](const auto& begun, Loads& loads, const auto& again) {
    auto row = begun;
    Parameter weight(row.weight_word, row.weight, Acc{1});
    Parameter bias(row.bias_word, row.bias, Acc{0});
    if constexpr (kFew) {
      weight.Prefetch(group, row.x.count);
      bias.Prefetch(group, row.x.count);
    } else if constexpr (kBegun > 0) {
      weight.template Prefetch<kBegun>(group, row.x.count);
      bias.template Prefetch<kBegun>(group, row.x.count);
    }
    const auto moments = WithSummed<Shape>(group, loads, row, [&](auto& summed) {
      return MomentsOf<Acc>(group, summed, loads.beginning, row.x.count, mean);
    });
    loads.x.StayPacked();
    if constexpr (kFindsAgain) {
      row = again();
      weight.FindAgain(row.weight_word, row.weight);
      bias.FindAgain(row.bias_word, row.bias);
    }
    // Code of its own for such requests would take registers from all, and earlier this would keep the row waiting.
    if constexpr (!kInUsualLaunch<kAccess>) {
      bias.ReadFromIfAbsent(zeros_of_row);
    }
    const bool is_held = !moments.LeaveF32(arguments.epsilon) && row.y != nullptr;
    const bool is_same = is_held && weight.IsOfSameType() && bias.IsOfSameType();
    const bool is_wide = kHasWide<Held, decltype(group)> && is_held && !is_same &&
                         Wide::Suits(row.weight_word, row.weight) && Wide::Suits(row.bias_word, row.bias);
    if constexpr (Held::kStoresTogether) {
      group.PartUnlessAll(is_same, is_wide);
    }
    if (is_same || is_wide) {
      const auto inv_std_dev = moments.template InvStdDev<T>(arguments.epsilon);
      StoreStatistics(group, row, moments, inv_std_dev);
      const Normalisation<Acc, std::decay_t<decltype(inv_std_dev)>> normalisation(moments, inv_std_dev);
      if (is_same) {
        StoreNormalised<kAtOnce, kBegun>(group, loads.x, row, weight, bias, normalisation, space.Out());
      } else {
        StoreNormalisedByWide<Wide>(group, loads.x, row, normalisation, space.Out());
      }
    } else if (moments.LeaveF32(arguments.epsilon)) {
      NormaliseAgain<Held, double>(group, row, MomentsInF64<Summed>(group, row), arguments.epsilon);
    } else {
      NormaliseAgain<Held, Acc>(group, row, moments, arguments.epsilon);
    }
  };
  ForEachRow<kAhead, kAccess>(group, NoTickets{}, arguments.tuning, arguments.total_rows, row_at, space,
                              Loads(space.In(0)), finish);
}

template <typename T, bool kFew>
struct LayerNormKernels {
  static constexpr RowWork kWork = RowWork::kMoments;
  static constexpr int kInputs = 1;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld =
      &LayerNormResidentKernel<T, Shape, kAccess,
                               kFew && InVectors(kAccess) && Shape::kBytes <= 64 && !Shape::kReadsMuch>;
  template <typename Shape>
  static constexpr auto kKept = &LayerNormKeptKernel<T, Shape>;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto KeptByClusters() {
    if constexpr (!Shape::kOfWords) {
      return &LayerNormVectorsKeptKernel<T, Shape, kAccess>;
    } else if constexpr (sizeof(T) == 4) {
      return &LayerNormWideKeptKernel<Shape>;
    } else {
      return &LayerNormKeptByClustersKernel<T, Shape>;
    }
  }
  template <typename Shape>
  static constexpr std::size_t kPairBytes = sizeof(KeptPair<T, Shape>);
  template <typename Out, StreamAccess kAccess>
  static constexpr auto kStreamed = &LayerNormStreamKernel<T, Out, kAccess>;
};

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchLayerNormRows(DataType y_type, RowAccess access, const LayerNormArguments& arguments,
                                cudaStream_t stream) {
  const std::int64_t rows = arguments.total_rows;
  return InVectors(access) && AreFewRows(arguments.width * static_cast<std::int64_t>(sizeof(T)), rows)
             ? LaunchRowsOf<T, LayerNormKernels<T, true>>(y_type, access, rows, arguments, stream)
             : LaunchRowsOf<T, LayerNormKernels<T, false>>(y_type, access, rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchLayerNormRows<__half>(DataType, RowAccess, const LayerNormArguments&, cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<__nv_bfloat16>(DataType, RowAccess, const LayerNormArguments&,
                                                               cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<float>(DataType, RowAccess, const LayerNormArguments&, cudaStream_t);
extern template cudaError_t LaunchLayerNormRows<double>(DataType, RowAccess, const LayerNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KERNEL_CUH_
