// CUDA devices behind a real scheduler, on every GPU there is: both data paths, and how failures end. The
// operators are made of CUDA's own copies and host functions, so that each failure happens exactly when it is wanted.
#include "server/exec/cuda_device.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kernels/device/launch_tickets.h"
#include "server/exec/testing/blocking_request.h"
#include "server/exec/testing/cuda_copies.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::BlockingRequest;
using ::kernelwire::testing::Bytes;
using ::kernelwire::testing::Gpus;
using ::kernelwire::testing::MakeOperator;
using ::kernelwire::testing::OptionsFor;
using ::kernelwire::testing::Stage;
using ::testing::HasSubstr;

/// Before any test uses CUDA.
const bool kernels_load_at_start = [] {
  LoadKernelsAtStart();
  return true;
}();

/// y = x, wherever the segments say that they lie. Looks at the last error as CUB does: it may only find its own.
int LaunchCopy(const Launch& launch, CUstream_st* stream) {
  if (cudaPeekAtLastError() != cudaSuccess) {
    return cudaErrorUnknown;
  }
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    const cudaError_t error = cudaMemcpyAsync(segment.outputs[0], segment.inputs[0],
                                              static_cast<std::size_t>(segment.extents[0]), cudaMemcpyDefault, stream);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

int RefuseToLaunch(const Launch&, CUstream_st*) { return cudaErrorLaunchOutOfResources; }
int BreakTheDevice(const Launch&, CUstream_st*) { return cudaErrorIllegalAddress; }

/// The tickets that came with each stream.
struct TicketsSeen {
  static TicketsSeen& Instance() {
    static auto* const seen = new TicketsSeen;
    return *seen;
  }
  /// Holds a stream until kStreams have had a launch.
  static void AwaitAll(void* seen) {
    auto* const self = static_cast<TicketsSeen*>(seen);
    std::unique_lock<std::mutex> lock(self->mutex);
    self->changed.wait(lock, [self] { return self->of_streams.size() == kStreams; });
  }

  static constexpr std::size_t kStreams = 3;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<CUstream_st*, std::uint32_t*> of_streams;
};

/// y = the tickets of the launch.
int LaunchCopyTickets(const Launch& launch, CUstream_st* stream) {
  TicketsSeen& seen = TicketsSeen::Instance();
  {
    const std::lock_guard<std::mutex> lock(seen.mutex);
    seen.of_streams[stream] = launch.tickets;
  }
  seen.changed.notify_all();
  const Segment& segment = launch.segments[0];
  const cudaError_t error = cudaMemcpyAsync(segment.outputs[0], launch.tickets,
                                            static_cast<std::size_t>(segment.extents[0]), cudaMemcpyDefault, stream);
  return error == cudaSuccess ? cudaLaunchHostFunc(stream, &TicketsSeen::AwaitAll, &seen) : error;
}

/// Or the first launch of a kernel would wait for all that run.
TEST(CudaDeviceTest, KernelsAreLoadedAtStart) {
  if (Gpus().empty()) {
    return;
  }
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuModuleGetLoadingMode", &function, 11070, cudaEnableDefault, &found),
            cudaSuccess);
  ASSERT_EQ(found, cudaDriverEntryPointSuccess);
  CUmoduleLoadingMode mode{};
  ASSERT_EQ(reinterpret_cast<CUresult (*)(CUmoduleLoadingMode*)>(function)(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_MODULE_EAGER_LOADING);
}

TEST(CudaDeviceTest, RefusesWhatCannotBe) {
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.lanes = 0;
    EXPECT_EQ(MakeCudaDevice(options).status(), absl::InvalidArgumentError("lanes: expected 1 or more, got 0"));
    options = OptionsFor(gpu);
    options.index = 1000;
    EXPECT_EQ(MakeCudaDevice(options).status().code(), absl::StatusCode::kInvalidArgument);
    options = OptionsFor(gpu);
    options.staging_bytes = std::size_t{1} << 60;
    const absl::Status none = MakeCudaDevice(options).status();
    EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(none.message()), HasSubstr("--staging_bytes"));
  }
}

