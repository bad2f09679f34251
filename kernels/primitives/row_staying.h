// Which clusters, and blocks, stay until no row is left, and take rows from tickets (row_tickets.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAYING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAYING_H_

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// Whether there are kernels so, where threads have so many words each: those that blocks of a cluster have. The rows
/// that they look ahead to are on their way to shared memory (row_staged.cuh). layer_norm has a way of its own, in
/// which clusters keep parameters as well (row_keeping.h).
constexpr bool HasStayingClusters(RowWork work, int element_bytes, int words) {
  return words >= 20 && work != RowWork::kMoments && element_bytes <= 4;
}

/// The same of rows that lie one after another in whole vectors, where threads have so many: of two inputs, one of
/// which is held; others look ahead.
constexpr bool HasStayingClustersInVectors(RowWork work, int vectors, bool looks_ahead) {
  return work == RowWork::kTwoInputs ? vectors >= 8 && !looks_ahead : work != RowWork::kMoments && looks_ahead;
}
/// Whether there are kernels of threads with 16 vectors of a row, in clusters that stay and look ahead to rows on their
/// way to shared memory (row_staged.cuh), for rows that are reached so; those of layer_norm keep parameters.
constexpr bool HasStagedClusters(RowWork work, int element_bytes, RowAccess access) {
  return element_bytes == 4 ? access == RowAccess::kDense || AreOfSoftmax(work)
                            : element_bytes == 2 && work == RowWork::kOneSum && access == RowAccess::kMisaligned;
}
constexpr bool HasStagedClusters(RowWork work, int element_bytes) {
  return HasStagedClusters(work, element_bytes, RowAccess::kDense) ||
         HasStagedClusters(work, element_bytes, RowAccess::kMisaligned);
}
/// The same of threads with 8 vectors, of which registers have room for more than look ahead: 20 warps of a
/// multiprocessor, not 16. They are for 16-bit rows, whose arithmetic leaves no room for 16 vectors, and for FP32 rows
/// that are moved of operators which have no room for it either.
constexpr bool HasStagedClustersOfEight(RowWork work, int element_bytes, RowAccess access) {
  if (access == RowAccess::kMisaligned) {
    return element_bytes == 4 ? work == RowWork::kTwoInputs || work == RowWork::kMoments
                              : element_bytes == 2 && AreOfSoftmax(work);
  }
  return access == RowAccess::kDense && element_bytes == 2;
}
constexpr bool HasStagedClustersOfEight(RowWork work, int element_bytes) {
  return HasStagedClustersOfEight(work, element_bytes, RowAccess::kDense) ||
         HasStagedClustersOfEight(work, element_bytes, RowAccess::kMisaligned);
}
/// The threads of the largest blocks of those 20 warps, and of any such block, of the longest rows: two at a time.
/// Their tunings look ahead and are not roomy.
inline constexpr int kThreadsOfStagedEight = 320;
inline constexpr int kMostThreadsOfStagedEight = 384;

/// Whether rows that are no whole number of vectors (AreHeldInWords) are held in vectors all the same, where blocks can
/// share them: long ones, of which clusters that stay hold so many that they leave few multiprocessors idle, up to 1.6
/// times as fast on an H200; of 16-bit layer_norm, which runs other instructions for each place that a row may begin
/// at, and of 16-bit softmax, whose words stay as they lie (row_words_unmoved.cuh), the longest only; and of FP32
/// softmax and layer_norm those that words do not hold. The order of a row's elements follows from this. Host code
/// only.
bool AreMovedInVectors(RowWork work, std::int64_t row_bytes, int element_bytes);

/// `tuning`, of `rows` odd rows of the usual launch in memory that is fast (RowDevice), and whether its clusters stay,
/// and look ahead: up to 1.25 times as fast on an H200. Host code only.
RowTuning StayForMany(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowTuning tuning);

/// The same of rows in whole vectors: up to 1.25 times as fast, or 1.5 times where tensors are misaligned. `access`: of
/// the usual launch, or misaligned. Those of layer_norm keep parameters as well; short ones of misaligned tensors have
/// a block each that stays. How a row is shared may be another than in `tuning`, which changes no order
/// (row_group.cuh). Host code only.
RowTuning StayForManyInVectors(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                               RowAccess access, RowTuning tuning);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAYING_H_
