// The counters of one thread, and the set of them that a Metrics object adds up.
//
// Every thread that records owns a shard: plain loads and stores of relaxed atomics, no locked instruction, no cache
// line that another recording thread writes. A shard outlives its thread: the next thread that comes takes it over with
// the counts in it, so totals never go back and memory is bounded by the most threads that ever recorded at once.
#ifndef KERNELWIRE_SERVER_OBSERVE_METRICS_SHARDS_H_
#define KERNELWIRE_SERVER_OBSERVE_METRICS_SHARDS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "server/observe/metrics.h"

namespace kernelwire {

/// Canonical status codes, OK included.
inline constexpr int kCodeCount = 17;

/// Upper bounds in nanoseconds: 5 us to 10 s, dense where kernels and short calls are.
inline constexpr std::array<std::uint64_t, 28> kDurationBounds = {
    5'000,       10'000,      15'000,      20'000,        30'000,        40'000,        50'000,
    75'000,      100'000,     150'000,     200'000,       300'000,       500'000,       750'000,
    1'000'000,   2'000'000,   3'000'000,   5'000'000,     10'000'000,    20'000'000,    50'000'000,
    100'000'000, 200'000'000, 500'000'000, 1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000};
inline constexpr std::array<std::uint64_t, 16> kBatchRequestBounds = {1,  2,  3,  4,  6,   8,   12,  16,
                                                                      24, 32, 48, 64, 128, 256, 512, 1024};
inline constexpr std::array<std::uint64_t, 15> kBatchRowBounds = {
    1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456};

/// A number that one thread writes and any thread may read. A reader may be a few counts late, never wrong for ever.
class ShardCounter {
 public:
  void Add(std::uint64_t amount) { Set(Get() + amount); }
  void Set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  std::uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The sum of a histogram over all shards. `buckets` are not cumulative; the last one has no upper bound.
template <std::size_t kBounds>
struct HistogramTotals {
  std::array<std::uint64_t, kBounds + 1> buckets{};
  std::uint64_t sum = 0;

  std::uint64_t Count() const {
    std::uint64_t count = 0;
    for (const std::uint64_t bucket : buckets) {
      count += bucket;
    }
    return count;
  }
};

/// Its count is the sum of its buckets, so that the two agree in every scrape.
template <std::size_t kBounds>
class ShardHistogram {
 public:
  void Record(const std::array<std::uint64_t, kBounds>& bounds, std::uint64_t value) {
    const auto bound = std::lower_bound(bounds.begin(), bounds.end(), value);
    buckets_[static_cast<std::size_t>(bound - bounds.begin())].Add(1);
    sum_.Add(value);
  }
  void AddTo(HistogramTotals<kBounds>* totals) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      totals->buckets[i] += buckets_[i].Get();
    }
    totals->sum += sum_.Get();
  }

 private:
  std::array<ShardCounter, kBounds + 1> buckets_;
  ShardCounter sum_;
};

using DurationHistogram = ShardHistogram<kDurationBounds.size()>;
using DurationTotals = HistogramTotals<kDurationBounds.size()>;

/// What one thread counted. One writer at a time; readers at any time.
struct alignas(64) MetricsShard {
  struct PerOperator {
    std::array<DurationHistogram, kCodeCount> durations;
    std::array<DurationHistogram, kStageCount> stages;
    ShardHistogram<kBatchRequestBounds.size()> batch_requests;
    ShardHistogram<kBatchRowBounds.size()> batch_rows;
    // Of successful requests alone, as ModelStatistics has them; nanoseconds.
    ShardCounter queue, compute_input, compute_infer, compute_output;
    ShardCounter last_inference_millis;
  };
  /// Of the batches of one size.
  struct BatchSizeTotals {
    std::uint64_t batches = 0;
    std::uint64_t copy_in = 0;
    std::uint64_t kernel = 0;
    std::uint64_t copy_out = 0;
  };

  explicit MetricsShard(std::size_t operator_count) : operators(operator_count) {}
  /// Ends the process on an index that is none: it could only come from a mistake of ours.
  PerOperator& Of(std::uint32_t op_index);

  std::vector<PerOperator> operators;
  std::array<ShardCounter, kCodeCount> errors;
  // Exact sizes, so a map; its lock is met by a reader of statistics only.
  std::mutex batch_sizes_mutex;
  std::map<std::pair<std::uint32_t, std::uint64_t>, BatchSizeTotals> batch_sizes;  // by operator and requests
};

/// All shards of one Metrics object. Thread-safe. Owned by a shared_ptr, since threads outlive Metrics and the reverse.
class MetricsShardSet : public std::enable_shared_from_this<MetricsShardSet> {
 public:
  explicit MetricsShardSet(std::size_t operator_count);

  /// The calling thread's shard; made or taken over on its first call.
  MetricsShard& Local();

  /// Calls `visit` with every shard. Shards are not added meanwhile; their counts may move.
  void ForEach(const std::function<void(MetricsShard&)>& visit) const;
  std::size_t shard_count() const;

 private:
  friend class ThreadShards;
  MetricsShard* Acquire();
  void GiveBack(MetricsShard* shard);

  const std::size_t operator_count_;
  const std::uint64_t serial_;  // never used twice in a process: an address may be
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<MetricsShard>> shards_;
  std::vector<MetricsShard*> spare_;  // of threads that ended
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_METRICS_SHARDS_H_
