// Gathers what is wrong with a set of options, so that all of it is reported at once.
#ifndef KERNELWIRE_SERVER_OPTION_PROBLEMS_H_
#define KERNELWIRE_SERVER_OPTION_PROBLEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "server/option_values.h"

namespace kernelwire {

/// Lines of the form "--flag: expected ..., got ...".
class OptionProblems {
 public:
  void Add(const char* flag, const std::string& text) { lines_.push_back(absl::StrCat("--", flag, ": ", text)); }

  // Each adds a line if the value is outside [least, most].
  void CheckRange(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most) {
      Add(flag, absl::StrCat("expected a whole number from ", least, " to ", most, ", got ", value));
    }
  }
  void CheckSize(const char* flag, std::int64_t bytes, std::int64_t least, std::int64_t most) {
    if (bytes < least || bytes > most) {
      Add(flag, absl::StrCat("expected a size from ", AbslUnparseFlag(ByteSize{least}), " to ",
                             AbslUnparseFlag(ByteSize{most}), ", got ", AbslUnparseFlag(ByteSize{bytes})));
    }
  }
  void CheckDuration(const char* flag, absl::Duration value, absl::Duration least, absl::Duration most) {
    if (value < least || value > most) {
      Add(flag, absl::StrCat("expected a duration from ", absl::FormatDuration(least), " to ",
                             absl::FormatDuration(most), ", got ", absl::FormatDuration(value)));
    }
  }

  /// OK, or INVALID_ARGUMENT with all lines.
  absl::Status ToStatus() const {
    return lines_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OPTION_PROBLEMS_H_
