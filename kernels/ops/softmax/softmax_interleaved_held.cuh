// Interleaved rows of up to 128 elements on the device: read once, and held in registers.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_HELD_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_HELD_CUH_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/ops/softmax/softmax_interleaved_share.h"
#include "kernels/ops/softmax/softmax_result.cuh"
#include "kernels/ops/softmax/softmax_row.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// All rows of a launch, a few neighbours of a piece to a unit.
struct InterleavedUnits {
  std::int64_t of_piece;
  std::int64_t count;  // of the launch

  struct Place {
    std::int64_t piece;
    std::int64_t number;  // of the piece
  };
  __device__ __forceinline__ Place PlaceOf(std::int64_t unit) const {
    // 32 bits mostly are enough, and are divided in a fifth of the time.
    const std::int64_t piece = (unit | of_piece) >> 32 == 0
                                   ? static_cast<std::uint32_t>(unit) / static_cast<std::uint32_t>(of_piece)
                                   : unit / of_piece;
    return {piece, unit - piece * of_piece};
  }
};

/// Which of a block's units a thread has, and which part of it.
template <int kParts>
struct InterleavedThread {
  static constexpr int kUnits = kParts == 1 ? 128 : 32;  // of a block
  static constexpr int kThreads = kUnits * kParts;

  int lane = static_cast<int>(threadIdx.x) % kUnits;
  int part = static_cast<int>(threadIdx.x) / kUnits;
};

/// What a thread holds of kRows neighbouring rows: elements part, part + kParts, ... of each.
template <typename T, int kParts, int kHeld, int kRows>
struct HeldInterleaved {
  using Acc = AccumulatorOf<T>;
  using Unit = Vector<T, kRows>;
  static constexpr int kGroup = 8;  // elements whose exponentials are added in Acc; groups in f64

  Unit held[kHeld];

  /// `x`: the first of the rows' first elements. `count`: elements of a row that are there.
  __device__ __forceinline__ void Load(const T* x, int part, int count, std::int64_t inner) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
#pragma unroll
      for (T& value : held[i].values) {
        value = Narrow<T>(kMinusInfinity<Acc>);
      }
      const int at = part + i * kParts;
      if (at < count) {
        held[i] = *reinterpret_cast<const Unit*>(x + at * inner);
      }
    }
  }

  __device__ __forceinline__ Acc Maximum(int row) const {
    Acc maximum = kMinusInfinity<Acc>;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      maximum = fmax(maximum, Widen<Acc>(held[i].values[row]));
    }
    return maximum;
  }

  /// Of exponentials below `offset`, which take the elements' places if that is what becomes of them (kKeep). `width`:
  /// of a whole row.
  template <bool kKeep>
  __device__ __forceinline__ double Sum(int row, Acc offset, std::int64_t width) {
    double sum = 0.0;
#pragma unroll
    for (int group = 0; group < kHeld / kGroup; ++group) {
      if (group * kGroup * kParts < width) {
        Acc of_group{0};
#pragma unroll
        for (int i = 0; i < kGroup; ++i) {
          const int at = group * kGroup + i;
          if (sizeof(T) < 8 || at * kParts < width) {  // an exponential in f64 takes longer than a branch
            const Acc exponential = ScaledExp<T>(Widen<Acc>(held[at].values[row]) - offset);
            of_group += exponential;
            if constexpr (kKeep) {
              held[at].values[row] = exponential;
            }
          }
        }
        sum += static_cast<double>(of_group);
      }
    }
    return sum * (1.0 / kExpScale<T>);
  }

  /// result(row, value) of each.
  template <typename F>
  __device__ __forceinline__ void Store(const F& result, int part, int count, std::int64_t inner, T* y) const {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int at = part + i * kParts;
      if (at < count) {
        Unit unit;
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
          unit.values[row] = Narrow<T>(result(row, Widen<Acc>(held[i].values[row])));
        }
        *reinterpret_cast<Unit*>(y + at * inner) = unit;
      }
    }
  }
};

/// values[row] of all parts combined, in order: in all of them. Requires: another kind of values is combined before the
/// next of this one, so that nobody still reads these when others write.
template <int kParts, typename Value, int kRows, typename Combine>
__device__ __forceinline__ void CombineInterleaved(const InterleavedThread<kParts>& thread, Value (&values)[kRows],
                                                   const Combine& combine) {
  if constexpr (kParts > 1) {
    __shared__ Value of_parts[kParts][kRows][InterleavedThread<kParts>::kUnits];
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      of_parts[thread.part][row][thread.lane] = values[row];
    }
    __syncthreads();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      Value value = of_parts[0][row][thread.lane];
#pragma unroll
      for (int i = 1; i < kParts; ++i) {
        value = combine(value, of_parts[i][row][thread.lane]);
      }
      values[row] = value;
    }
  }
}

