// Runs operators on one device as a library caller would, with every tensor in a separate allocation of its exact size
// between guard bands, so that a stray access is caught by the guards or by a sanitizer.
#ifndef KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_
#define KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/testing/case.h"

namespace kernelwire::testing {

class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  virtual std::string name() const = 0;  // "host" or "cuda"

  /// Plans all cases, requires their keys to be equal, runs them in ONE launch and returns each one's outputs in the
  /// spec's order (absent ones with dtype kInvalid). An error of one case's plan or check is returned as it is.
  virtual absl::StatusOr<std::vector<std::vector<HostTensor>>> RunBatch(
      const Operator& op, const std::vector<const OperatorCase*>& cases) = 0;

  absl::StatusOr<std::vector<HostTensor>> Run(const Operator& op, const OperatorCase& test_case);
};

/// The runners that this build and machine have: host always, cuda where a kernel can run.
/// The environment variable KERNELWIRE_TEST_DEVICE=host|cuda narrows it to one, and makes its absence an error.
std::vector<DeviceRunner*> AllDeviceRunners();

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_DEVICE_RUNNER_H_
