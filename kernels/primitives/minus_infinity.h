// -infinity as a constant that device code may name.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_MINUS_INFINITY_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_MINUS_INFINITY_H_

#include <limits>

namespace kernelwire {

template <typename Acc>
inline constexpr Acc kMinusInfinity = -std::numeric_limits<Acc>::infinity();

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_MINUS_INFINITY_H_