/// Whether exponentials, which the sum is made of, are kept for the results: where they are as exact as if they were
/// computed again, and that takes longer than to have them wait. (An H100 loses up to a tenth with FP32 rows of more
/// than 8 elements, and where threads share a row.)
template <typename T, bool kLog, int kParts, int kHeld>
inline constexpr bool kKeepsExponentials =
    !kLog && std::is_same_v<T, AccumulatorOf<T>> && kParts == 1 && (sizeof(T) == 8 || kHeld == 8);

/// Rows that registers hold, kRows neighbours a thread. Parts agree on a row's maximum first, so that each exponential
/// is below that of the whole row.
template <typename T, bool kLog, int kParts, int kHeld, int kRows>
__global__ void __launch_bounds__(InterleavedThread<kParts>::kThreads)
    SoftmaxInterleavedHeldKernel(const __grid_constant__ SoftmaxArguments arguments, const InterleavedUnits units) {
  AwaitEarlierWork(arguments);
  using Acc = AccumulatorOf<T>;
  using Result = SoftmaxResult<kLog, T, Acc>;
  constexpr bool kKeep = kKeepsExponentials<T, kLog, kParts, kHeld>;
  const InterleavedThread<kParts> thread;
  const std::int64_t step = std::int64_t{gridDim.x} * thread.kUnits;
  for (std::int64_t first = std::int64_t{blockIdx.x} * thread.kUnits; first < units.count; first += step) {
    const bool there = first + thread.lane < units.count;
    const auto place = units.PlaceOf(there ? first + thread.lane : first);
    const auto piece = SoftmaxRowAt<T, T>(arguments, place.piece);
    const int count = there ? static_cast<int>(arguments.width) : 0;
    static_assert(kRows <= 2);
    HeldInterleaved<T, kParts, kHeld, kRows> held;
    held.Load(piece.x.data + place.number * kRows, thread.part, count, arguments.inner);
    Acc maxima[kRows];
    double sums[kRows];
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      maxima[row] = held.Maximum(row);
    }
    CombineInterleaved(thread, maxima, [](Acc a, Acc b) { return fmax(a, b); });
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      sums[row] = held.template Sum<kKeep>(row, SoftmaxOffset(maxima[row]), arguments.width);
    }
    CombineInterleaved(thread, sums, [](double a, double b) { return a + b; });
    const Result first_row(RunningSoftmax<Acc>{maxima[0], sums[0]});
    const Result last_row(RunningSoftmax<Acc>{maxima[kRows - 1], sums[kRows - 1]});
    const auto result = [&](int row, Acc value) {
      const Result& own = row == 0 ? first_row : last_row;
      if constexpr (kKeep) {
        return own.Quotient(value);
      } else {
        return own(value);
      }
    };
    held.Store(result, thread.part, count, arguments.inner, piece.y + place.number * kRows);
  }
}

/// `kernel` over all rows, `rows` of them a unit.
template <int kParts, typename Kernel>
cudaError_t LaunchInterleaved(Kernel kernel, const SoftmaxArguments& arguments, int rows, cudaStream_t stream) {
  using Thread = InterleavedThread<kParts>;
  const std::int64_t of_piece = arguments.inner / rows;
  const InterleavedUnits units{of_piece, arguments.pieces * of_piece};
  LaunchShape shape;
  shape.threads = Thread::kThreads;
  shape.blocks = std::min((units.count + Thread::kUnits - 1) / Thread::kUnits, kMostBlocksOfGrid);
  return LaunchKernel(kernel, shape, stream, arguments, units);
}

/// Rows that registers hold.
template <typename T, bool kLog, int kRows>
cudaError_t LaunchHeldInterleaved(const InterleavedShare& share, const SoftmaxArguments& arguments,
                                  cudaStream_t stream) {
  constexpr int kMost = InterleavedShare::kMostParts;
  if (share.parts == kMost) {
    return LaunchInterleaved<kMost>(&SoftmaxInterleavedHeldKernel<T, kLog, kMost, 8, kRows>, arguments, kRows, stream);
  }
  static_assert(InterleavedShare::kStep == 8 && InterleavedShare::kMostHeldAlone == 32);
  const auto launch = [&](auto kernel) { return LaunchInterleaved<1>(kernel, arguments, kRows, stream); };
  switch (share.held) {
    case 8:
      return launch(&SoftmaxInterleavedHeldKernel<T, kLog, 1, 8, kRows>);
    case 16:
      return launch(&SoftmaxInterleavedHeldKernel<T, kLog, 1, 16, kRows>);
    case 24:
      return launch(&SoftmaxInterleavedHeldKernel<T, kLog, 1, 24, kRows>);
    default:
      return launch(&SoftmaxInterleavedHeldKernel<T, kLog, 1, 32, kRows>);
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_HELD_CUH_
