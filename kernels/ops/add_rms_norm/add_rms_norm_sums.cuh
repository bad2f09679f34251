// The rounded sum of two rows, as the parts of rms_norm read it.
#ifndef KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_SUMS_CUH_
#define KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_SUMS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_in_shared.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// a + b, each sum rounded to T. 16-bit elements add as they are: in f32, which has more than twice their digits, a sum
/// would be rounded to the same number, by way of twice as many registers and several times the instructions.
template <typename T, int kWords>
__device__ __forceinline__ Words<kWords> SumOf(const Words<kWords>& a, const Words<kWords>& b) {
  if constexpr (std::is_same_v<T, __half>) {
    Words<kWords> sums;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sums.words[i]) : "r"(a.words[i]), "r"(b.words[i]));
    }
    return sums;
#if __CUDA_ARCH__ >= 800
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    constexpr unsigned kOnes = 0x3F803F80U;  // there is no addition before compute capability 9.0
    Words<kWords> sums;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sums.words[i]) : "r"(a.words[i]), "r"(kOnes), "r"(b.words[i]));
    }
    return sums;
#endif
  } else {
    using Acc = AccumulatorOf<T>;
    constexpr int kLength = kElementsOf<T, Words<kWords>>;
    Acc sums[kLength];
    Acc others[kLength];
    Unpack<T>(a, sums);
    Unpack<T>(b, others);
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      sums[j] += others[j];
    }
    return Pack<T>(sums);
  }
}

/// `x` becomes the rounded sum.
template <typename Held>
__device__ __forceinline__ void AddTo(Held& x, const Held& b) {
#pragma unroll
  for (int v = 0; v < Held::kVectors; ++v) {
    x.vectors[v] = SumOf<typename Held::Element>(x.vectors[v], b.vectors[v]);
  }
}

/// The sums of a row whose summands are read again (row_again.cuh), or `sums` if they have been written, since those
/// may lie where a or b does.
template <typename T>
struct SumAgain {
  const T* a;
  const T* b;
  const T* sums;

  __device__ __forceinline__ T Element(int index) const {
    using Acc = AccumulatorOf<T>;
    return sums != nullptr ? sums[index] : Narrow<T>(Widen<Acc>(a[index]) + Widen<Acc>(b[index]));
  }
  __device__ __forceinline__ bool IsInVectors() const { return OddBytesOf(a) == 0 && OddBytesOf(b) == 0; }
  __device__ __forceinline__ Granule Vector(int index) const {
    return sums != nullptr ? LoadGranule(sums + index) : SumOf<T>(LoadGranule(a + index), LoadGranule(b + index));
  }
};

/// Rows that are moved in registers are added before that, in the usual launch; of blocks their sum, residual, is
/// written before it, too (lanes are up to 1.02 times as fast otherwise). a, b and residual begin alike (AccessOfSums).
template <typename Held, RowAccess kAccess>
inline constexpr bool kAddsAsTheyLie = Held::kCombinesAsItLies&& kInUsualLaunch<kAccess>;
template <typename Held, RowAccess kAccess, typename Group>
inline constexpr bool kStoresSumAsItLies = kAddsAsTheyLie<Held, kAccess>&& std::is_same_v<Group, BlockGroup>;

/// What remains to be done with a sum as it lies. A lane's elements are written by its warp, which sees them then.
template <RowAccess kAccess, typename Held, typename Group, typename Row>
__device__ __forceinline__ void FinishSum(const Group& group, const Row& row, Held& sum) {
  if constexpr (kStoresSumAsItLies<Held, kAccess, Group>) {
    if (row.residual != nullptr) {
      sum.StoreAsItLies(group, row.a, row.residual);
      __syncwarp();
    }
  }
  sum.template Finish<FillZero>(group, row.a, nullptr);
}

/// The reads of a row; in the end `x` is the rounded sum.
template <typename Held, RowAccess kAccess>
struct AddRmsNormLoads {
  Granule* place_of_a;
  Granule* place_of_b;
  Held x;
  Held b;

  __device__ __forceinline__ AddRmsNormLoads(Granule* a_in, Granule* b_in) : place_of_a(a_in), place_of_b(b_in) {}
  /// As that of RowLoads.
  template <typename Row, typename F>
  static __device__ __forceinline__ void ForEachSource(const Row& row, const F& f) {
    f(row.a);
    f(row.b);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    x.template Begin<FillZero>(group, row.a, place_of_a);
    b.template Begin<FillZero>(group, row.b, place_of_b);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    if constexpr (kAddsAsTheyLie<Held, kAccess>) {
      x.CombineAsTheyLie(b, SumOf<typename Held::Element, sizeof(typename Held::Unit) / 4>);
      FinishSum<kAccess>(group, row, x);
    } else {
      x.template Finish<FillZero>(group, row.a, place_of_a);
      b.template Finish<FillZero>(group, row.b, place_of_b);
      AddTo(x, b);
    }
  }
};

