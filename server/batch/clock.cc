#include "server/batch/clock.h"

#include <chrono>

namespace kernelwire {

Nanos SteadyClock::Now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace kernelwire
