// What can be said of these wrappers on any machine, and, where a GPU is, that memory, streams and events do their
// work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "kernels/device/buffer.h"
#include "kernels/device/cuda_status.h"
#include "kernels/device/device_info.h"
#include "kernels/device/event.h"
#include "kernels/device/memory_rate.cuh"
#include "kernels/device/stream.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;

TEST(CudaStatusTest, SuccessIsOk) { EXPECT_TRUE(CudaStatus(cudaSuccess, "cudaMalloc").ok()); }

TEST(CudaStatusTest, MessageHoldsTheCallAndTheErrorsName) {
  const absl::Status status = CudaStatus(cudaErrorInvalidValue, "cudaMemcpyAsync");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cudaMemcpyAsync: cudaErrorInvalidValue (1): "));
}

TEST(CudaStatusTest, CodesSayWhatACallerCanDo) {
  EXPECT_EQ(CudaStatus(cudaErrorMemoryAllocation, "c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CudaStatus(cudaErrorNoDevice, "c").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CudaStatus(cudaErrorIllegalAddress, "c").code(), absl::StatusCode::kUnavailable);
}

TEST(CudaStatusTest, StickyErrors) {
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorHardwareStackError, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorLaunchFailure,
        cudaErrorContained, cudaErrorExternalDevice, cudaErrorTensorMemoryLeak, cudaErrorAssert,
        cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable}) {
    EXPECT_TRUE(IsSticky(error)) << cudaGetErrorName(error);
  }
  for (const cudaError_t error : {cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue, cudaErrorNotReady,
                                  cudaErrorLaunchOutOfResources, cudaErrorNoDevice}) {
    EXPECT_FALSE(IsSticky(error)) << cudaGetErrorName(error);
  }
}

TEST(DeviceInfoTest, CountingNeverFailsAndGivesAReasonForNone) {
  std::string why_none;
  const int count = UsableDeviceCount(&why_none);
  EXPECT_EQ(count == 0, !why_none.empty()) << why_none;
  EXPECT_EQ(UsableDeviceCount(), count);
}

TEST(DeviceInfoTest, EveryUsableDeviceDescribesItself) {
  const int count = UsableDeviceCount();
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<DeviceInfo> info = DescribeDevice(i);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->index, i);
    EXPECT_THAT(info->uuid, ::testing::MatchesRegex("GPU-[0-9a-f-]*"));
    EXPECT_EQ(info->uuid.size(), 40U);
    EXPECT_GT(info->sm_count, 0);
    EXPECT_GT(info->memory_bytes, 0U);
  }
}

// What the tuning of rows follows from: an H200 has fast memory, an H100 has not. (An H100 NVL, named otherwise, has.)
TEST(MemoryRateTest, FastMemoryIsToldFromTheRest) {
  constexpr double kFast = 15;
  const int count = UsableDeviceCount();
  for (int i = 0; i < count; ++i) {
    const DeviceInfo info = DescribeDevice(i).value();
    const double rate = MemoryBytesPerCycle(i);
    EXPECT_LT(rate, 100) << info.name;
    if (info.name.find("H200") != std::string::npos) {
      EXPECT_GT(rate, kFast);
    }
    if (info.name.find("H100 80GB HBM3") != std::string::npos) {
      EXPECT_GT(rate, 5);
      EXPECT_LT(rate, kFast);
    }
  }
}

TEST(BufferTest, ZeroBytesNeedNoDevice) {
  const absl::StatusOr<DeviceBuffer> device = DeviceBuffer::Create(0);
  const absl::StatusOr<PinnedBuffer> pinned = PinnedBuffer::Create(0);
  ASSERT_TRUE(device.ok());
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(device->data(), nullptr);
  EXPECT_EQ(pinned->device_data(), nullptr);
}

// On every GPU there is: pinned memory -> device -> pinned memory, in stream order, seen through an event.
TEST(BufferTest, BytesGoThereAndBack) {
  constexpr std::size_t kBytes = 4096;
  const int count = UsableDeviceCount();
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(cudaSetDevice(i), cudaSuccess);
    const Stream stream = Stream::Create().value();
    const Event done = Event::Create().value();
    const DeviceBuffer device = DeviceBuffer::Create(kBytes).value();
    PinnedBuffer from = PinnedBuffer::Create(kBytes).value();
    const PinnedBuffer to = PinnedBuffer::Create(kBytes).value();
    std::memset(from.data(), 0x5A, kBytes);
    std::memset(to.data(), 0, kBytes);
    ASSERT_EQ(cudaMemcpyAsync(device.data(), from.data(), kBytes, cudaMemcpyHostToDevice, stream.get()), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(to.data(), device.data(), kBytes, cudaMemcpyDeviceToHost, stream.get()), cudaSuccess);
    ASSERT_TRUE(done.Record(stream.get()).ok());
    ASSERT_TRUE(done.Synchronize().ok());
    EXPECT_EQ(std::memcmp(from.data(), to.data(), kBytes), 0);
    EXPECT_TRUE(done.Reached().value());
    const PinnedBuffer moved = std::move(from);
    EXPECT_EQ(moved.size(), kBytes);
  }
}

}  // namespace
}  // namespace kernelwire