TEST(CudaDeviceTest, BytesComeBackByBothPaths) {
  const Operator op = MakeOperator(&LaunchCopy);
  for (const DeviceInfo& gpu : Gpus()) {
    for (const std::int64_t in_place_bytes : {std::int64_t{-1}, std::int64_t{1} << 40}) {
      CudaDeviceOptions options = OptionsFor(gpu);
      options.path.in_place_bytes = in_place_bytes;
      Stage stage(MakeCudaDevice(options).value());
      EXPECT_EQ(stage.device().name(), "cuda:" + std::to_string(gpu.index));
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{70000}, std::size_t{5} << 20}) {
        BlockingRequest request(op, {Bytes(count, 3)});
        const auto outputs = request.Call(stage.scheduler());
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        EXPECT_EQ((*outputs)[0].bytes, Bytes(count, 3).bytes);
        EXPECT_EQ(request.times().copy_in > 0, in_place_bytes < 0) << "the other path was taken";
        if (count > 0) {  // the events around no copy may lie a tick apart
          EXPECT_EQ(request.times().copy_out > 0, in_place_bytes < 0);
        }
      }
    }
  }
}

TEST(CudaDeviceTest, ManyCallersGetTheirOwnBytes) {
  const Operator op = MakeOperator(&LaunchCopy);
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.path.in_place_bytes = 20000;  // both paths at once
    options.path.spin = 10'000;           // and the watcher often goes to sleep
    Stage stage(MakeCudaDevice(options).value());
    std::vector<std::thread> callers;
    for (unsigned c = 0; c < 8; ++c) {
      callers.emplace_back([&, c] {
        for (unsigned i = 0; i < 200; ++i) {
          const std::size_t count = 1 + (c * 7919 + i * 104729) % 30000;
          BlockingRequest request(op, {Bytes(count, c * 37 + i)});
          const auto outputs = request.Call(stage.scheduler());
          ASSERT_TRUE(outputs.ok()) << outputs.status();
          ASSERT_EQ((*outputs)[0].bytes, Bytes(count, c * 37 + i).bytes);
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
  }
}

TEST(CudaDeviceTest, LanesHaveTicketsOfTheirOwnAllZero) {
  const Operator op = MakeOperator(&LaunchCopyTickets);
  for (const DeviceInfo& gpu : Gpus()) {
    auto& of_streams = TicketsSeen::Instance().of_streams;
    of_streams.clear();
    Stage stage(MakeCudaDevice(OptionsFor(gpu)).value());
    ASSERT_EQ(stage.device().lane_count(), static_cast<int>(TicketsSeen::kStreams));
    std::vector<std::unique_ptr<BlockingRequest>> requests;
    for (std::size_t i = 0; i < TicketsSeen::kStreams; ++i) {
      requests.push_back(std::make_unique<BlockingRequest>(op, std::vector{Bytes(LaunchTickets::kBytes, 1)}));
      ASSERT_TRUE(stage.scheduler().Submit(requests.back().get()).ok());
    }
    for (const auto& request : requests) {
      const auto outputs = request->Wait(stage.scheduler());
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].bytes, std::vector<std::byte>(LaunchTickets::kBytes));
    }
    std::set<std::uint32_t*> tickets;
    for (const auto& [stream, of_stream] : of_streams) {
      tickets.insert(of_stream);
    }
    EXPECT_EQ(tickets.size(), TicketsSeen::kStreams);
  }
}

TEST(CudaDeviceTest, ALaunchThatFailsEndsItsBatchAndNothingElse) {
  const Operator good = MakeOperator(&LaunchCopy);
  const Operator bad = MakeOperator(&RefuseToLaunch);
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.on_fatal = [](const absl::Status& status, bool) { ADD_FAILURE() << status; };
    Stage stage(MakeCudaDevice(options).value());
    for (int round = 0; round < 10; ++round) {
      BlockingRequest refused(bad, {Bytes(100, 1)});
      const absl::Status status = refused.Call(stage.scheduler()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()), HasSubstr("cudaErrorLaunchOutOfResources"));
      BlockingRequest served(good, {Bytes(100, 1)});
      EXPECT_TRUE(served.Call(stage.scheduler()).ok());
    }
  }
}

TEST(CudaDeviceTest, AStickyErrorIsToldOnceAndEndsEveryBatch) {
  const Operator good = MakeOperator(&LaunchCopy);
  const Operator bad = MakeOperator(&BreakTheDevice);
  for (const DeviceInfo& gpu : Gpus()) {
    std::atomic<int> told{0};
    CudaDeviceOptions options = OptionsFor(gpu);
    options.on_fatal = [&told](const absl::Status&, bool) { told.fetch_add(1); };
    Stage stage(MakeCudaDevice(options).value());
    for (const Operator* op : {&bad, &bad, &good}) {
      BlockingRequest request(*op, {Bytes(100, 1)});
      const absl::Status status = request.Call(stage.scheduler()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()), HasSubstr("cudaErrorIllegalAddress"));
    }
    EXPECT_EQ(told, 1);
  }
}

}  // namespace
}  // namespace kernelwire
