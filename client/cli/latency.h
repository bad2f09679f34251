// Many durations, summed up in little memory.
#ifndef KERNELWIRE_CLIENT_CLI_LATENCY_H_
#define KERNELWIRE_CLIENT_CLI_LATENCY_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelwire::cli {

/// Counts in classes that grow with the value: 128 to each power of two, so that a percentile is at most 0.8 % too high
/// and never too low, whatever the range. Not thread-safe: one a thread, merged at the end.
class LatencyHistogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// A negative duration counts as 0.
  void Add(Nanoseconds duration);
  void Merge(const LatencyHistogram& other);

  std::uint64_t count() const { return count_; }
  Nanoseconds max() const { return max_; }  // exact
  Nanoseconds Mean() const;                 // exact; 0 of nothing
  /// The duration that `percent` of all do not exceed; 0 of nothing. Requires: 0 < percent <= 100.
  Nanoseconds Percentile(double percent) const;

  /// A line for each class of a coarse scale (1, 2, 5, 10 ...) that holds anything, with a bar.
  std::string ToString() const;

 private:
  static constexpr unsigned kSubclassBits = 7;
  static constexpr std::size_t kClasses = (64 - kSubclassBits + 1) << kSubclassBits;
  static std::size_t ClassOf(std::uint64_t value);
  static std::uint64_t UpperBound(std::size_t index);  // the largest value of a class

  std::array<std::uint64_t, kClasses> classes_{};
  std::uint64_t count_ = 0;
  Nanoseconds sum_{0};
  Nanoseconds max_{0};
};

/// "36.2 us", "1.25 ms", "2.00 s".
std::string DurationText(std::chrono::nanoseconds duration);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_LATENCY_H_
