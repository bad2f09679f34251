#include "kernels/core/quoted.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kernelwire {
namespace {

unsigned ByteAt(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// The length of the UTF-8 character at `text[0]`, which is not ASCII; 0 when there is none. Overlong forms and
/// surrogates are not characters (RFC 3629).
std::size_t Utf8Length(std::string_view text) {
  const unsigned lead = ByteAt(text, 0);
  const std::size_t length = lead >= 0xf0u ? 4 : lead >= 0xe0u ? 3 : 2;
  if (lead < 0xc2u || lead > 0xf4u || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((ByteAt(text, i) & 0xc0u) != 0x80u) {
      return 0;
    }
  }
  const unsigned second = ByteAt(text, 1);
  const bool overlong = (lead == 0xe0u && second < 0xa0u) || (lead == 0xf0u && second < 0x90u);
  const bool surrogate = lead == 0xedu && second > 0x9fu;
  const bool beyond = lead == 0xf4u && second > 0x8fu;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::string_view kMore = "...";
  std::string quoted = "'";
  std::size_t fits = quoted.size();  // where to cut if the whole text turns out too long
  std::size_t at = 0;
  while (at < text.size() && quoted.size() <= 1 + kLongestQuote) {
    const std::size_t character = ByteAt(text, at) < 0x80u ? 0 : Utf8Length(text.substr(at));
    const absl::string_view piece(text.data() + at, std::max<std::size_t>(character, 1));
    quoted += character > 0 ? std::string(piece) : absl::CHexEscape(piece);
    at += piece.size();
    if (quoted.size() <= 1 + kLongestQuote - kMore.size()) {
      fits = quoted.size();
    }
  }
  if (quoted.size() > 1 + kLongestQuote || at < text.size()) {
    quoted.resize(fits);
    quoted += kMore;
  }
  return quoted + "'";
}

}  // namespace kernelwire
