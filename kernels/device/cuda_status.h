// CUDA's error codes as absl::Status, and which of them end the process.
#ifndef KERNELWIRE_KERNELS_DEVICE_CUDA_STATUS_H_
#define KERNELWIRE_KERNELS_DEVICE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"

namespace kernelwire {

/// OK for cudaSuccess. Otherwise RESOURCE_EXHAUSTED when memory ran out, UNAVAILABLE when there is no usable device or
/// the error is sticky, INTERNAL for the rest; the message holds `call`, the error's name and CUDA's sentence on it.
absl::Status CudaStatus(cudaError_t error, const char* call);

/// True for the errors after which every further CUDA call of the process fails: the process must end. These are the
/// codes of which the runtime's header says so, a device-side assertion (the same demand in other words), and
/// uncorrectable memory and NVLink errors, after which no result can be trusted.
bool IsSticky(cudaError_t error);

}  // namespace kernelwire

/// Early return for functions that return absl::Status or absl::StatusOr; the message quotes the call.
#define KERNELWIRE_RETURN_IF_CUDA_ERROR(call)                \
  do {                                                       \
    const cudaError_t error_of_call = (call);                \
    if (error_of_call != cudaSuccess) {                      \
      return ::kernelwire::CudaStatus(error_of_call, #call); \
    }                                                        \
  } while (false)

#endif  // KERNELWIRE_KERNELS_DEVICE_CUDA_STATUS_H_
