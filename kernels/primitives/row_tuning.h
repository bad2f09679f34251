// Which threads work on a row: a value that can be printed, chosen from what was measured on an H200 and an H100
// (tests/bench/kernels).
//
// The order of a reduction follows from the row's bytes alone (row_group.cuh), whoever computes it. So this choice may
// follow from the operator, the number of rows and the device's memory too, and a row still gives the same bits alone,
// in company, on any lane, and in add_rms_norm as in rms_norm. Two things must follow from the row's bytes, those of an
// element and the architecture only: which rows lanes hold, how many share a row, and how much of it each has; and
// which rows are streamed. So must what threads have of odd rows, but for operators whose results need not be alike.
// What kernels are compiled for is said here beside what is chosen among: hence the length of this file.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/primitives/row_access.h"

namespace kernelwire {

/// How a row that is walked over is cut: parts of equal length, but for the last one perhaps, a block each.
struct StreamedParts {
  std::int64_t bytes = 0;  // of a part
  int count = 1;
  // These may follow from the number of rows:
  int together = 1;  // neighbours that a block has at a time
  int ahead = 0;     // blocks for totals between the last of a row and the first for its results
};

struct RowTuning {
  enum class Method : std::uint8_t {
    kLanes,   // some lanes of a warp hold a row; rows_of_block rows a block
    kBlocks,  // a block, or a cluster of blocks, holds a row
    kStream,  // nobody holds it: blocks walk over parts of it, twice
  };

  Method method = Method::kLanes;
  int threads = 0;         // of a row: lanes, or threads of each block
  int vectors = 0;         // that a thread holds at a time
  int vector_bytes = 16;   // or 4: words (row_words.cuh)
  int cluster_blocks = 1;  // blocks that share a row
  /// Blocks stay, and ask for their next row before they work on this one.
  bool looks_ahead = false;
  /// Clusters stay, and take rows from tickets (row_staying.h).
  bool stays = false;
  /// Clusters' blocks go where there is room (LaunchShape).
  bool balanced = false;
  /// Blocks have their shares of a row in shared memory (row_in_shared.cuh).
  bool in_shared = false;
  /// Threads have the registers of the largest blocks, however few a short row takes.
  bool roomy = false;
  int rows_of_block = 1;
  /// From a block's first row to the one that it asks the second-level cache for (fetch_ahead.cuh); 0: for none.
  int rows_ahead = 0;
  int turns = 1;  // as often a block has rows_of_block rows, one after another
  /// The launch reads so much that the second-level cache had better keep that than its results (CachePriority).
  bool reads_much = false;
  /// Lanes' rows pass through a tile of their block's (row_tile.cuh).
  bool in_tile = false;
  /// Blocks keep the parameters of rows that begin alike (row_keeping.h): of `turns` times those, or all; then `turns`
  /// is how many a block takes at a time.
  bool keeps_parameters = false;
  StreamedParts parts = {};

