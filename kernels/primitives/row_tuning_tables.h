// How rows that are longer than a stretch are held (row_tuning.cc): what was fastest of 64 to 512 threads with 4 or 8
// vectors, those with 8 looking ahead or not, over up to 60 lengths of rows in tensors of 2 KiB to 1 GiB
// (tests/bench/kernels), on an H200 and an H100. Host code only.
// Longer than other files, a line for each range of lengths.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_

#include <cstdint>

namespace kernelwire {

inline constexpr std::int64_t kKiB = 1024;

/// Of softmax, longer rows have all blocks of the largest cluster, of as many threads each as it takes: its arithmetic
/// takes as long as memory, and clusters of other numbers than powers of two leave multiprocessors without a row.
inline constexpr std::int64_t kLongestRowOfPowers = 512 * kKiB;

/// How a row longer than a stretch is held, up to a length.
struct Holding {
  int up_to_kib;  // 0: no more of them
  int threads;
  int vectors;
  bool looks_ahead;
};

/// By length: the first that reaches a row is its own. The last reaches kLongestHeldRow.
struct Holdings {
  Holding by_length[11];

  const Holding& Of(std::int64_t row_bytes) const {
    const Holding* holding = by_length;
    while (row_bytes > holding->up_to_kib * kKiB && holding[1].up_to_kib != 0) {
      ++holding;
    }
    return *holding;
  }
};

inline constexpr bool kAhead = true;
inline constexpr bool kAtOnce = false;

// By RowWork, and by element: of 2 bytes, which take twice the arithmetic a byte, and wider. An entry reads: up to so
// many KiB, so many threads, so many vectors, how.

/// Fewer rows than all multiprocessors want at a time, where latency is what counts: a row that a block can have is
/// not worth a cluster, a longer one is spread over many blocks.
inline constexpr Holdings kOfFewRows[2] = {
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

/// Rows that keep the whole device busy once or twice (not ReadMuch): little is gained by looking ahead.
inline constexpr Holdings kOfLittleRead[][2] = {
    // kOneSum
    {{{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
    {{{{16, 512, 4, kAtOnce},
       {28, 128, 4, kAtOnce},
       {32, 512, 4, kAtOnce},
       {112, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kSoftmax
    {{{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{32, 512, 4, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{4, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {60, 128, 8, kAtOnce},
       {64, 256, 8, kAhead},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {36, 512, 8, kAhead},
       {60, 128, 8, kAtOnce},
       {64, 256, 8, kAhead},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
};

/// Rows for a few rounds (AreSomeRows), where blocks that stay and look ahead save what all begin with. Of two inputs
/// registers hold no more rows, so none looks ahead; blocks would only stay.
inline constexpr Holdings kOfSomeRows[][2] = {
    // kOneSum
    {{{{16, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
    {{{{16, 512, 4, kAtOnce},
       {28, 128, 4, kAtOnce},
       {32, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {480, 256, 8, kAtOnce},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce},
       {128, 128, 4, kAtOnce},
       {256, 256, 4, kAtOnce},
       {480, 256, 8, kAtOnce},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    // kSoftmax
    {{{{16, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {192, 128, 8, kAtOnce},
       {256, 128, 8, kAhead},
       {340, 256, 8, kAhead},
       {480, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {192, 128, 8, kAtOnce},
       {340, 256, 8, kAhead},
       {480, 512, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{4, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
};

/// Rows of large tensors. Small blocks, several of which a multiprocessor has at a time, hide what all threads of one
/// wait for. The longest want blocks that stay.
inline constexpr Holdings kOfLargeTensors[][2] = {
    // kOneSum
    {{{{3, 256, 8, kAtOnce},
       {16, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {128, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
    {{{{32, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 512, 4, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 512, 4, kAtOnce}, {1024, 512, 8, kAhead}}}},
    // kSoftmax
    {{{{3, 256, 8, kAtOnce},
       {20, 512, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {256, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {128, 128, 8, kAtOnce},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{3, 256, 8, kAtOnce},
       {6, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {48, 128, 8, kAtOnce},
       {64, 256, 8, kAtOnce},
       {112, 128, 8, kAtOnce},
       {192, 256, 8, kAtOnce},
       {256, 128, 8, kAtOnce},
       {400, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{8, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {48, 128, 8, kAtOnce},
       {64, 256, 8, kAtOnce},
       {128, 128, 8, kAtOnce},
       {400, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
};

/// The same where memory is fast (RowDevice): it is done with a long row sooner than small blocks have begun the next.
inline constexpr Holdings kOfLargeTensorsInFastMemory[][2] = {
    // kOneSum
    {{{{3, 256, 8, kAtOnce},
       {16, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {200, 128, 8, kAtOnce},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{20, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {200, 128, 8, kAtOnce},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
    {{{{32, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{16, 512, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}}},
    // kSoftmax
    {{{{3, 256, 8, kAtOnce},
       {20, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {200, 128, 8, kAtOnce},
       {240, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce},
       {40, 512, 8, kAhead},
       {240, 128, 8, kAtOnce},
       {370, 512, 8, kAhead},
       {400, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{3, 256, 8, kAtOnce},
       {6, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {52, 512, 8, kAhead},
       {100, 128, 8, kAhead},
       {144, 512, 8, kAhead},
       {170, 256, 8, kAhead},
       {208, 512, 8, kAhead},
       {240, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{8, 512, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {52, 512, 8, kAhead},
       {112, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
};

// The same of rows of vectors that are not plain: a caller has them begin elsewhere, or elements have 8 bytes. They
// want more of everything, so that fewer are at work at a time; blocks of 4 vectors have at most 256 threads. Those of
// one input are moved in registers (row_shifted.cuh), but for wider elements that are looked ahead to; those, and two
// inputs, in shared memory.

/// One input, and two.
inline constexpr Holdings kOfFewShiftedRows[2] = {
    {{{16, 256, 4, kAtOnce},
      {128, 128, 4, kAtOnce},
      {256, 256, 4, kAtOnce},
      {512, 256, 8, kAtOnce},
      {1024, 512, 8, kAhead}}},
    {{{16, 256, 4, kAtOnce},
      {128, 128, 4, kAtOnce},
      {256, 256, 4, kAtOnce},
      {512, 256, 8, kAhead},
      {1024, 512, 8, kAhead}}},
};

/// Of up to AreSomeRows, and of larger tensors.
inline constexpr Holdings kOfShiftedRows[][2] = {
    // kOneSum
    {{{{28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}},
     {{{16, 256, 4, kAtOnce},
       {28, 256, 8, kAtOnce},
       {36, 512, 8, kAhead},
       {256, 128, 8, kAhead},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
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
    // kSoftmax
    {{{{32, 256, 8, kAtOnce},
       {200, 128, 8, kAtOnce},
       {256, 128, 8, kAhead},
       {340, 256, 8, kAhead},
       {512, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{32, 256, 8, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{8, 256, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {108, 128, 8, kAtOnce},
       {144, 128, 8, kAhead},
       {200, 128, 8, kAtOnce},
       {512, 256, 8, kAhead},
       {1024, 512, 8, kAhead}}}},
};

inline constexpr Holdings kOfLargeShiftedTensors[][2] = {
    // kOneSum
    {{{{32, 256, 8, kAtOnce}, {128, 128, 8, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{16, 256, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {128, 128, 8, kAtOnce},
       {208, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
    // kTwoInputs
    {kOfShiftedRows[1][0], kOfShiftedRows[1][1]},
    // kSoftmax
    {{{{32, 256, 8, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{32, 256, 8, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}}},
    // kMoments
    {{{{32, 256, 8, kAtOnce}, {256, 128, 8, kAtOnce}, {512, 256, 8, kAtOnce}, {1024, 512, 8, kAhead}}},
     {{{8, 256, 4, kAtOnce},
       {32, 256, 8, kAtOnce},
       {256, 128, 8, kAtOnce},
       {400, 256, 8, kAtOnce},
       {1024, 512, 8, kAhead}}}},
};

/// Two inputs, a few rounds of rows that a block does not hold.
inline constexpr Holdings kOfSomeLongShiftedRows = {
    {{120, 128, 4, kAtOnce}, {256, 256, 4, kAtOnce}, {1024, 512, 8, kAhead}}};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_TABLES_H_
