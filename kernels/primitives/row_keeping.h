// Which rows blocks work on one after another, and keep the parameters of (kept_parameters.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEEPING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEEPING_H_

#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// Whether there are kernels so for rows in words of so many lanes: of layer_norm, which has two parameters and does
/// most with them, where elements are halves of words. Shorter rows, which fewer lanes share, are as fast without.
constexpr bool HasKeptParameters(RowWork work, int element_bytes, int lanes) {
  return work == RowWork::kMoments && element_bytes == 2 && lanes >= 16;
}

/// The same for clusters of blocks of up to so many threads with so many words each; they stay (row_tickets.cuh), and
/// the next row is on its way (row_staged.cuh).
constexpr bool HasKeptClusters(RowWork work, int element_bytes, int words, int threads) {
  const bool has_room = words <= 36 ? words * threads <= 28 * 384 : element_bytes == 4;
  return work == RowWork::kMoments && element_bytes <= 4 && words >= 20 && has_room;
}
/// The most threads of a block of those. Two of that many, or as many more smaller ones, are what leaves each thread
/// the registers that it wants.
constexpr int MostThreadsOfKeptCluster(int words) { return words > 28 ? 256 : words > 24 ? 320 : 384; }

/// The same for rows that lie one after another in whole vectors, and are looked ahead to.
constexpr bool HasKeptClustersInVectors(RowWork work, int element_bytes, bool looks_ahead) {
  return work == RowWork::kMoments && element_bytes <= 4 && looks_ahead;
}

/// Parameters of FP32 rows take twice a row's space. Of rows so long that threads have this many words, or 16 vectors
/// in blocks of this size, weights are in registers: shared memory has room for two shares on their way, and biases.
constexpr bool HaveWeightsInRegisters(int words) { return words > 36; }
inline constexpr int kMostThreadsBesideWeights = 192;

/// The threads of a block that keeps parameters and whose lanes have so many words of rows of their own.
constexpr int ThreadsOfKeptBlock(int words) { return words < 16 ? 256 : 128; }

/// `tuning`, of `rows` rows of the usual launch in memory that is fast (RowDevice), and how blocks have them that keep
/// their parameters, where that is faster: of no whole number of vectors, in large tensors, up to 1.2 times on an H200.
/// The order of a row's elements is that of `tuning`. Host code only.
RowTuning KeepParametersOfMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowTuning tuning);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_KEEPING_H_