  std::string ToString() const;
};

/// What is done with a row, as far as it decides how many of them should be worked on at a time. kWordsOfBlocks and
/// row_tuning_tables.h are in this order.
enum class RowWork : std::uint8_t {
  kOneSum,      // one reduction (rms_norm)
  kTwoInputs,   // one reduction, over the sum of two rows (add_rms_norm)
  kSoftmax,     // one reduction, and exponentials
  kMoments,     // one reduction or two, of two numbers each (layer_norm)
  kLogSoftmax,  // as kSoftmax, whose place is its own, too, with results of long code
};

constexpr bool AreOfSoftmax(RowWork work) { return work == RowWork::kSoftmax || work == RowWork::kLogSoftmax; }

/// Where a table by RowWork has that of `work`.
constexpr std::size_t PlaceInTables(RowWork work) {
  return static_cast<std::size_t>(work == RowWork::kLogSoftmax ? RowWork::kSoftmax : work);
}

inline constexpr int kMostThreadsOfRowBlock = 512;
/// Of a block with 4 vectors a thread whose launch is not the usual one, of two inputs: these and what is to be known
/// of a request take more than the 64 registers that larger blocks leave.
inline constexpr int kMostThreadsOfSmallBlock = 256;
inline constexpr int kThreadsOfPart = 256;
/// A thread's vectors where a warp has a row to itself, besides 8, of which any block may have a row: of misaligned
/// ones, and of AreOfPlainWarp.
inline constexpr int kVectorsOfWarp[] = {5, 6, 10, 12};
constexpr bool AreOfWarp(int vectors) {
  for (const int its : kVectorsOfWarp) {
    if (vectors == its) {
      return true;
    }
  }
  return false;
}
/// Whether there are kernels for rows of whole vectors that begin on a boundary, too. Others are as fast without.
constexpr bool AreOfPlainWarp(RowWork work, int element_bytes, int vectors) {
  const bool wide = element_bytes > 2;
  switch (vectors) {
    case 5:
      return AreOfSoftmax(work) || !wide;
    case 6:
      return AreOfSoftmax(work);
    case 10:
      return wide ? AreOfSoftmax(work) : work == RowWork::kMoments;
    default:
      return false;
  }
}
inline constexpr std::int64_t kBytesOfStretch = 2048;
inline constexpr int kMostBlocksOfRow = 16;  // of a cluster
/// A cluster is in one group of a device's multiprocessors, most of which have 16 or some more.
inline constexpr std::int64_t kMultiprocessorsOfGroup = 16;
/// What a single block holds at most: 512 threads with 128 bytes each.
inline constexpr std::int64_t kLongestRowOfBlock = std::int64_t{1} << 16;
/// The same in words: 448 threads with 28 each. A multiprocessor has two such blocks at a time, of which one reads
/// while the other writes; of blocks that hold more it would have one, and rows that are walked over are faster.
inline constexpr std::int64_t kLongestRowOfBlockInWords = std::int64_t{448} * 28 * 4;
/// What a cluster holds at most.
inline constexpr std::int64_t kLongestHeldRow = kMostBlocksOfRow * kLongestRowOfBlock;
inline constexpr std::int64_t kLongestHeldInWords = kMostBlocksOfRow * kLongestRowOfBlockInWords;

/// Whether an operator's rows are held as add_rms_norm's sums are, so that both give the same bits.
constexpr bool AreNorms(RowWork work) { return work == RowWork::kOneSum || work == RowWork::kTwoInputs; }

/// Of a row that one thread holds (row_of_thread.cuh).
inline constexpr std::int64_t kLongestRowOfThread = 62;

/// Whether rows, as long as they are held at all, are held in words: by one thread, or they are no whole number of
/// vectors. Of short ones half a vector more is no trouble (row_tile.cuh); 8-byte elements have no words. (Some long
/// ones are held in vectors all the same where blocks can share them: AreMovedInVectors in row_staying.h.)
constexpr bool AreHeldInWords(std::int64_t row_bytes, int element_bytes) {
  return element_bytes <= 4 &&
         (row_bytes <= kLongestRowOfThread || row_bytes % (row_bytes <= kBytesOfStretch ? 8 : 16) != 0);
}

/// The longest row that a cluster holds as it would one of so many bytes.
constexpr std::int64_t LongestRowOfCluster(std::int64_t row_bytes, int element_bytes) {
  return AreHeldInWords(row_bytes, element_bytes) ? kLongestHeldInWords : kLongestHeldRow;
}

/// Lanes that share a row, and words that each holds.
struct WordShape {
  int lanes;
  int words;

  constexpr int Words() const { return lanes * words; }
};

/// By length: the first that holds a row is its own.
struct WordShapes {
  int count;
  WordShape by_length[30];

