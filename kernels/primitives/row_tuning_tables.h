// How rows that are longer than a stretch are held (row_tuning.cc): what was fastest of 1 to 16 blocks with equal
// shares of 64 to 512 threads, 4, 8 or 16 vectors each, those with 8 looking ahead or not, over 25 lengths of rows from
// 24 KiB on in tensors of 8, 32 and 512 MiB, and over more below (tests/bench/kernels), on an H200 and an H100. Host
// code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_

#include <cstdint>

namespace kernelwire {

inline constexpr std::int64_t kKiB = 1024;

/// Of `rows` rows; of so many that it makes no difference any more, fewer.
inline std::int64_t MibOf(std::int64_t row_bytes, std::int64_t rows) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
  return row_bytes * (rows < kMostRows ? rows : kMostRows) / (kKiB * kKiB);
}

/// A way of holding a row. Its blocks have equal shares of it.
enum class HoldingWay : std::uint8_t {
  kFour,      // 4 vectors a thread, by as few blocks as can
  kWarp,      // by a warp, with as few of kVectorsOfWarp, or 8, as can; of up to 6 KiB
  kEight,     // 8, by small blocks, several of which a multiprocessor has at a time
  kRoomy,     // 8, by as few blocks as can, with the registers of the largest
  kAhead,     // 8, by blocks that look ahead: a power of two of them, so that no multiprocessor is without one
  kAheadAny,  // the same, by as few blocks as can
  kSixteen,   // 16, by as few blocks of at most 256 threads as can: two inputs, of which one is held (add_rms_norm)
  kInShared,  // 8, or else 16, in shared memory, by as few blocks as can; without kernels so, as kEight, or as kAhead
};

/// How a row longer than a stretch is held, up to a length, by blocks of at most so many threads. kEight follows from
/// the length alone.
struct Holding {
  double up_to_kib;  // 0: no more of them
  HoldingWay way;
  int threads = 256;
};

/// By length: the first that reaches a row is its own. The last reaches kLongestHeldRow.
struct Holdings {
  Holding by_length[12];

  const Holding& Of(std::int64_t row_bytes) const {
    const Holding* holding = by_length;
    const double kib = static_cast<double>(row_bytes) / 1024.0;
    while (kib > holding->up_to_kib && holding[1].up_to_kib > 0.0) {
      ++holding;
    }
    return *holding;
  }
};

inline constexpr HoldingWay kFour = HoldingWay::kFour;
inline constexpr HoldingWay kWarp = HoldingWay::kWarp;
inline constexpr HoldingWay kEight = HoldingWay::kEight;
inline constexpr HoldingWay kRoomy = HoldingWay::kRoomy;
inline constexpr HoldingWay kAhead = HoldingWay::kAhead;
inline constexpr HoldingWay kAheadAny = HoldingWay::kAheadAny;
inline constexpr HoldingWay kSixteen = HoldingWay::kSixteen;
inline constexpr HoldingWay kInShared = HoldingWay::kInShared;

// By RowWork, and by element: of 2 bytes, which take twice the arithmetic a byte, and wider.

/// Fewer rows than all multiprocessors want at a time, where latency is what counts: a row that a block can have is
/// not worth a cluster, a longer one is spread over many blocks.
inline constexpr Holdings kOfFewRows[2] = {
    {{{16, kFour, 512}, {128, kFour, 128}, {256, kFour, 256}, {512, kEight}, {1024, kAhead, 512}}},
    {{{20, kFour, 512}, {128, kFour, 128}, {256, kFour, 256}, {512, kEight}, {1024, kAhead, 512}}},
};

/// Rows that keep the whole device busy once or twice (not ReadMuch): little is gained by looking ahead.
inline constexpr Holdings kOfLittleRead[][2] = {
    // kOneSum
    {{{{2.5, kWarp}, {16, kFour, 512}, {128, kFour, 128}, {512, kEight}, {1024, kAhead}}},
     {{{20, kFour, 512}, {128, kFour, 128}, {512, kEight}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{16, kFour, 512},
       {28, kFour, 128},
       {32, kFour, 512},
       {112, kFour, 128},
       {256, kFour, 256},
       {512, kEight},
       {1024, kAhead}}},
     {{{16, kFour, 512}, {128, kFour, 128}, {512, kEight}, {1024, kAhead}}}},
    // kSoftmax
    {{{{3, kWarp}, {16, kFour, 512}, {28, kAhead}, {128, kFour, 128}, {512, kEight}, {1024, kAhead}}},
     {{{3, kWarp}, {16, kFour, 512}, {64, kAhead}, {512, kEight}, {1024, kAhead}}}},
    // kMoments
    {{{{2.5, kWarp}, {64, kAhead}, {512, kEight}, {1024, kAhead}}}, {{{64, kAhead}, {512, kEight}, {1024, kAhead}}}},
};