/// The same of plain rows, and misaligned ones, of which registers hold one: the second is added as it comes, a stretch
/// at a time.
template <typename Held, RowAccess kAccess>
struct AddRmsNormLoadsInTurn {
  Held x;

  __device__ __forceinline__ AddRmsNormLoadsInTurn(Granule* /*a_in*/, Granule* /*b_in*/) {}
  template <typename Row, typename F>
  static __device__ __forceinline__ void ForEachSource(const Row& row, const F& f) {
    f(row.a);
    f(row.b);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    x.template Begin<FillZero>(group, row.a, nullptr);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    using T = typename Held::Element;
    if constexpr (kAddsAsTheyLie<Held, kAccess>) {
      x.CombineAsItComes(group, row.b, SumOf<T, 4>);
      FinishSum<kAccess>(group, row, x);
    } else {
      AddPlain(group, row);
    }
  }

 private:
  template <typename Group, typename Row>
  __device__ __forceinline__ void AddPlain(const Group& group, const Row& row) {
    using T = typename Held::Element;
    const T* const base = Held::Pinned(row.b.data + Held::IndexOf(group, 0));
    const int left = row.b.count - Held::IndexOf(group, 0);
    constexpr int kStep = Held::template kStep<Group>;
#pragma unroll
    for (int s = 0; s < Held::kStretches; ++s) {
      Granule b[Held::kVectorsOfStretch];
#pragma unroll
      for (int i = 0; i < Held::kVectorsOfStretch; ++i) {
        const int v = s * Held::kVectorsOfStretch + i;
        b[i] = Filled<Granule>(Narrow<T>(0.0F));
        LoadGranuleIf(left > v * kStep, base + v * kStep, b[i], CachePriority::kLong);
      }
#pragma unroll
      for (int i = 0; i < Held::kVectorsOfStretch; ++i) {
        const int v = s * Held::kVectorsOfStretch + i;
        x.vectors[v] = SumOf<T>(x.vectors[v], b[i]);
      }
    }
  }
};

/// The same of rows that come by shared memory (row_staged.cuh); the second is never in registers.
template <typename Held, RowAccess kAccess>
struct AddRmsNormLoadsStaged : AddRmsNormLoads<Held, kAccess> {
  using AddRmsNormLoads<Held, kAccess>::AddRmsNormLoads;

  template <typename Group, typename Row>
  __device__ __forceinline__ void Take(const Group& group, const Row& row) {
    this->x.template Take<FillZero>(group, row.a, this->place_of_a);
    this->b.TakeInto(this->x, group, row.b, this->place_of_b,
                     SumOf<typename Held::Element, sizeof(typename Held::Unit) / 4>);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    if constexpr (kAddsAsTheyLie<Held, kAccess>) {
      FinishSum<kAccess>(group, row, this->x);
    }
  }
};

/// The sums of what lies in shared memory, made at each use.
template <typename T, typename Unit>
struct SummedUnits {
  UnitsInShared<T, Unit> a;
  UnitsInShared<T, Unit> b;

  __device__ __forceinline__ Unit operator[](int v) const { return SumOf<T>(a[v], b[v]); }
};

/// The same as a row that is held as `Plan` says: RowInShared or ShareInVectors.
template <typename Plan>
struct SumsInShared : Plan {
  SummedUnits<typename Plan::Element, typename Plan::Unit> vectors;

  __device__ __forceinline__ void StayPacked(unsigned /*zero*/ = 0) {}
};

/// As AddRmsNormLoads, of rows in shared memory.
template <typename Held>
struct AddRmsNormLoadsInShared {
  Granule* place_of_a;
  Granule* place_of_b;
  Held a;
  Held b;
  SumsInShared<Held> x;

  __device__ __forceinline__ AddRmsNormLoadsInShared(Granule* a_in, Granule* b_in)
      : place_of_a(a_in), place_of_b(b_in) {}
  template <typename Row, typename F>
  static __device__ __forceinline__ void ForEachSource(const Row& row, const F& f) {
    f(row.a);
    f(row.b);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    a.template Begin<FillZero>(group, row.a, place_of_a);
    b.template Begin<FillZero>(group, row.b, place_of_b);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    a.template Finish<FillZero>(group, row.a, place_of_a);
    b.template Finish<FillZero>(group, row.b, place_of_b);
    x.vectors = {a.vectors, b.vectors};
  }
  /// See WithSummed.
  template <typename Group, typename Row>
  __device__ __forceinline__ auto InVectors(const Group& group, const Row& row) const {
    const auto of_a = a.InVectors(group, row.a, place_of_a);
    const auto of_b = b.InVectors(group, row.b, place_of_b);
    SumsInShared<std::decay_t<decltype(of_a)>> sums;
    sums.vectors = {of_a.vectors, of_b.vectors};
    return sums;
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_SUMS_CUH_
