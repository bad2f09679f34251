// What follows the counters of Launch::tickets.
#ifndef KERNELWIRE_KERNELS_CORE_LAUNCH_ARRIVALS_H_
#define KERNELWIRE_KERNELS_CORE_LAUNCH_ARRIVALS_H_

#include "kernels/core/launch.h"

namespace kernelwire {

/// Places of 16 bytes for what a block leaves to another. Blocks that share the results of a reduction have up to two
/// each.
inline constexpr int kLaunchArrivals = 8192;

/// The length of Launch::tickets.
inline constexpr int kLaunchWords = kLaunchTickets + 4 * kLaunchArrivals;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_LAUNCH_ARRIVALS_H_
