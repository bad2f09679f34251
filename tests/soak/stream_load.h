// One caller of ModelStreamInfer.
#ifndef KERNELWIRE_TESTS_SOAK_STREAM_LOAD_H_
#define KERNELWIRE_TESTS_SOAK_STREAM_LOAD_H_

#include "tests/soak/load.h"

namespace kernelwire::soak {

inline constexpr int kStreamWindow = 8;

/// Opens one stream after the other, some hundred requests each, while the load lasts; one in sixteen is cancelled in
/// the middle. The caller ends, and deletes itself, with the last of them.
void StartStreamCaller(LoadState* state, std::size_t channel);

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_STREAM_LOAD_H_
