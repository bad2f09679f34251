#include "kernels/testing/cuda_runner.h"

namespace kernelwire::testing {

DeviceRunner* CudaRunner(std::string* why_none) {
  *why_none = "this build has no CUDA kernels";
  return nullptr;
}

}  // namespace kernelwire::testing
