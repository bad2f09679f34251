#include "kernels/primitives/row_share.h"

#include <algorithm>
#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {
namespace {

/// Words of a share that many blocks have room to hold side by side.
constexpr std::int64_t kMostOfShare = 6400;

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
  const ShapesInUse used = WordsInUse(work, element_bytes);
  const int elevenths = AreNorms(work) ? 11 : 12;
  WordsOfShare best(work, used.first, share);
  std::int64_t least = kLongestHeldRow;
  for (int i = used.first; i < CountOfWords(work, element_bytes) && (i < used.behind || least == kLongestHeldRow);
       ++i) {
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

/// The same of 16-bit layer_norm, whose instructions count: the last warp looks for the row's end word by word, and the
/// others wait for it. Where it has more than half of its words, a shape is better that leaves it hardly any, up to 1.3
/// times on an H200, unless the row is so short that this leaves much of the block empty.
WordsOfShare ShareWordsThatEndWell(RowWork work, int element_bytes, std::int64_t share) {
  constexpr int kLeastWords = 20;
  const WordsOfShare usual = ShareWords(work, element_bytes, share);
  const auto words_of_last = [&](const WordsOfShare& shape) { return (share - 1) % (32 * shape.words) + 1; };
  WordsOfShare best = usual;
  bool found = false;
  for (int i = 0; i < CountOfWords(work, element_bytes) && words_of_last(usual) > 16 * usual.words; ++i) {
    const WordsOfShare next(work, i, share);
    const bool ends_well = words_of_last(next) * 10 <= 3 * 32 * next.words && next.held * 4 <= share * 5;
    const bool fits = next.words >= kLeastWords && next.threads >= 128 && next.threads <= MostThreadsOfWords(work, i);
    const bool is_before = i > 0 && WordsOfBlocks(work).by_words[i - 1].words == next.words &&
                           next.threads <= MostThreadsOfWords(work, i - 1);  // a kernel of the shape before
    if (fits && !is_before && ends_well && (!found || next.resident > best.resident)) {
      best = next;
      found = true;
    }
  }
  return best;
}

/// The same in a smaller block's fewer words a thread where those would be 24 or more. Blocks that keep parameters are
/// as fast so, others up to 1.14 times as fast in tensors of 2^24 elements, and 1.37 in 2^18 (an H200).
WordsOfShare ShareFewWordsThatEndWell(RowWork work, int element_bytes, std::int64_t share) {
  constexpr int kMostThreads = 224;
  constexpr std::int64_t kLeastShare = 192 * 14;  // in fewer warps large tensors lose up to 8 %
  const WordsOfShare usual = ShareWordsThatEndWell(work, element_bytes, share);
  for (int i = 0; i < CountOfWords(work, element_bytes) && usual.words >= 24 && share > kLeastShare; ++i) {
    const WordsOfShare next(work, i, share);
    if (next.words < 24 && next.threads <= kMostThreads) {
      return next;
    }
  }
  return usual;
}

/// Blocks of a cluster, as few threads as have room for a row, four warps or more.
struct WordsOfCluster {
  int words;
  int threads = 128;
  std::int64_t blocks;

  WordsOfCluster(int words_of_thread, std::int64_t row_words) : words(words_of_thread) {
    while (row_words > kMostBlocksOfRow * Held()) {
      threads += 32;
    }
    blocks = (row_words + Held() - 1) / Held();
  }
  /// Of so many threads.
  WordsOfCluster(int words_of_thread, int threads_of_block, std::int64_t row_words)
      : words(words_of_thread), threads(threads_of_block), blocks((row_words + Held() - 1) / Held()) {}
  std::int64_t Held() const { return std::int64_t{threads} * words; }
};

/// Whether a multiprocessor that has registers for so many warps has them for a whole number of these blocks.
bool FillRegisters(const WordsOfCluster& cluster, int warps) { return warps % (cluster.threads / 32) == 0; }

/// Blocks of 16-bit layer_norm, which keep parameters beside a row that is on its way: three times what threads hold is
/// what a multiprocessor has room for. The order is that of choice where several are as good.
struct KeepingBlocks {
  int threads;
  int words;
  int at_a_time;   // of a multiprocessor
  int hundredths;  // of the speed of the first, if both are as busy
};
constexpr KeepingBlocks kKeepingBlocks[] = {{128, 28, 5, 100}, {128, 24, 5, 93}, {160, 24, 4, 93}, {160, 28, 4, 93},
                                            {192, 24, 4, 93},  {192, 28, 3, 92}, {256, 24, 3, 92}, {224, 28, 2, 74}};

/// How much of what they could do the multiprocessors of a group do for rows that such clusters share, in hundredths of
/// a thousandth: those that have the most blocks take as long as if others had as many, and what shares have empty
/// takes as long as if it were not. An H200's speeds follow this to a few hundredths.
std::int64_t BusyFor(std::int64_t row_words, const WordsOfCluster& cluster, const KeepingBlocks& its) {
  const std::int64_t clusters = kMultiprocessorsOfGroup * its.at_a_time / cluster.blocks;
  const std::int64_t most = (clusters * cluster.blocks + kMultiprocessorsOfGroup - 1) / kMultiprocessorsOfGroup;
  return its.hundredths * 1000 * clusters * row_words / (kMultiprocessorsOfGroup * most * cluster.Held());
}

/// 16-bit rows of layer_norm: the shares that keep multiprocessors busiest, up to 1.2 times as fast as the fewest
/// blocks.
WordsOfCluster ShareBesideParameters(std::int64_t row_words) {
  WordsOfCluster best(28, row_words);  // of the longest
  std::int64_t busiest = 0;
  for (const KeepingBlocks& its : kKeepingBlocks) {
    const WordsOfCluster next(its.words, its.threads, row_words);
    const bool is_cluster = next.blocks > 1 && next.blocks <= kMostBlocksOfRow;
    const std::int64_t busy = is_cluster ? BusyFor(row_words, next, its) : 0;
    if (busy > busiest) {
      busiest = busy;
      best = next;
    }
  }
  return best;
}

/// Norms of 4-byte elements.
WordsOfCluster ShareWordsOfNorms(RowWork work, std::int64_t row_words, const WordsOfCluster& most) {
  constexpr int kUsual = 3;
  const WordsOfCluster usual(WordsOfBlocks(work).by_words[kUsual].words, row_words);
  return usual.threads <= MostThreadsOfWords(work, kUsual) ? usual : most;
}

/// Norms of 2-byte elements. Threads have 20 words as long as a multiprocessor has four blocks, then those that let a
/// group of multiprocessors have more rows at a time, up to 1.13 times as fast: nine blocks of 256 threads with 36
/// words, which leave room for five rows, or those of 224 with 28 words for four. Longer ones have 20 words as long as
/// they can, then 36 in blocks of up to 256 threads, or else 28.
WordsOfCluster ShareHalvesOfNorms(std::int64_t row_words) {
  constexpr int kMostLarge = 9;
  const WordsOfCluster usual(20, row_words);
  const WordsOfCluster large(36, 256, row_words);
  const WordsOfCluster small(28, 224, row_words);
  const WordsOfCluster longest(36, row_words);
  return usual.threads <= 224               ? usual
         : large.blocks <= kMostLarge       ? large
         : small.blocks <= kMostBlocksOfRow ? small
         : usual.threads <= 320             ? usual
         : longest.threads <= 256           ? longest
                                            : WordsOfCluster(28, row_words);
}

/// Small blocks begin and end often, each at its own time, so that a multiprocessor always has some that read and some
/// that write; as many of them as have a share each, and no power of two, leave little empty. Of softmax and FP32
/// layer_norm threads have 24 words, unless others leave so much less empty that it makes good what they are slower by.
WordsOfCluster ShareAmongBlocks(RowWork work, std::int64_t row_words, int element_bytes) {
  if (work == RowWork::kMoments && element_bytes == 2) {
    return ShareBesideParameters(row_words);
  }
  const WordsOfCluster most(28, row_words);
  if (AreNorms(work)) {
    return element_bytes == 2 ? ShareHalvesOfNorms(row_words) : ShareWordsOfNorms(work, row_words, most);
  }
  const WordsOfCluster usual(24, row_words);
  // Their blocks keep parameters: up to 1.24 times as fast on an H200.
  if (work == RowWork::kMoments && !FillRegisters(most, 20) && FillRegisters(usual, 24) && usual.threads <= 256) {
    return usual;
  }
  // The longest, which are of 16 bits, in larger blocks: up to 1.1 times as fast. Three of 256 threads fill a
  // multiprocessor's registers: up to 1.04 times as fast as three of 288 with fewer words.
  constexpr int kMostThreads = 320;
  constexpr int kThreadsThatFill = 256;
  if (AreOfSoftmax(work) && most.threads > 128 && usual.threads <= kMostThreads) {
    return usual.Held() < most.Held() && most.threads != kThreadsThatFill ? usual : most;
  }
  const WordsOfCluster fewer(20, row_words);
  const auto cost = [](const WordsOfCluster& cluster, int hundredths) {
    return cluster.threads > 128 ? kLongestHeldRow : cluster.blocks * cluster.Held() * hundredths / 100;
  };
  const std::int64_t of_usual = cost(usual, 100);
  const std::int64_t of_fewer = cost(fewer, 108);
  return of_usual <= of_fewer && of_usual <= cost(most, 104) && of_usual < kLongestHeldRow ? usual
         : of_fewer < cost(most, 104)                                                      ? fewer
                                                                                           : most;
}

/// As few blocks as have room for their shares beside each other, a power of two, since larger ones of other numbers
/// leave multiprocessors without one.
int BlocksByTwos(std::int64_t row_words) {
  int blocks = 1;
  while (row_words > blocks * kMostOfShare && blocks < kMostBlocksOfRow) {
    blocks *= 2;
  }
  return blocks;
}

/// FP32 rows of softmax and layer_norm that are longer than registers hold well. Of softmax, as long as blocks are
/// small, threads have as many words as can be: up to 1.25 times as fast in large tensors, and 0.9 times in small ones.
RowTuning ShareInShared(RowWork work, std::int64_t row_words) {
  constexpr int kLargestOfSmall = 160;
  RowTuning tuning;
  tuning.in_shared = true;
  const WordsOfCluster small(kSharesInShared[1].words, row_words);
  if (AreOfSoftmax(work) && small.threads <= kLargestOfSmall) {
    tuning.threads = small.threads;
    tuning.vectors = small.words;
    tuning.cluster_blocks = static_cast<int>(small.blocks);
    return tuning;
  }
  tuning.cluster_blocks = BlocksByTwos(row_words);
  const std::int64_t share = (row_words + tuning.cluster_blocks - 1) / tuning.cluster_blocks;
  const BlockWords& first = kSharesInShared[0];
  tuning.vectors = share <= std::int64_t{first.words} * first.threads ? first.words : kSharesInShared[1].words;
  tuning.threads = ThreadsOfShare(share, tuning.vectors);
  return tuning;
}

/// In registers: by a block, or two, or by many small ones. Of layer_norm of 4-byte elements these would be as large as
/// others, which just hold their shares, in some rows.
RowTuning ShareInRegisters(RowWork work, std::int64_t row_words, int element_bytes, bool clusters) {
  constexpr std::int64_t kMostOfSmallBlocks = std::int64_t{kMostBlocksOfRow} * 128 * 28;
  const bool of_moments = work == RowWork::kMoments;
  const std::int64_t most_alone = of_moments ? 10752 : kMostOfShare;
  constexpr std::int64_t kMostThatFit = std::int64_t{kMostBlocksOfRow} * 192 * 20;
  const bool small = row_words <= kMostOfSmallBlocks || row_words > kMostThatFit || !of_moments || element_bytes == 2;
  RowTuning tuning;
  if (clusters && small && row_words > (of_moments ? most_alone : 2 * kMostOfShare)) {
    const WordsOfCluster shared = ShareAmongBlocks(work, row_words, element_bytes);
    tuning.threads = shared.threads;
    tuning.vectors = shared.words;
    tuning.cluster_blocks = static_cast<int>(shared.blocks);
    return tuning;
  }
  tuning.cluster_blocks = clusters && row_words > most_alone ? BlocksByTwos(row_words) : 1;
  const std::int64_t share = (row_words + tuning.cluster_blocks - 1) / tuning.cluster_blocks;
  const WordsOfShare shared = of_moments && element_bytes == 2 ? ShareFewWordsThatEndWell(work, element_bytes, share)
                                                               : ShareWords(work, element_bytes, share);
  tuning.threads = shared.threads;
  tuning.vectors = shared.words;
  return tuning;
}

}  // namespace

RowTuning HoldInWords(RowWork work, std::int64_t row_bytes, int element_bytes, bool clusters) {
  const std::int64_t row_words = (row_bytes + 3) / 4;
  RowTuning tuning = clusters && AreSharesInShared(work, row_bytes, element_bytes)
                         ? ShareInShared(work, row_words)
                         : ShareInRegisters(work, row_words, element_bytes, clusters);
  tuning.method = RowTuning::Method::kBlocks;
  tuning.vector_bytes = 4;
  return tuning;
}

}  // namespace kernelwire
