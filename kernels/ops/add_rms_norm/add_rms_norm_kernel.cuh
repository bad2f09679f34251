// add_rms_norm on the device: the sum takes the place of rms_norm's x, in rms_norm's own parts and under its tuning, so
// that y is rms_norm of the rounded sum, bit for bit.
#ifndef KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_KERNEL_CUH_
#define KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_KERNEL_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/add_rms_norm/add_rms_norm.h"
#include "kernels/ops/add_rms_norm/add_rms_norm_sums.cuh"
#include "kernels/ops/rms_norm/rms_norm_kernel.cuh"

namespace kernelwire {

using AddRmsNormArguments = RmsNormArguments;

/// Where one row of one request lies, and what scales it. y or residual may be null: not asked for.
template <typename T, typename Out>
struct AddRmsNormRow {
  RowSource<T> a;
  RowSource<T> b;
  Out* y;
  T* residual;
  const void* weight;
  std::int64_t weight_word;

  template <typename F>
  __device__ __forceinline__ void ForEachInput(const F& f) {
    f(0, a);
    f(1, b);
  }
  template <typename F>
  __device__ __forceinline__ void ForEachOutput(const F& f) {
    f(0, y);
    f(1, residual);
  }
};

template <typename T, typename Out>
__device__ __forceinline__ AddRmsNormRow<T, Out> AddRmsNormRowAt(const AddRmsNormArguments& arguments,
                                                                 std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> AddRmsNormRow<T, Out> {
    const std::int64_t index = row - segment.first_row;
    auto* const y = static_cast<Out*>(segment.outputs[kAddRmsNormY]);
    auto* const residual = static_cast<T*>(segment.outputs[kAddRmsNormResidual]);
    return {RowSourceAt<T>(segment.inputs[kAddRmsNormA], index, segment.rows, segment.extents[kRowStrideX],
                           arguments.width),
            RowSourceAt<T>(segment.inputs[kAddRmsNormB], index, segment.rows, segment.extents[kRowStrideB],
                           arguments.width),
            y == nullptr ? nullptr : y + index * segment.extents[kRowStrideY],
            residual == nullptr ? nullptr : residual + index * segment.extents[kRowStrideResidual],
            segment.inputs[kAddRmsNormWeightInput],
            segment.extents[kRowWeight]};
  });
}

/// The same in the usual launch.
template <typename T>
__device__ __forceinline__ AddRmsNormRow<T, T> UsualAddRmsNormRowAt(const AddRmsNormArguments& arguments,
                                                                    std::int64_t row) {
  const Segment& only = arguments.table.only;
  return {UsualSourceAt<T>(only.inputs[kAddRmsNormA], row, arguments.total_rows, arguments.width),
          UsualSourceAt<T>(only.inputs[kAddRmsNormB], row, arguments.total_rows, arguments.width),
          UsualRowAt(static_cast<T*>(only.outputs[kAddRmsNormY]), row, arguments.width),
          UsualRowAt(static_cast<T*>(only.outputs[kAddRmsNormResidual]), row, arguments.width),
          UsualParameterAt(only.inputs[kAddRmsNormWeightInput]),
          kUsualParameter<T>};
}

/// See HasSmallBlocks. What ptxas spilled of 64 registers cost an eighth of the time.
template <typename Shape, RowAccess kAccess>
inline constexpr bool kInSmallBlocks =
    Shape::kOfBlocks && !Shape::kOfWords && Shape::kBytes == 64 && HasSmallBlocks(RowWork::kTwoInputs, kAccess);

