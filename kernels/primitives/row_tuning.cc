#include "kernels/primitives/row_tuning.h"

#include <algorithm>
#include <cstddef>

namespace kernelwire {
namespace {

constexpr std::int64_t kKiB = 1024;

/// `lanes` lanes of a warp hold `vectors` vectors of a row each.
RowTuning ShareWarps(int lanes, int vectors) {
  return {RowTuning::Method::kLanes, lanes, vectors, 1, false, false, BlockThreadsOfLanes(vectors) / lanes};
}

/// Blocks of `threads` threads (a power of two, where a row needs several) that hold `vectors` vectors each; of a
/// shorter row only the warps that have something. Those of more than 256 threads are roomy.
RowTuning HoldRow(std::int64_t row_bytes, int threads, int vectors, bool looks_ahead = false) {
  const std::int64_t of_block = std::int64_t{threads} * vectors * 16;
  const std::int64_t blocks = (row_bytes + of_block - 1) / of_block;
  const std::int64_t of_warp = std::int64_t{32} * vectors * 16;
  const int warps = static_cast<int>((row_bytes + of_warp - 1) / of_warp);
  return {RowTuning::Method::kBlocks,
          blocks > 1 ? threads : warps * 32,
          vectors,
          static_cast<int>(blocks),
          looks_ahead,
          threads > 256};
}

/// Blocks that stay, with all registers there are, and ask for their next row before they work on this one.
RowTuning LookAhead(std::int64_t row_bytes, int threads = kMostThreadsOfRowBlock) {
  RowTuning tuning = HoldRow(row_bytes, threads, 8, true);
  tuning.roomy = true;
  return tuning;
}

/// How a row longer than a stretch is held, up to a length.
struct Holding {
  int up_to_kib;  // 0: no more of them
  int threads;
  int vectors;
  bool looks_ahead;
};

/// By length: the first that reaches a row is its own. The last reaches kLongestHeldRow.
struct Holdings {
  Holding by_length[9];

