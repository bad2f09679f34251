#include "kernels/primitives/row_share.h"

#include <algorithm>
#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {
namespace {

/// Whole warps that have `words` words each hold a share of so many.
int ThreadsOfShare(std::int64_t share, int words) {
  return static_cast<int>((share + 32 * words - 1) / (32 * words) * 32);
}

/// `share` words of a row in blocks with the threads and words of shape `index`.
struct WordsOfShare {
  int words;
  int threads;
  std::int64_t held;      // by the threads of a block
  std::int64_t resident;  // threads that a multiprocessor has at a time; small blocks begin too often to count

  WordsOfShare(RowWork work, int index, std::int64_t share) {
    const BlockWords& shape = WordsOfBlocks(work).by_words[index];
    words = shape.words;
    threads = ThreadsOfShare(share, words);
    held = std::int64_t{threads} * words;
    resident = threads < 128 ? 0 : std::int64_t{shape.threads} * shape.at_a_time / threads * threads;
  }
};

/// The best of the shapes in use that have so many words, else the first other. Norms leave as little empty as can be,
/// and have the fewest threads. Others, which wait longer between their instructions, leave up to an eleventh empty for
/// more threads to hide that.
WordsOfShare ShareWords(RowWork work, int element_bytes, std::int64_t share) {
  const BlockWordShapes& shapes = WordsOfBlocks(work);
  const ShapesInUse used = WordsInUse(work, element_bytes);
  const int elevenths = AreNorms(work) ? 11 : 12;
  WordsOfShare best(work, used.first, share);
  std::int64_t least = kLongestHeldRow;
  for (int i = used.first; i < shapes.count && (i < used.behind || least == kLongestHeldRow); ++i) {
    const WordsOfShare next(work, i, share);
    if (next.threads <= MostThreadsOfWords(work, i)) {
      least = std::min(least, next.held);
      best = next;
    }
  }
  for (int i = used.first; i < used.behind; ++i) {
    const WordsOfShare next(work, i, share);
    const bool fits = next.threads <= MostThreadsOfWords(work, i) && next.held * 11 <= least * elevenths;
    const bool better = best.held * 11 > least * elevenths || next.resident > best.resident ||
                        (next.resident == best.resident && next.held < best.held);
    if (fits && (AreNorms(work) || better)) {
      best = next;
    }
  }
  return best;
}

}  // namespace

RowTuning HoldInWords(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                      const RowDevice& device) {
  constexpr std::int64_t kMostOfShare = 6400;
  constexpr std::int64_t kLongestInRegisters = std::int64_t{128} * 1024;  // of softmax, where memory is fast
  const bool clusters = device.clusters;
  const std::int64_t most_alone = work == RowWork::kMoments ? 10752 : kMostOfShare;
  const std::int64_t words = (row_bytes + 3) / 4;
  std::int64_t blocks = 1;
  while (clusters && words > most_alone && words > blocks * kMostOfShare && blocks < kMostBlocksOfRow) {
    blocks *= 2;
  }
  RowTuning tuning;
  tuning.method = RowTuning::Method::kBlocks;
  tuning.vector_bytes = 4;
  tuning.cluster_blocks = static_cast<int>(blocks);
  const std::int64_t share = (words + blocks - 1) / blocks;
  const ShareShapes shapes = SharesInShared(work, element_bytes);
  if (clusters && !AreNorms(work) && row_bytes > shapes.longest_in_registers) {
    const BlockWords& first = shapes.by_words[0];
    const bool fits = share <= std::int64_t{first.words} * first.threads;
    tuning.vectors = fits ? first.words : shapes.by_words[1].words;
    tuning.threads = ThreadsOfShare(share, tuning.vectors);
    tuning.in_shared = shapes.of_any_tensor || !fits || !AreSomeRows(row_bytes, rows);
    return tuning;
  }
  const WordsOfShare shared = ShareWords(work, element_bytes, share);
  tuning.threads = shared.threads;
  tuning.vectors = shared.words;
  // In the same shape shared memory has room for more of them at a time; the order of additions is the same. It takes
  // more instructions, which faster memory leaves no time for.
  tuning.in_shared = clusters && work == RowWork::kSoftmax && shared.words == shapes.by_words[0].words &&
                     shared.threads <= shapes.by_words[0].threads && !AreSomeRows(row_bytes, rows) &&
                     !(device.fast_memory && row_bytes <= kLongestInRegisters);
  return tuning;
}

}  // namespace kernelwire
