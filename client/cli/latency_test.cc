#include "client/cli/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::HasSubstr;

TEST(LatencyHistogram, PercentilesAreAtMostAHundredthTooHigh) {
  constexpr unsigned kSeed = 11;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937_64 random(kSeed);
  std::lognormal_distribution<double> durations(12, 2);
  LatencyHistogram histogram;
  std::vector<std::int64_t> sorted;
  for (int i = 0; i < 20000; ++i) {
    sorted.push_back(std::llround(durations(random)));
    histogram.Add(nanoseconds(sorted.back()));
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double percent : {0.01, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
    const auto exact = static_cast<double>(sorted[rank - 1]);
    const auto found = static_cast<double>(histogram.Percentile(percent).count());
    EXPECT_GE(found, exact) << percent;
    EXPECT_LE(found, exact * 1.008) << percent;
  }
  EXPECT_EQ(histogram.max().count(), sorted.back());
  EXPECT_EQ(histogram.Percentile(100), histogram.max());
}

TEST(LatencyHistogram, TakesTheWholeRange) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(50), 0ns);
  EXPECT_EQ(histogram.Mean(), 0ns);
  for (int bit = 0; bit < 62; ++bit) {
    LatencyHistogram one;
    for (const std::int64_t value :
         {(std::int64_t{1} << bit) - 1, std::int64_t{1} << bit, (std::int64_t{1} << bit) + 1}) {
      one.Add(nanoseconds(value));
      EXPECT_GE(one.Percentile(100).count(), value);
    }
  }
  histogram.Add(-5ns);
  histogram.Add(nanoseconds::max());
  EXPECT_EQ(histogram.Percentile(50), 0ns);
  EXPECT_EQ(histogram.Percentile(100), nanoseconds::max());
}

TEST(LatencyHistogram, MergesAndDraws) {
  const auto first = std::make_unique<LatencyHistogram>();
  const auto second = std::make_unique<LatencyHistogram>();
  for (int i = 0; i < 99; ++i) {
    first->Add(40us);
  }
  second->Add(3ms);
  first->Merge(*second);
  EXPECT_EQ(first->count(), 100u);
  EXPECT_EQ(first->Mean(), 69600ns);
  EXPECT_THAT(first->ToString(), HasSubstr("50.0 us     99  " + std::string(50, '#') + "\n"));
  EXPECT_THAT(first->ToString(), HasSubstr("5.00 ms      1  #\n"));
}

TEST(DurationText, PicksTheUnit) {
  EXPECT_EQ(DurationText(0ns), "0 ns");
  EXPECT_EQ(DurationText(999ns), "999 ns");
  EXPECT_EQ(DurationText(36200ns), "36.2 us");
  EXPECT_EQ(DurationText(1250us), "1.25 ms");
  EXPECT_EQ(DurationText(125s), "125 s");
}

}  // namespace
}  // namespace kernelwire::cli
