// Values of flags that Abseil has no type for: sizes with a unit, lists, and "model=delay" pairs.
#ifndef KERNELWIRE_SERVER_OPTION_VALUES_H_
#define KERNELWIRE_SERVER_OPTION_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kernelwire {

/// A number of bytes: "1048576", "1MiB", "64KiB", "2GiB". Whole numbers only.
struct ByteSize {
  std::int64_t bytes = 0;
};

/// What Abseil calls to read and print a flag of this type.
bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error);
/// With the largest unit that divides it: "64MiB".
std::string AbslUnparseFlag(ByteSize size);

/// "a,b" as {"a", "b"}; blanks around entries are dropped; "" is the empty list. An empty entry stays, for the caller
/// to refuse.
std::vector<std::string> SplitList(std::string_view text);

/// "0,2" as {0, 2}. Errors: INVALID_ARGUMENT for an entry that is no whole number >= 0, and for one given twice.
absl::StatusOr<std::vector<int>> ParseOrdinals(std::string_view text);

/// "softmax=200us,nms=1ms". Errors: INVALID_ARGUMENT for an entry of another form, and for a name given twice.
absl::StatusOr<std::vector<std::pair<std::string, absl::Duration>>> ParseDelays(std::string_view text);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OPTION_VALUES_H_
