#include "server/observe/metrics_shards.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kernelwire {
namespace {

TEST(MetricsShardSet, GivesEachThreadItsOwnShard) {
  const auto set = std::make_shared<MetricsShardSet>(1);
  MetricsShard* mine = &set->Local();
  MetricsShard* other = nullptr;
  std::thread([&] { other = &set->Local(); }).join();
  EXPECT_EQ(&set->Local(), mine);
  EXPECT_NE(other, mine);
}

TEST(MetricsShardSet, HandsTheShardOfAnEndedThreadToTheNext) {
  const auto set = std::make_shared<MetricsShardSet>(1);
  for (int i = 0; i < 100; ++i) {
    std::thread([&set] { set->Local().errors[3].Add(1); }).join();
  }
  EXPECT_EQ(set->shard_count(), 1u);
  EXPECT_EQ(set->Local().errors[3].Get(), 100u);
}

TEST(MetricsShardSet, MayEndBeforeItsThreads) {
  auto first = std::make_shared<MetricsShardSet>(1);
  first->Local().errors[1].Add(7);
  first.reset();
  // A new set may lie at the same address; its counts start at 0 all the same.
  const auto second = std::make_shared<MetricsShardSet>(1);
  EXPECT_EQ(second->Local().errors[1].Get(), 0u);
}

TEST(MetricsShardSet, KeepsTwoSetsOfOneThreadApart) {
  const auto first = std::make_shared<MetricsShardSet>(1);
  const auto second = std::make_shared<MetricsShardSet>(1);
  first->Local().errors[2].Add(1);
  second->Local().errors[2].Add(10);
  EXPECT_EQ(first->Local().errors[2].Get(), 1u);
  EXPECT_EQ(second->Local().errors[2].Get(), 10u);
}

TEST(ShardHistogram, CountsABoundInItsOwnBucket) {
  DurationHistogram histogram;
  histogram.Record(kDurationBounds, 0);
  histogram.Record(kDurationBounds, 5'000);
  histogram.Record(kDurationBounds, 5'001);
  histogram.Record(kDurationBounds, 10'000'000'001);
  DurationTotals totals;
  histogram.AddTo(&totals);
  EXPECT_EQ(totals.buckets.front(), 2u);
  EXPECT_EQ(totals.buckets[1], 1u);
  EXPECT_EQ(totals.buckets.back(), 1u);
  EXPECT_EQ(totals.Count(), 4u);
  EXPECT_EQ(totals.sum, 10'000'010'002u);
}

TEST(ShardHistogram, BoundsRise) {
  EXPECT_TRUE(std::is_sorted(kDurationBounds.begin(), kDurationBounds.end()));
  EXPECT_TRUE(std::is_sorted(kBatchRequestBounds.begin(), kBatchRequestBounds.end()));
  EXPECT_TRUE(std::is_sorted(kBatchRowBounds.begin(), kBatchRowBounds.end()));
}

TEST(MetricsShardDeathTest, EndsTheProcessOnAnIndexThatIsNone) {
  MetricsShard shard(2);
  EXPECT_DEATH(shard.Of(2), "");
}

}  // namespace
}  // namespace kernelwire
