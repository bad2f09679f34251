// How places that are few are shared by those who want them.
#ifndef KERNELWIRE_SERVER_RPC_MAY_TAKE_PLACE_H_
#define KERNELWIRE_SERVER_RPC_MAY_TAKE_PLACE_H_

#include <cstddef>

namespace kernelwire {

/// Whether somebody who holds `held` places may have one more while `free` are free: if what is held is at most
/// `factor` times what then stays free (the dynamic thresholds of Choudhury and Hahne, 1998). One alone comes to hold
/// factor / (1 + factor) of all places, and k that take what they can to hold factor / (1 + k factor) each, so that a
/// place is left for the next who comes, until there are about as many of them as places. Nobody is kept from a first
/// place that is free.
constexpr bool MayTakePlace(std::size_t held, std::size_t free, std::size_t factor) {
  return free > 0 && held <= factor * (free - 1);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_MAY_TAKE_PLACE_H_
