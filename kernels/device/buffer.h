// Owned memory: on the device, and page-locked on the host. Managed memory is not offered: its pages move behind the
// program's back, so neither its cost nor its place can be promised.
#ifndef KERNELWIRE_KERNELS_DEVICE_BUFFER_H_
#define KERNELWIRE_KERNELS_DEVICE_BUFFER_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {

/// Memory of the device that was current when it was made, aligned to 256 bytes. Movable. Freeing waits for the device.
class DeviceBuffer {
 public:
  /// Zero bytes give a null pointer. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<DeviceBuffer> Create(std::size_t bytes) {
    void* data = nullptr;
    if (bytes > 0) {
      KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMalloc(&data, bytes));
    }
    return DeviceBuffer(static_cast<std::byte*>(data), bytes);
  }

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { static_cast<void>(cudaFree(data)); }
  };
  DeviceBuffer(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

/// Page-locked host memory, aligned to a page, usable from every device of the process and readable by kernels in
/// place. Movable. Freeing waits for the devices.
class PinnedBuffer {
 public:
  /// Zero bytes give null pointers. Errors: RESOURCE_EXHAUSTED (often: the limit on locked memory).
  static absl::StatusOr<PinnedBuffer> Create(std::size_t bytes) {
    void* data = nullptr;
    if (bytes == 0) {
      return PinnedBuffer(nullptr, nullptr, 0);
    }
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    PinnedBuffer buffer(static_cast<std::byte*>(data), nullptr, bytes);
    void* device_data = nullptr;
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaHostGetDevicePointer(&device_data, data, 0));
    buffer.device_data_ = static_cast<std::byte*>(device_data);
    return buffer;
  }

  std::byte* data() const { return data_.get(); }
  std::byte* device_data() const { return device_data_; }  // the same bytes, by the address that kernels use
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { static_cast<void>(cudaFreeHost(data)); }
  };
  PinnedBuffer(std::byte* data, std::byte* device_data, std::size_t size)
      : data_(data), device_data_(device_data), size_(size) {}

  std::unique_ptr<std::byte, Free> data_;
  std::byte* device_data_;
  std::size_t size_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_BUFFER_H_
