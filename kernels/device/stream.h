// An owned CUDA stream.
#ifndef KERNELWIRE_KERNELS_DEVICE_STREAM_H_
#define KERNELWIRE_KERNELS_DEVICE_STREAM_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {

/// A stream of the device that was current when it was made; it does not wait for the legacy default stream. Movable.
/// Destroying it does not wait: work already enqueued still completes, so the memory it touches must outlive it.
class Stream {
 public:
  static absl::StatusOr<Stream> Create() {
    cudaStream_t stream = nullptr;
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return Stream(stream);
  }

  cudaStream_t get() const { return stream_.get(); }

  /// Blocks until everything enqueued so far has run. Errors: those of the work itself.
  absl::Status Synchronize() const { return CudaStatus(cudaStreamSynchronize(get()), "cudaStreamSynchronize"); }

 private:
  struct Destroy {
    // The result is dropped: after a sticky error it repeats that error, which the failed work has reported already.
    void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  explicit Stream(cudaStream_t stream) : stream_(stream) {}

  std::unique_ptr<CUstream_st, Destroy> stream_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_STREAM_H_
