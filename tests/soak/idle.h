// What the first call after a pause costs.
#ifndef KERNELWIRE_TESTS_SOAK_IDLE_H_
#define KERNELWIRE_TESTS_SOAK_IDLE_H_

#include <string>

#include "absl/time/time.h"

namespace kernelwire::soak {

/// Prints the latency of the first call after each of `periods` pauses on an open connection beside that of calls right
/// after it, and the medians. Whether the first is at most 2 ms slower.
bool MeasureIdle(const std::string& address, int periods, absl::Duration pause);

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_IDLE_H_
