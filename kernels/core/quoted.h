// Text that a client sent, as part of an error message.
#ifndef KERNELWIRE_KERNELS_CORE_QUOTED_H_
#define KERNELWIRE_KERNELS_CORE_QUOTED_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kernelwire {

/// The longest that `Quoted` leaves of a text, the quotes not counted. Escapes count as they are printed.
inline constexpr std::size_t kLongestQuote = 100;

/// `text` between single quotes, on one line and short, so that no name in a request can break the reply's headers:
/// control characters, quotes and backslashes are escaped, bytes that are not UTF-8 too, and what is too long ends
/// in "...".
std::string Quoted(std::string_view text);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_QUOTED_H_