  constexpr std::int64_t LongestRow() const { return std::int64_t{4} * by_length[count - 1].Words(); }
};

/// What a lane could hold costs instructions as what it holds, so they lie close together.
inline constexpr WordShapes kShapesOfFourBytes = {
    30, {{1, 2},   {1, 4},   {1, 6},   {1, 8},   {1, 10},  {1, 12},  {1, 14},  {1, 16},  {4, 6},   {8, 4},
         {8, 5},   {8, 6},   {8, 8},   {16, 5},  {16, 6},  {16, 8},  {16, 10}, {16, 12}, {32, 8},  {32, 10},
         {32, 12}, {32, 14}, {32, 16}, {32, 18}, {32, 20}, {32, 24}, {32, 28}, {32, 32}, {32, 36}, {32, 40}}};
/// Instructions are what rows of 2-byte elements wait for, above all those that a row takes however short it is: fewer
/// lanes share one.
inline constexpr WordShapes kShapesOfTwoBytes = {
    30, {{1, 2},   {1, 4},   {1, 6},   {1, 8},   {1, 10},  {1, 12},  {1, 14},  {1, 16},  {4, 6},   {8, 4},
         {8, 5},   {8, 6},   {8, 8},   {8, 10},  {8, 12},  {8, 16},  {16, 10}, {16, 12}, {16, 16}, {32, 10},
         {32, 12}, {32, 14}, {32, 16}, {32, 18}, {32, 20}, {32, 24}, {32, 28}, {32, 32}, {32, 36}, {32, 40}}};

constexpr const WordShapes& WordShapesOf(int element_bytes) {
  return element_bytes > 2 ? kShapesOfFourBytes : kShapesOfTwoBytes;
}

/// The first word of a lane that may reach beyond a row's end: shorter rows have another shape.
constexpr int FirstWordThatEnds(const WordShapes& shapes, int index) {
  return index == 0 ? 0 : shapes.by_length[index - 1].Words() / shapes.by_length[index].lanes;
}

/// Words of each thread of a block that holds an odd row, or an equal share of one; the most threads that its kernel is
/// compiled for, and how many blocks of so many a multiprocessor has at a time, which says how many registers there
/// are.
struct BlockWords {
  int words;
  int threads;
  int at_a_time;
};

struct BlockWordShapes {
  int count;
  BlockWords by_words[7];
};

/// By RowWork. Few threads with much each take fewer instructions a word than many with little, as long as registers
/// hold it and the warps that wait meanwhile are many; two inputs take twice the registers.
inline constexpr BlockWordShapes kWordsOfBlocks[] = {
    {6, {{12, 224, 4}, {14, 224, 4}, {16, 224, 4}, {20, 320, 3}, {28, 448, 2}, {36, 256, 3}}},
    {6, {{12, 224, 4}, {14, 224, 4}, {16, 256, 3}, {20, 384, 2}, {28, 448, 2}, {36, 256, 2}}},
    {7, {{12, 224, 4}, {14, 224, 4}, {16, 224, 4}, {20, 448, 2}, {24, 448, 2}, {28, 384, 2}, {28, 448, 2}}},
    {7, {{12, 224, 4}, {14, 224, 4}, {16, 224, 4}, {20, 448, 2}, {24, 448, 2}, {28, 384, 2}, {28, 448, 2}}},
};
constexpr const BlockWordShapes& WordsOfBlocks(RowWork work) { return kWordsOfBlocks[PlaceInTables(work)]; }

/// How many of those there are for elements of so many bytes: of 36 words FP32 rms_norm is up to 1.1 times as fast,
/// and add_rms_norm, whose rows are shared alike, up to 1.12 times as slow.
constexpr int CountOfWords(RowWork work, int element_bytes) {
  return AreNorms(work) && element_bytes > 2 ? 5 : WordsOfBlocks(work).count;
}

/// The most threads of a block of shape `index`. Norms have one choice for both.
constexpr int MostThreadsOfWords(RowWork work, int index) {
  const int one = WordsOfBlocks(RowWork::kOneSum).by_words[index].threads;
  const int two = WordsOfBlocks(RowWork::kTwoInputs).by_words[index].threads;
  return !AreNorms(work) ? WordsOfBlocks(work).by_words[index].threads : one < two ? one : two;
}

/// Shapes [first, behind) are chosen among. What lies before them has more threads than rows of 4-byte elements want,
/// which take fewer instructions; of what lies behind them a multiprocessor has few, as of 28 words with the means of
/// 16-bit elements, so they are for shares that no others hold, or hold as well (row_share.cc).
struct ShapesInUse {
  int first;
  int behind;
};
constexpr ShapesInUse WordsInUse(RowWork work, int element_bytes) {
  return AreNorms(work)              ? ShapesInUse{0, 4}
         : element_bytes > 2         ? ShapesInUse{3, 6}
         : work == RowWork::kMoments ? ShapesInUse{0, 5}
                                     : ShapesInUse{0, 6};
}

/// The same of blocks that have their shares in shared memory: of softmax and layer_norm of 4-byte elements, whose
/// registers hold more than a row. (Of 2-byte elements it would take too many instructions.) A share has the first
/// shape that reaches it; the second reaches what the longest row of registers has.
inline constexpr BlockWords kSharesInShared[] = {{36, 256, 4}, {50, 256, 4}};
constexpr bool AreSharesInShared(RowWork work, std::int64_t row_bytes, int element_bytes) {
  const std::int64_t longest_in_registers = (work == RowWork::kMoments ? 400 : 224) * 1024;
  return !AreNorms(work) && element_bytes > 2 && row_bytes > longest_in_registers;
}

/// The same of rows of whole vectors that begin anywhere: the most threads of a block.
inline constexpr int kThreadsOfVectorsInShared = 256;
/// The most vectors that each has of its share; 0: there are no kernels so. What gains from it are FP32 rows, which
/// registers move by twice the instructions an element, and two inputs, which they do not hold.
constexpr int MostVectorsInShared(RowWork work, int element_bytes) {
  return element_bytes > 4 ? 0 : work == RowWork::kTwoInputs ? 8 : element_bytes == 4 ? 16 : 0;
}

/// Shared memory of a block of so many threads with so many words each: a share begins anywhere in its first two
/// granules, a word behind its last may be read, and there is a barrier.
constexpr std::size_t BytesOfShare(unsigned threads, int words) {
  return (std::size_t{4} * threads * static_cast<unsigned>(words) + 4 * std::size_t{16}) / 16 * 16;
}

/// Threads of a block in which `lanes` share a row and hold so many words each: 3 to 20 KiB of rows. Where threads have
/// rows to themselves, small tensors want more blocks, and others have tiles that full.
constexpr int BlockThreadsOfWords(int lanes, int words) { return (words < 6 ? 256 : 128) / (lanes == 1 ? 2 : 1); }

/// The same where their rows pass through a tile, and how many rows after one another lanes have there: 8 rows of any
/// width, which a chunk of the tile has (row_tile.cuh), are a whole number of vectors.
inline constexpr int kBlockThreadsOfTiledWords = 128;
inline constexpr int kTurnsOfTiledWords = 2;

/// Whether there are kernels that have rows in so many words of so many lanes pass through a tile. A warp that has a
/// row to itself reads and writes as memory likes it; 4-byte elements are no halves of words, and as fast without;
/// layer_norm has more to do than lanes beside each other hide, unless they hold little.
constexpr bool HasTileOfWords(RowWork work, int element_bytes, int lanes, int words) {
  return element_bytes == 2 && lanes > 1 && lanes < 32 &&
         (work != RowWork::kMoments || (lanes == 8 && words >= 8 && words <= 10));
}

/// Threads of a block whose lanes hold `vectors` vectors each. An H200 starts no more than a block in 1.2 ns, which is
/// what it takes to read and write 2 KiB: blocks hold rows of 3 or 4 KiB, where their lanes are full.
constexpr int BlockThreadsOfLanes(int vectors) { return vectors < 3 ? 128 : 64; }

/// From the row's bytes alone, since the totals of parts are merged in an order of their own. A single row shall fill
/// the device, and each part merges the totals of all of them: about 128 parts, more only where they would become long.
constexpr StreamedParts PartsOfStreamedRow(std::int64_t row_bytes, int element_bytes) {
  constexpr std::int64_t kLongPart = 65536;
  if (row_bytes <= LongestRowOfCluster(row_bytes, element_bytes)) {
    return {row_bytes, 1};
  }
  std::int64_t bytes = 16384;
  while (bytes <= (row_bytes - 1) / (bytes < kLongPart ? 128 : 1024)) {  // no product: a request may name any width
    bytes *= 2;
  }
  return {bytes, static_cast<int>((row_bytes - 1) / bytes + 1)};
}

/// What a part leaves for its like takes at most this in the workspace of its request.
inline constexpr std::size_t kStreamedTotalBytes = 16;

/// The workspace of a request for `rows` rows of `width` elements, which are walked over if they are long.
constexpr std::size_t StreamWorkspaceBytes(std::int64_t width, std::size_t element_bytes, std::int64_t rows) {
  if (rows == 0) {
    return 0;  // and their bytes may be more than 64 bits count
  }
  const int parts =
      PartsOfStreamedRow(width * static_cast<std::int64_t>(element_bytes), static_cast<int>(element_bytes)).count;
  const std::size_t totals = parts > 1 ? static_cast<std::size_t>(rows) * static_cast<std::size_t>(parts) : 0;
  return (totals * kStreamedTotalBytes + 255) / 256 * 256;
}

/// For rows that are walked over, with results of any type.
RowTuning StreamRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes);

