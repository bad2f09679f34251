// Time as an argument, so that tests can turn it by hand.
#ifndef KERNELWIRE_SERVER_BATCH_CLOCK_H_
#define KERNELWIRE_SERVER_BATCH_CLOCK_H_

#include <cstdint>
#include <limits>

namespace kernelwire {

/// Nanoseconds of a clock that never goes back. The zero is arbitrary.
using Nanos = std::int64_t;
inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanos Now() const = 0;
};

/// The system's steady clock.
class SteadyClock final : public Clock {
 public:
  Nanos Now() const override;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_CLOCK_H_
