#include "server/observe/metrics_shards.h"

#include <cstdlib>

namespace kernelwire {
namespace {

std::uint64_t NextSerial() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

/// The shards that one thread holds: one for each Metrics object it recorded to. Gives them back when the thread ends.
class ThreadShards {
 public:
  ~ThreadShards() {
    for (const Entry& entry : entries_) {
      if (const std::shared_ptr<MetricsShardSet> set = entry.set.lock()) {
        set->GiveBack(entry.shard);
      }
    }
  }

  MetricsShard& Of(MetricsShardSet& set) {
    for (const Entry& entry : entries_) {
      if (entry.serial == set.serial_) {
        return *entry.shard;
      }
    }
    return Join(set);
  }

 private:
  struct Entry {
    std::uint64_t serial = 0;
    MetricsShard* shard = nullptr;  // valid as long as the set lives, as it does while somebody records to it
    std::weak_ptr<MetricsShardSet> set;
  };

  MetricsShard& Join(MetricsShardSet& set) {
    entries_.erase(
        std::remove_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.set.expired(); }),
        entries_.end());
    entries_.push_back({set.serial_, set.Acquire(), set.weak_from_this()});
    return *entries_.back().shard;
  }

  std::vector<Entry> entries_;
};

MetricsShard::PerOperator& MetricsShard::Of(std::uint32_t op_index) {
  if (op_index >= operators.size()) {
    std::abort();
  }
  return operators[op_index];
}

MetricsShardSet::MetricsShardSet(std::size_t operator_count) : operator_count_(operator_count), serial_(NextSerial()) {}

MetricsShard& MetricsShardSet::Local() {
  thread_local ThreadShards of_this_thread;
  return of_this_thread.Of(*this);
}

void MetricsShardSet::ForEach(const std::function<void(MetricsShard&)>& visit) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<MetricsShard>& shard : shards_) {
    visit(*shard);
  }
}

std::size_t MetricsShardSet::shard_count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return shards_.size();
}

MetricsShard* MetricsShardSet::Acquire() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!spare_.empty()) {
    MetricsShard* shard = spare_.back();
    spare_.pop_back();
    return shard;
  }
  shards_.push_back(std::make_unique<MetricsShard>(operator_count_));
  return shards_.back().get();
}

void MetricsShardSet::GiveBack(MetricsShard* shard) {
  std::lock_guard<std::mutex> lock(mutex_);
  spare_.push_back(shard);
}

}  // namespace kernelwire
