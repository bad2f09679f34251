#include "client/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>

namespace kernelwire::cli {

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (terminal_) {
    std::cerr << "\r\x1b[K" << std::flush;
  }
}

void ProgressBar::Show(double share, std::uint64_t calls) {
  if (!terminal_) {
    return;
  }
  constexpr std::size_t kWidth = 40;
  const auto done = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(kWidth));
  std::cerr << "\r[" << std::string(done, '#') << std::string(kWidth - done, '.') << "] " << calls << " calls\x1b[K"
            << std::flush;
}

}  // namespace kernelwire::cli