/// Whether rows are less than all multiprocessors want at a time, so that latency is what counts.
bool AreFewRows(std::int64_t row_bytes, std::int64_t rows);
/// Whether they keep the whole device busy for a few rounds only.
bool AreSomeRows(std::int64_t row_bytes, std::int64_t rows);

/// What a device has that decides which rows are held, and how.
struct RowDevice {
  bool clusters = true;           // blocks can share a row (compute capability 9.0 and above)
  std::int64_t shared_bytes = 0;  // the most that a block may have
  bool fast_memory = false;       // it brings more than a multiprocessor of today's arithmetic keeps up with (H200)

  /// The longest row that is held as one of so many bytes would be. Rows that are not plain may pass through shared
  /// memory: two of them, and half a result.
  std::int64_t LongestHeldRowBytes(std::int64_t row_bytes, int element_bytes) const {
    constexpr std::int64_t kForExchange = 4096;
    if (clusters) {
      return LongestRowOfCluster(row_bytes, element_bytes);
    }
    std::int64_t longest = kLongestRowOfBlock;
    while (longest > kBytesOfStretch && longest * 5 / 2 + kForExchange > shared_bytes) {
      longest /= 2;
    }
    return AreHeldInWords(row_bytes, element_bytes) ? std::min(longest, kLongestRowOfBlockInWords) : longest;
  }
};

/// Whether an operator's blocks with 4 vectors a thread have at most kMostThreadsOfSmallBlock threads.
constexpr bool HasSmallBlocks(RowWork work, RowAccess access) {
  return work == RowWork::kTwoInputs && access == RowAccess::kPlain;
}

/// `element_bytes`: 2-byte elements take twice the arithmetic a byte.
RowTuning TuneRows(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowAccess access,
                   const RowDevice& device);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_