/// Rows for a few rounds (AreSomeRows), where those that stay and look ahead save what all begin with. Of two inputs
/// registers hold no more rows, so none looks ahead; blocks that would only stay.
inline constexpr Holdings kOfSomeRows[][2] = {
    // kOneSum
    {{{{2.5, kWarp}, {16, kFour, 512}, {36, kEight}, {128, kAheadAny, 128}, {1024, kAhead}}},
     {{{20, kFour, 512}, {36, kEight}, {128, kAheadAny, 128}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{16, kFour, 512}, {96, kFour, 128}, {256, kFour, 256}, {512, kAhead}, {592, kAheadAny, 512}, {1024, kAhead}}},
     {{{16, kFour, 512}, {128, kFour, 128}, {256, kEight}, {512, kAhead}, {592, kAheadAny, 512}, {1024, kAhead}}}},
    // kSoftmax
    {{{{3, kWarp}, {16, kFour, 512}, {192, kEight}, {1024, kAhead}}},
     {{{3, kWarp},
       {4, kFour, 512},
       {4.25, kWarp},
       {20, kFour, 512},
       {192, kEight},
       {240, kAhead, 512},
       {400, kAhead},
       {480, kAhead, 512},
       {1024, kAhead}}}},
    // kMoments
    {{{{2.5, kWarp},
       {4, kFour, 512},
       {5, kWarp},
       {28, kEight},
       {36, kAheadAny, 512},
       {128, kAheadAny, 128},
       {1024, kAhead}}},
     {{{20, kFour, 512}, {28, kEight}, {36, kAheadAny, 512}, {128, kAheadAny, 128}, {1024, kAhead}}}},
};

/// Rows of large tensors. Small blocks, several of which a multiprocessor has at a time, hide what all threads of one
/// wait for.
inline constexpr Holdings kOfLargeTensors[][2] = {
    // kOneSum
    {{{{3, kEight}, {16, kFour, 512}, {512, kEight}, {1024, kAhead}}},
     {{{20, kFour, 512}, {512, kEight}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{32, kFour, 512}, {256, kFour, 256}, {512, kFour, 512}, {592, kAheadAny, 512}, {1024, kAhead}}},
     {{{16, kFour, 512}, {256, kFour, 256}, {512, kFour, 512}, {592, kAheadAny, 512}, {1024, kAhead}}}},
    // kSoftmax
    {{{{3, kEight}, {20, kFour, 512}, {512, kEight}, {1024, kAhead}}}, {{{512, kEight}, {1024, kAhead}}}},
    // kMoments
    {{{{3, kEight}, {6, kFour, 512}, {512, kEight}, {1024, kAhead}}},
     {{{8, kFour, 512}, {512, kEight}, {1024, kAhead}}}},
};

/// The same where memory is fast (RowDevice): long rows of it are there sooner than small blocks have begun the next.
inline constexpr Holdings kOfLargeTensorsInFastMemory[][2] = {
    // kOneSum
    {{{{2.5, kWarp},
       {3, kEight},
       {16, kFour, 512},
       {192, kEight},
       {512, kAhead},
       {592, kAheadAny, 512},
       {1024, kAhead}}},
     {{{20, kFour, 512}, {300, kEight}, {512, kAhead}, {576, kAheadAny, 512}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{32, kFour, 512}, {256, kFour, 256}, {512, kEight}, {1024, kSixteen}}},
     {{{16, kFour, 512}, {256, kFour, 256}, {512, kEight}, {1024, kSixteen}}}},
    // kSoftmax
    {{{{3, kWarp},
       {20, kFour, 512},
       {192, kEight},
       {264, kAhead, 512},
       {328, kAhead},
       {392, kAhead, 512},
       {424, kAhead},
       {1024, kAhead, 512}}},
     {{{5, kWarp},
       {296, kEight},
       {328, kAheadAny, 512},
       {344, kEight},
       {512, kAhead, 512},
       {592, kAheadAny, 512},
       {1024, kAhead, 512}}}},
    // kMoments
    {{{{2.5, kWarp},
       {4, kEight},
       {5, kWarp},
       {6, kFour, 512},
       {216, kEight},
       {264, kAheadAny, 512},
       {328, kAhead},
       {392, kAhead, 512},
       {440, kAhead},
       {500, kAhead, 512},
       {1024, kAhead}}},
     {{{4, kEight}, {8, kFour, 512}, {260, kEight}, {344, kAheadAny, 512}, {1024, kAhead, 512}}}},
};

// The same of rows of vectors that are not plain: a caller has them begin elsewhere, or elements have 8 bytes. They
// want more of everything, so that fewer are at work at a time; blocks of 4 vectors have at most 256 threads. Those of
// one input are moved in registers (row_shifted.cuh), but for wider elements that are looked ahead to; those, and two
// inputs, in shared memory, which holds such as are not moved at all (row_in_shared.cuh).

/// One input, and two.
inline constexpr Holdings kOfFewShiftedRows[2] = {
    {{{16, kFour, 256}, {128, kFour, 128}, {256, kFour, 256}, {512, kEight}, {1024, kAheadAny, 512}}},
    {{{16, kFour, 256}, {128, kFour, 128}, {256, kFour, 256}, {512, kAheadAny, 256}, {1024, kAheadAny, 512}}},
};