/// Rows that registers hold: each is read once, and written after all of it has been read.
///
/// `kFew`: there are too few rows for other warps to hide the way of the weights, so there are registers for them while
/// a and b are on their way.
template <typename T, typename Shape, RowAccess kAccess, bool kFew>
__global__ void __launch_bounds__(kInSmallBlocks<Shape, kAccess> ? kMostThreadsOfSmallBlock
                                                                 : Shape::BlockThreads(kAccess),
                                  kFew ? 1
                                  : kInSmallBlocks<Shape, kAccess>
                                      ? 3
                                      : Shape::ResidentBlocks(kAccess, Shape::template kThreadsOfLanes<true>))
    AddRmsNormResidentKernel(const __grid_constant__ AddRmsNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess, 2>;
  constexpr bool kInTurn = !Shape::kOfWords && Shape::kBytes > 128;
  using InRegisters = std::conditional_t<kInTurn, AddRmsNormLoadsInTurn<Held, kAccess>, AddRmsNormLoads<Held, kAccess>>;
  using Loads =
      std::conditional_t<Held::kInShared, AddRmsNormLoadsInShared<Held>,
                         std::conditional_t<Shape::kStaged, AddRmsNormLoadsStaged<Held, kAccess>, InRegisters>>;
  const int blocks = arguments.tuning.cluster_blocks;
  const int width = static_cast<int>(arguments.width);
  TicketsOf<Shape> tickets(arguments.tickets, blocks);
  auto group = RowGrid<typename Shape::Group>::GroupOf(blocks, Shape::kWholeBlocks);
  const RowMean<T, typename Shape::Group, Acc> mean(arguments.reciprocal, width);
  const HeldSpace<T, Shape, kAccess, 2> space;
  const Loads begin(space.In(0), space.In(1));
  const auto row_at = [&](std::int64_t index) {
    if constexpr (kInUsualLaunch<kAccess>) {
      return UsualAddRmsNormRowAt<T>(arguments, index);
    } else {
      return AddRmsNormRowAt<T, T>(arguments, index);
    }
  };
  // In shared memory: registers do not hold two more rows.
  constexpr bool kAhead = Shape::kStaged || (kAccess == RowAccess::kShifted && Shape::kLooksAhead);
  ForEachRow<kAhead, kAccess>(
      group, tickets, arguments.tuning, arguments.total_rows, row_at, space, begin,
      [&](const auto& begun, Loads& loads, const auto& again) {
        auto row = begun;
        DeviceParameter<Held, Acc, kAccess> weight(row.weight_word, row.weight, Acc{1});
        // Beside two FP16 rows registers do not hold them: ptxas spills. Nor do they in words of blocks, which find the
        // row again rather than remember it.
        constexpr bool kFindsAgain = Shape::kOfWords && Shape::kOfBlocks;
        constexpr bool kFetch = Shape::kBytes <= 64 && (kFew || !std::is_same_v<T, __half>)&&!kFindsAgain;
        if (kFetch) {
          weight.Prefetch(group, width);
        }
        loads.x.StayPacked(sizeof(T) == 2 ? UnknownZero() : 0);
        const auto sum = WithSummed<Shape>(
            group, loads, row, [&](const auto& summed) { return TotalOfSquares<T>(group, SumOfSquares<Acc>(summed)); });
        tickets.Tell(group);
        const RmsFactor<T, Acc> scale(mean(sum), arguments.epsilon);
        loads.x.StayPacked();
        if constexpr (kFindsAgain) {
          row = again();
          weight.FindAgain(row.weight_word, row.weight);
        } else {
          weight.StayPacked();
        }
        if constexpr (Held::kStoresTogether && !kInUsualLaunch<kAccess>) {
          group.PartIf(row.y == nullptr || row.residual == nullptr);
        }
        constexpr bool kStored = kStoresSumAsItLies<Held, kAccess, typename Shape::Group>;
        if (row.y != nullptr) {
          const SumAgain<T> sums{row.a.data, row.b.data, kStored ? row.residual : nullptr};
          StoreRmsNorm<SummedRow<Shape, Held>, kFetch>(group, loads.x, weight, scale, row, width, arguments.epsilon.f64,
                                                       space.Out(), sums);
        }
        if (!kStored && row.residual != nullptr) {
          Held::Store(group, row.residual, width, space.Out(), [&](int v, int) { return loads.x.vectors[v]; });
        }
      });
}

/// The sums as StreamRmsNorm reads them. Where residual is asked for, they are written there when they are first made
/// and read there afterwards (`written`), since a caller may have placed residual where b lies.
template <typename T, StreamAccess kAccess>
struct StreamedSums {
  using Element = T;
  using Held = StreamHeld<T, kAccess>;
  static constexpr bool kAhead = kAsksAhead<kAccess>;

  struct Asked {
    Held x;  // the sums, where they are written, else a
    Held b;
  };

  RowSource<T> a;
  RowSource<T> b;
  T* residual;
  StreamSpace<T, kAccess, 2> space;
  CachePriority priority;
  bool written;

  __device__ __forceinline__ void Passed(bool passed) { written = passed && residual != nullptr; }

