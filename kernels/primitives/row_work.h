// How the host shares the rows of a launch among threads: whole rows, or, where a launch has but a few long ones, parts
// of a row.
//
// A row is always summed part by part, whoever does it: its parts follow from its width alone, each gives a partial
// result, and these are merged in order. So the bits are the same whether one thread or many worked on it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/core/operator.h"
#include "kernels/primitives/row_operator.h"

namespace kernelwire {

/// The parts of a row: multiples of kMultiple elements, at most kMost of them.
struct PartsOfRow {
  static constexpr std::int64_t kMultiple = 32768;
  static constexpr std::int64_t kMost = 64;

  std::int64_t width = 0;
  std::int64_t length = kMultiple;  // of each but the last

  explicit PartsOfRow(std::int64_t row_width) : width(row_width) {
    const std::int64_t multiples = (width + kMultiple * kMost - 1) / (kMultiple * kMost);
    length = std::max<std::int64_t>(1, multiples) * kMultiple;
  }
  /// At least 1: an empty row is one empty part.
  std::int64_t count() const { return std::max<std::int64_t>(1, (width + length - 1) / length); }
  std::int64_t Begin(std::int64_t part) const { return part * length; }
  std::int64_t End(std::int64_t part) const { return std::min(width, (part + 1) * length); }
};

/// Room for what an operator knows of a row, or of a part of it.
struct alignas(8) RowCell {
  std::byte bytes[32];
};

/// An operator's row-wise work, as functions of the processor's vector unit (row_work-inl.h makes them). Rows are those
/// of the launch.
struct RowFunctions {
  /// Rows [begin, end), from their elements to their results.
  void (*rows)(const Launch& launch, std::int64_t begin, std::int64_t end);
  // Or the same in three steps: every part's partial result, in any order; from all of them, the row's statistics;
  // every part's results, in any order.
  void (*gather)(const Launch& launch, std::int64_t row, std::int64_t part, RowCell* partial);
  void (*settle)(const Launch& launch, std::int64_t row, const RowCell* partials, RowCell* statistics);
  void (*write)(const Launch& launch, std::int64_t row, std::int64_t part, const RowCell& partial,
                const RowCell& statistics);
  /// Whether that takes no more work than `rows` does.
  bool keeps_nothing;
};

/// Parts of several rows that are shared at once, at most.
inline constexpr std::int64_t kPartsTogether = PartsOfRow::kMost;

/// `rows` neighbouring rows from `first` on, their parts shared among the threads.
/// Requires: rows * parts.count() <= kPartsTogether.
inline void RunRowsInParts(const RowFunctions& work, const Launch& launch, std::int64_t first, std::int64_t rows,
                           const PartsOfRow& parts, ParallelExecutor& threads) {
  struct Group {
    const RowFunctions& work;
    const Launch& launch;
    std::int64_t first;
    std::int64_t parts;  // of a row
    RowCell partials[kPartsTogether];
    RowCell statistics[kPartsTogether];
  } group{work, launch, first, parts.count(), {}, {}};
  threads.ParallelFor(rows * parts.count(), 1, [&group](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      group.work.gather(group.launch, group.first + i / group.parts, i % group.parts, &group.partials[i]);
    }
  });
  for (std::int64_t row = 0; row < rows; ++row) {
    work.settle(launch, first + row, group.partials + row * group.parts, &group.statistics[row]);
  }
  threads.ParallelFor(rows * parts.count(), 1, [&group](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      group.work.write(group.launch, group.first + i / group.parts, i % group.parts, group.partials[i],
                       group.statistics[i / group.parts]);
    }
  });
}

/// Runs all rows of a launch. `row_bytes`: what a row reads and writes.
inline void RunRows(const RowFunctions& work, const Launch& launch, std::int64_t width, std::int64_t row_bytes,
                    ParallelExecutor& threads) {
  constexpr std::int64_t kVeryLongRowBytes = std::int64_t{1024} * 1024;
  constexpr std::int64_t kWantedParts = 8;  // together: fewer would leave a thread that comes late too little
  constexpr std::int64_t kLongRowBytes = std::int64_t{256} * 1024;  // less is done before another thread has woken
  const PartsOfRow parts(width);
  const std::int64_t few_rows = work.keeps_nothing && row_bytes >= kVeryLongRowBytes ? 8 : 4;
  if (launch.total_rows < few_rows && row_bytes >= kLongRowBytes && parts.count() > 1) {
    const std::int64_t together = (kWantedParts + parts.count() - 1) / parts.count();
    for (std::int64_t row = 0; row < launch.total_rows; row += together) {
      RunRowsInParts(work, launch, row, std::min(together, launch.total_rows - row), parts, threads);
    }
    return;
  }
  struct Run {
    const RowFunctions& work;
    const Launch& launch;
    void Rows(std::int64_t begin, std::int64_t end) const { work.rows(launch, begin, end); }
  };
  ForEachPieceOfWork(Run{work, launch}, launch.total_rows, row_bytes, threads);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_H_
