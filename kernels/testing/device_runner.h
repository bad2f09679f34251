// Runs operators on one device as a library caller would, with every tensor in a separate allocation of its exact size
// between guard bands, so that a stray access is caught by the guards or by a sanitizer.
#ifndef KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_
#define KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/testing/case.h"
#include "kernels/testing/launch_image.h"

namespace kernelwire::testing {

/// Not thread-safe: one run at a time.
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  virtual std::string name() const = 0;  // "host" or "cuda"

  /// Plans all cases, requires their keys to be equal, runs them in ONE launch and returns each one's outputs in the
  /// spec's order (absent ones with dtype kInvalid). An error of one case's plan, check or finish is returned as it is.
  ///
  /// The launch runs twice, over outputs, workspaces and guard bands filled with two different patterns, on the host
  /// once in one thread and once in several. INTERNAL when the launch wrote beside a tensor or into an input, or when
  /// the two results are not the same bits: then it left bytes unwritten, read what it must not read, or is not
  /// deterministic.
  absl::StatusOr<std::vector<std::vector<HostTensor>>> RunBatch(const Operator& op,
                                                                const std::vector<const OperatorCase*>& cases);

  absl::StatusOr<std::vector<HostTensor>> Run(const Operator& op, const OperatorCase& test_case);

  /// The same for many cases, a launch each: one after the other on one stream, without a wait between them.
  absl::StatusOr<std::vector<std::vector<HostTensor>>> RunInARow(const Operator& op,
                                                                 const std::vector<const OperatorCase*>& cases);

 protected:
  /// A launch over `image`; `plan` is that of any of its cases.
  struct ImageLaunch {
    const Plan* plan;
    const LaunchImage* image;
  };

  /// Runs the launches in order, and waits for them when all have been made. `pass` is 0 or 1.
  virtual absl::Status Execute(const Operator& op, const std::vector<ImageLaunch>& launches, int pass) = 0;

 private:
  using Batches = std::vector<std::vector<const OperatorCase*>>;
  absl::StatusOr<std::vector<std::vector<HostTensor>>> RunBatches(const Operator& op, const Batches& batches);
  absl::StatusOr<std::vector<std::vector<HostTensor>>> RunPass(const Operator& op,
                                                               const std::vector<PlannedCases>& batches, int pass);
};

/// The runners that this build and machine have: host always, cuda where a kernel can run.
/// The environment variable KERNELWIRE_TEST_DEVICE=host|cuda narrows it to one, and makes its absence an error that
/// ends the process.
std::vector<DeviceRunner*> AllDeviceRunners();

/// `widths`, and on a GPU those of `long_rows`, for which it has ways of its own: clusters, and parts. The host's own
/// ways begin where a row reads and writes 256 KiB, or 1 MiB (row_work.h): `widths` should reach there. Sanitizers take
/// minutes over longer rows.
std::vector<std::int64_t> WidthsFor(const DeviceRunner& device, std::vector<std::int64_t> widths,
                                    const std::vector<std::int64_t>& long_rows);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_