/// Of up to AreSomeRows, and of larger tensors.
inline constexpr Holdings kOfShiftedRows[][2] = {
    // kOneSum
    {{{{36, kEight}, {128, kAheadAny, 128}, {1024, kAhead}}},
     {{{36, kFour, 256}, {64, kFour, 128}, {128, kAheadAny, 128}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{15, kFour, 256},
       {28, kRoomy, 512},
       {120, kFour, 128},
       {256, kFour, 256},
       {512, kInShared},
       {1024, kAhead, 512}}},
     {{{15, kFour, 256},
       {26, kRoomy, 512},
       {120, kFour, 128},
       {256, kFour, 256},
       {512, kInShared},
       {1024, kAhead, 512}}}},
    // kSoftmax
    {{{{128, kEight}, {1024, kAhead}}}, {{{5, kEight}, {8, kFour, 256}, {512, kEight}, {1024, kAhead}}}},
    // kMoments
    {{{{512, kEight}, {1024, kAhead}}}, {{{5, kInShared}, {12, kFour, 256}, {256, kInShared}, {1024, kAhead}}}},
};

inline constexpr Holdings kOfLargeShiftedTensors[][2] = {
    // kOneSum
    {{{{3, kEight}, {40, kFour, 128}, {256, kEight}, {1024, kAhead}}}, {{{100, kFour, 128}, {1024, kInShared}}}},
    // kTwoInputs
    {kOfShiftedRows[1][0], kOfShiftedRows[1][1]},
    // kSoftmax
    {{{{512, kEight}, {592, kAheadAny, 512}, {1024, kAhead}}}, {{{5, kEight}, {16, kFour, 256}, {1024, kInShared}}}},
    // kMoments
    {{{{512, kEight}, {592, kAheadAny, 512}, {1024, kAhead}}}, {{{5, kInShared}, {16, kFour, 256}, {1024, kInShared}}}},
};

/// The same where memory is fast.
inline constexpr Holdings kOfLargeShiftedTensorsInFastMemory[][2] = {
    // kOneSum
    {{{{3, kEight}, {8, kFour, 128}, {14, kFour, 256}, {1024, kAhead, 512}}},
     {{{4, kInShared}, {16, kFour, 256}, {1024, kInShared}}}},
    // kTwoInputs
    {{{{16, kFour, 256}, {20, kRoomy, 512}, {32, kFour, 256}, {64, kFour, 128}, {512, kInShared}, {1024, kAhead, 512}}},
     {{{16, kFour, 256}, {20, kRoomy, 512}, {28, kFour, 256}, {512, kInShared}, {1024, kAhead, 512}}}},
    // kSoftmax
    {{{{16, kFour, 256}, {512, kEight}, {592, kAheadAny, 512}, {1024, kAhead}}}, {{{512, kEight}, {1024, kInShared}}}},
    // kMoments
    {kOfLargeShiftedTensors[3][0], {{{1024, kInShared}}}},
};

/// Two inputs, a few rounds of rows that a block does not hold.
inline constexpr Holdings kOfSomeLongShiftedRows = {{{120, kFour, 128}, {256, kFour, 256}, {1024, kAhead, 512}}};

// The same where nothing but where its tensors begin is unusual of a launch (RowAccess::kMisaligned): all are moved in
// registers, of which threads have more than others. Measured on an H200.

/// One input, or 2-byte elements, and two of wider ones.
inline constexpr Holdings kOfFewMisalignedRows[2] = {
    {{{128, kFour, 128}, {256, kFour, 256}, {512, kEight}, {1024, kAhead, 512}}},
    {{{512, kEight}, {1024, kAhead, 512}}},
};

/// Of up to AreSomeRows, and of larger tensors. What a warp can have is up to 1.5 times as fast so as by several that
/// leave much empty.
inline constexpr Holdings kOfMisalignedRows[][2] = {
    // kOneSum
    {{{{6, kWarp}, {16, kEight}, {1024, kAhead}}}, {{{6, kWarp}, {16, kEight}, {64, kFour, 128}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{512, kEight}, {1024, kAhead, 512}}}, {{{512, kEight}, {1024, kAhead, 512}}}},
    // kSoftmax
    {{{{6, kWarp}, {16, kEight}, {1024, kAhead}}}, {{{6, kWarp}, {64, kEight}, {1024, kAhead}}}},
    // kMoments
    {{{{6, kWarp}, {512, kEight}, {1024, kAhead}}}, {{{6, kWarp}, {512, kEight}, {1024, kAhead}}}},
};
inline constexpr Holdings kOfLargeMisalignedTensors[][2] = {
    // kOneSum
    {{{{6, kWarp}, {32, kEight}, {1024, kAhead}}}, {{{6, kWarp}, {64, kEight}, {1024, kAhead}}}},
    // kTwoInputs
    {{{{512, kEight}, {1024, kSixteen}}}, {{{512, kEight}, {1024, kSixteen}}}},
    // kSoftmax
    {{{{6, kWarp}, {32, kEight}, {1024, kAhead}}}, kOfMisalignedRows[2][1]},
    // kMoments; wide rows of half a MiB and more fill half of a device in registers
    {kOfMisalignedRows[3][0], {{{6, kWarp}, {512, kEight}, {760, kInShared}, {1024, kAhead}}}},
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_