  __device__ __forceinline__ Asked Ask(const BlockGroup& group, const RowPart& part, std::int64_t first,
                                       int count) const {
    Asked asked{};
    asked.x = InputAt(0).Ask(group, part, first, count);
    if (!written) {
      asked.b = InputAt(1).Ask(group, part, first, count);
    }
    return asked;
  }
  __device__ __forceinline__ Held Get(const BlockGroup& group, const Asked& asked, std::int64_t first,
                                      int count) const {
    Held sums = InputAt(0).Get(group, asked.x, first, count);
    if (written) {
      return sums;
    }
    AddTo(sums, InputAt(1).Get(group, asked.b, first, count));
    if (residual != nullptr) {
      Held::Store(group, residual + first, count, space.Out(), [&](int v, int) { return sums.vectors[v]; });
    }
    return sums;
  }
  __device__ __forceinline__ T ElementAt(std::int64_t at) const {
    if (written) {
      return residual[at];
    }
    using Acc = AccumulatorOf<T>;
    return Narrow<T>(Widen<Acc>(a.data[at]) + Widen<Acc>(b.data[at]));
  }

 private:
  __device__ __forceinline__ StreamedRow<T, FillZero, kAccess> InputAt(int input) const {
    const RowSource<T> first = written ? RowSource<T>{residual, a.count, a.has_before, a.has_after} : a;
    return {input == 0 ? first : b, space.In(input), priority};
  }
};

/// Rows of any width, and results of any type: a and b, or the sums, are read twice.
template <typename T, typename Out, StreamAccess kAccess>
__global__ void __launch_bounds__(kMostThreadsOfStream<kAccess>, StreamsAtATime<kAccess>(2, 2))
    AddRmsNormStreamKernel(const __grid_constant__ AddRmsNormArguments arguments, const StreamedRows rows) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T, Out>;
  const RowTuning& tuning = arguments.tuning;
  BlockGroup group(1);
  const StreamSpace<T, kAccess, 2> space;
  ForEachRange<T, kAsksAhead<kAccess>>(
      tuning.parts, rows, arguments.width, [&](std::int64_t index, const RowPart& range, StreamPass pass) {
        const auto row = AddRmsNormRowAt<T, Out>(arguments, index);
        const PartTotals<double> totals(arguments.table, arguments.tickets, tuning.parts, rows, index);
        if constexpr (kAsksAhead<kAccess>) {
          if (pass == StreamPass::kResults && row.residual != nullptr) {
            const RowSource<T> sums{row.residual, row.a.count, row.a.has_before, row.a.has_after};
            const StreamedX<T, kAccess> source{{sums, nullptr, PriorityOfResults(tuning)}, true};
            ScaleAhead<Acc>(group, source, row, range, totals, arguments.epsilon, PriorityOfResults(tuning));
            return;
          }
        }
        StreamedSums<T, kAccess> source{row.a,
                                        row.b,
                                        row.residual,
                                        space,
                                        PriorityOfResults(tuning),  // a and b are read once
                                        pass == StreamPass::kResults && row.residual != nullptr};
        StreamRmsNorm<Acc>(group, source, row, range, pass, tuning, totals, arguments.epsilon, space.Out());
      });
}

template <typename T, bool kFew>
struct AddRmsNormKernels {
  static constexpr RowWork kWork = RowWork::kTwoInputs;
  static constexpr int kInputs = 2;
  static constexpr bool kUsual = sizeof(T) <= 4;
  template <typename Shape, RowAccess kAccess>
  static constexpr auto kHeld =
      &AddRmsNormResidentKernel<T, Shape, kAccess, kFew && InVectors(kAccess) && Shape::kBytes <= 64>;
  template <typename Out, StreamAccess kAccess>
  static constexpr auto kStreamed = &AddRmsNormStreamKernel<T, Out, kAccess>;
};

/// Launches rows of type T with results of any type.
template <typename T>
cudaError_t LaunchAddRmsNormRows(DataType y_type, RowAccess access, const AddRmsNormArguments& arguments,
                                 cudaStream_t stream) {
  const std::int64_t rows = arguments.total_rows;
  const std::int64_t row_bytes = arguments.width * static_cast<std::int64_t>(sizeof(T));
  const bool few = sizeof(T) == 2 ? AreFewRows(row_bytes, rows) : AreSomeRows(row_bytes, rows);
  return InVectors(access) && few
             ? LaunchRowsOf<T, AddRmsNormKernels<T, true>>(y_type, access, rows, arguments, stream)
             : LaunchRowsOf<T, AddRmsNormKernels<T, false>>(y_type, access, rows, arguments, stream);
}

// A file each, so that they compile side by side.
extern template cudaError_t LaunchAddRmsNormRows<__half>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchAddRmsNormRows<__nv_bfloat16>(DataType, RowAccess, const AddRmsNormArguments&,
                                                                cudaStream_t);
extern template cudaError_t LaunchAddRmsNormRows<float>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);
extern template cudaError_t LaunchAddRmsNormRows<double>(DataType, RowAccess, const AddRmsNormArguments&, cudaStream_t);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_KERNEL_CUH_
