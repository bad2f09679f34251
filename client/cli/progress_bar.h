// A line on the terminal that says how far a long run is.
#ifndef KERNELWIRE_CLIENT_CLI_PROGRESS_BAR_H_
#define KERNELWIRE_CLIENT_CLI_PROGRESS_BAR_H_

#include <cstdint>

namespace kernelwire::cli {

/// Writes to standard error if that is a terminal, and nothing otherwise; erased when it goes.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `share` done, in [0, 1].
  void Show(double share, std::uint64_t calls);

 private:
  const bool terminal_;
};

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_PROGRESS_BAR_H_
