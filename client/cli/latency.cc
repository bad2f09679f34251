#include "client/cli/latency.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "client/cli/table.h"

namespace kernelwire::cli {

std::size_t LatencyHistogram::ClassOf(std::uint64_t value) {
  // So many bits are left off that below 2 * 128 remains.
  const unsigned width = value == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(value));
  const unsigned shift = width > kSubclassBits + 1 ? width - kSubclassBits - 1 : 0;
  // All shifts but the first use only the upper half of those, so the ranges follow one another.
  return (static_cast<std::size_t>(shift) << kSubclassBits) + static_cast<std::size_t>(value >> shift);
}

std::uint64_t LatencyHistogram::UpperBound(std::size_t index) {
  constexpr std::size_t kSubclasses = std::size_t{1} << kSubclassBits;
  if (index < 2 * kSubclasses) {
    return index;
  }
  const std::size_t shift = index / kSubclasses - 1;
  const std::uint64_t lowest = static_cast<std::uint64_t>(index - shift * kSubclasses) << shift;
  return lowest + (std::uint64_t{1} << shift) - 1;
}

void LatencyHistogram::Add(Nanoseconds duration) {
  duration = std::max(duration, Nanoseconds(0));
  ++classes_[ClassOf(static_cast<std::uint64_t>(duration.count()))];
  ++count_;
  sum_ += duration;
  max_ = std::max(max_, duration);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kClasses; ++i) {
    classes_[i] += other.classes_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

LatencyHistogram::Nanoseconds LatencyHistogram::Mean() const {
  return count_ == 0 ? Nanoseconds(0) : sum_ / static_cast<std::int64_t>(count_);
}

LatencyHistogram::Nanoseconds LatencyHistogram::Percentile(double percent) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    seen += classes_[i];
    if (seen >= rank && seen > 0) {
      return std::min(max_, Nanoseconds(UpperBound(i)));
    }
  }
  return max_;
}

std::string LatencyHistogram::ToString() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bars;  // upper bound, count
  for (std::size_t i = 0; i < kClasses; ++i) {
    if (classes_[i] == 0) {
      continue;
    }
    std::uint64_t bound = 1000;  // 1 us
    for (int step = 0; bound < UpperBound(i); ++step) {
      bound = step % 3 == 1 ? bound / 2 * 5 : bound * 2;  // 1, 2, 5, 10, 20, 50 ...
    }
    if (bars.empty() || bars.back().first != bound) {
      bars.emplace_back(bound, 0);
    }
    bars.back().second += classes_[i];
  }
  constexpr double kLongestBar = 50;
  std::uint64_t most = 1;
  for (const auto& bar : bars) {
    most = std::max(most, bar.second);
  }
  Table table({">up to", ">calls", ""});
  for (const auto& [bound, calls] : bars) {
    const double length = kLongestBar * static_cast<double>(calls) / static_cast<double>(most);
    table.Add({DurationText(Nanoseconds(bound)), std::to_string(calls),
               std::string(static_cast<std::size_t>(std::ceil(length)), '#')});
  }
  return table.ToString();
}

std::string DurationText(std::chrono::nanoseconds duration) {
  static constexpr std::pair<double, const char*> kUnits[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};
  const auto value = static_cast<double>(duration.count());
  for (const auto& [size, unit] : kUnits) {
    if (value >= size) {
      const double scaled = value / size;
      return Fixed(scaled, scaled < 10 ? 2 : scaled < 100 ? 1 : 0) + unit;
    }
  }
  return Fixed(value, 0) + " ns";
}

}  // namespace kernelwire::cli