  const Holding& Of(std::int64_t row_bytes) const {
    const Holding* holding = by_length;
    while (row_bytes > holding->up_to_kib * kKiB && holding[1].up_to_kib != 0) {
      ++holding;
    }
    return *holding;
  }
};

RowTuning Hold(const Holdings& holdings, std::int64_t row_bytes) {
  const Holding& holding = holdings.Of(row_bytes);
  return holding.looks_ahead ? LookAhead(row_bytes, holding.threads)
                             : HoldRow(row_bytes, holding.threads, holding.vectors);
}

constexpr bool kAhead = true;
constexpr bool kAtOnce = false;

// What was fastest of 64 to 512 threads with 4 or 8 vectors, those with 8 looking ahead or not, over 60 lengths of rows
// in tensors of 2 KiB to 1 GiB. By elements: of 2 bytes, which take twice the arithmetic a byte; wider ones. By
// RowWork.

/// Fewer rows than all multiprocessors want at a time, where latency is what counts: a row that a block can have is
/// not worth a cluster, a longer one is spread over many blocks.
constexpr Holdings kOfFewRows[2] = {
    {{{16, 512, 4, kAtOnce},
      {128, 128, 4, kAtOnce},
      {256, 256, 4, kAtOnce},
      {512, 512, 4, kAtOnce},
      {1024, 512, 8, kAtOnce}}},
    {{{20, 512, 4, kAtOnce},
      {128, 128, 4, kAtOnce},
      {256, 256, 4, kAtOnce},
      {512, 512, 4, kAtOnce},
      {1024, 512, 8, kAtOnce}}},
};

/// Rows that keep the whole device busy for a few rounds only.
constexpr Holdings kOfSomeRows[][2] = {
    {{{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 128, 8, kAtOnce},
       {384, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{32, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 128, 8, kAhead},
       {384, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    {{{{16, 512, 4, kAtOnce},
       {28, 128, 4, kAtOnce},
       {32, 512, 4, kAtOnce},
       {96, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {512, 512, 4, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {384, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    {{{{3, 256, 8, kAtOnce},
       {16, 512, 4, kAtOnce},
       {32, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce}, {192, 128, 8, kAtOnce}, {512, 256, 8, kAhead}, {1024, 512, 8, kAhead}}}},
    {{{{4, 256, 8, kAtOnce},
       {64, 512, 8, kAhead},
       {96, 128, 8, kAhead},
       {128, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {384, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {64, 512, 8, kAhead},
       {96, 128, 8, kAhead},
       {128, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {384, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
};

/// Rows of large tensors. Small blocks, many of them on a multiprocessor, hide what all threads of one wait for; beyond
/// some length parameters, which every row reads again, want blocks that stay. Of two inputs registers hold no more
/// rows, so none looks ahead; blocks that would only stay.
constexpr Holdings kOfManyRows[][2] = {
    {{{{3, 256, 8, kAtOnce},
       {16, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {128, 128, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{32, 512, 4, kAtOnce}, {192, 128, 8, kAtOnce}, {1024, 512, 8, kAhead}}}},
    {{{{32, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 512, 4, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 512, 4, kAtOnce}, {1024, 512, 8, kAhead}}}},
    {{{{3, 256, 8, kAtOnce},
       {20, 512, 4, kAtOnce},
       {24, 256, 8, kAtOnce},
       {32, 512, 4, kAtOnce},
       {64, 512, 8, kAhead},
       {96, 128, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {128, 128, 8, kAtOnce},
       {256, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    {{{{3, 256, 8, kAtOnce},
       {6, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {64, 512, 8, kAhead},
       {96, 128, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{8, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {60, 512, 8, kAhead},
       {96, 128, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
};

// The same of rows that are not plain. They want more of everything, so that fewer are at work at a time; blocks of 4
// vectors have at most 256 threads.

constexpr Holdings kOfFewShiftedRows = {{{16, 256, 4, kAtOnce},
                                         {128, 128, 4, kAtOnce},
                                         {256, 256, 4, kAtOnce},
                                         {512, 256, 8, kAhead},
                                         {1024, 512, 8, kAhead}}};

constexpr Holdings kOfShiftedRows[][2] = {
    {{{{30, 256, 8, kAtOnce},
       {64, 512, 8, kAhead},
       {104, 128, 8, kAtOnce},
       {128, 512, 8, kAhead},
       {216, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{30, 256, 8, kAtOnce},
       {64, 512, 8, kAhead},
       {104, 128, 8, kAtOnce},
       {128, 512, 8, kAhead},
       {216, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    {{{{15, 256, 4, kAtOnce},
       {28, 512, 8, kAtOnce},
       {120, 128, 4, kAtOnce},
       {140, 256, 4, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{15, 256, 4, kAtOnce},
       {26, 512, 8, kAtOnce},
       {120, 128, 4, kAtOnce},
       {140, 256, 4, kAtOnce},
       {216, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    {{{{4, 512, 8, kAhead},
       {9, 256, 4, kAtOnce},
       {64, 512, 8, kAhead},
       {240, 128, 8, kAhead},
       {288, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{6, 256, 4, kAtOnce},
       {30, 256, 8, kAtOnce},
       {64, 512, 8, kAhead},
       {104, 128, 8, kAtOnce},
       {240, 128, 8, kAhead},
       {416, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    {{{{4, 512, 8, kAhead},
       {6, 256, 4, kAtOnce},
       {64, 512, 8, kAhead},
       {140, 128, 8, kAhead},
       {448, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{6, 256, 4, kAtOnce},
       {13, 256, 8, kAtOnce},
       {52, 512, 8, kAhead},
       {60, 256, 8, kAhead},
       {104, 128, 8, kAtOnce},
       {448, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
};

/// A few rounds of rows that a block does not hold; those of two inputs last.
constexpr Holdings kOfSomeLongShiftedRows[2] = {
    {{{256, 128, 8, kAtOnce}, {288, 256, 8, kAtOnce}, {448, 256, 8, kAhead}, {1024, 512, 8, kAhead}}},
    {{{120, 128, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {1024, 512, 8, kAhead}}},
};

const Holdings& ForShiftedRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewShiftedRows;
  }
  return AreSomeRows(row_bytes, rows) && row_bytes > kLongestRowOfBlock
             ? kOfSomeLongShiftedRows[work == RowWork::kTwoInputs]
             : kOfShiftedRows[static_cast<std::size_t>(work)][wide];
}

const Holdings& ForPlainRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, bool wide) {
  if (AreFewRows(row_bytes, rows)) {
    return kOfFewRows[wide];
  }
  return (AreSomeRows(row_bytes, rows) ? kOfSomeRows : kOfManyRows)[static_cast<std::size_t>(work)][wide];
}

/// A row that is longer than a stretch, where blocks cannot share one.
RowTuning TuneRowsOfBlocks(std::int64_t row_bytes, bool plain) {
  if (plain) {
    return row_bytes <= 32 * kKiB ? HoldRow(row_bytes, 512, 4) : LookAhead(row_bytes);
  }
  return row_bytes <= 8 * kKiB ? HoldRow(row_bytes, 256, 4) : LookAhead(row_bytes);
}

}  // namespace

std::string RowTuning::ToString() const {
  const std::string text = std::to_string(threads) + " threads x " + std::to_string(16 * vectors) + " bytes";
  switch (method) {
    case Method::kLanes:
      return text + ", " + std::to_string(rows_of_block) + " rows a block";
    case Method::kBlocks:
      return text + ", " + std::to_string(cluster_blocks) + " blocks a row" + (looks_ahead ? ", looking ahead" : "");
    case Method::kStream:
      break;
  }
  return text + ", " + std::to_string(parts.count) + " blocks a row, read twice";
}

bool AreFewRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kFewBytes = 2 * kKiB * kKiB;
  return row_bytes * std::min(rows, kFewBytes) <= kFewBytes;
}

bool AreSomeRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kSomeBytes = 64 * kKiB * kKiB;
  return row_bytes * std::min(rows, kSomeBytes) <= kSomeBytes;
}

/// Short rows have a small block each: most threads of a large one would have nothing to do.
RowTuning StreamRows(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kManyParts = 2048;  // for all multiprocessors, several times
  StreamedParts parts = PartsOfStreamedRow(row_bytes);
  while (parts.count > 1 && parts.together < 4 && rows * parts.count >= 2 * kManyParts * parts.together) {
    parts.together *= 2;
  }
  const std::int64_t warps = (parts.bytes + kBytesOfStretch - 1) / kBytesOfStretch;
  const int most = parts.count > 1 ? kThreadsOfPart : kMostThreadsOfRowBlock;
  RowTuning tuning;
  tuning.method = RowTuning::Method::kStream;
  tuning.threads = static_cast<int>(std::clamp<std::int64_t>(warps * 32, 32, most));
  tuning.vectors = 4;
  tuning.parts = parts;
  return tuning;
}

RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain,
                   const RowDevice& device) {
  if (row_bytes <= 128) {
    return ShareWarps(4, 2);
  }
  for (const int lanes : {4, 8, 16, 32}) {
    if (row_bytes <= std::int64_t{64} * lanes) {
      // What a lane has no elements for costs almost what they would.
      return ShareWarps(lanes, row_bytes <= std::int64_t{48} * lanes ? 3 : 4);
    }
  }
  if (row_bytes > device.LongestHeldRowBytes()) {
    return StreamRows(row_bytes, rows);
  }
  if (!device.clusters) {
    return TuneRowsOfBlocks(row_bytes, plain);
  }
  const bool wide = element_bytes > 2;
  return Hold(plain ? ForPlainRows(work, row_bytes, rows, wide) : ForShiftedRows(work, row_bytes, rows, wide),
              row_bytes);
}

}  // namespace kernelwire
