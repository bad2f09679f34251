// What counts as a hang of a CUDA device, and what does not, on every GPU there is. The work is host functions of
// CUDA's.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "server/exec/cuda_device.h"
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

/// Holds a stream until it is opened.
class Gate {
 public:
  static Gate& Instance() {
    static Gate* const gate = new Gate;  // stays: CUDA's thread may be on its way out of Wait when the process ends
    return *gate;
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  static void Wait(void* gate) {
    auto* const self = static_cast<Gate*>(gate);
    std::unique_lock<std::mutex> lock(self->mutex_);
    self->opened_.wait(lock, [self] { return self->open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

int LaunchHang(const Launch&, CUstream_st* stream) {
  return cudaLaunchHostFunc(stream, &Gate::Wait, &Gate::Instance());
}

/// A batch that takes long, and one that cannot end before it.
class LongWork {
 public:
  static LongWork& Instance() {
    static auto* const work = new LongWork;
    return *work;
  }
  void AwaitStart() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return started_; });
  }
  static void Run(void* work) {
    auto* const self = static_cast<LongWork*>(work);
    self->Set(&self->started_, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // more than the least that counts as a hang
    self->Set(&self->ended_, true);
  }
  static void AwaitEnd(void* work) {
    auto* const self = static_cast<LongWork*>(work);
    std::unique_lock<std::mutex> lock(self->mutex_);
    self->changed_.wait(lock, [self] { return self->ended_; });
  }
  void Reset() { started_ = ended_ = false; }

 private:
  void Set(bool* flag, bool value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *flag = value;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool ended_ = false;
};

int LaunchLong(const Launch&, CUstream_st* stream) {
  return cudaLaunchHostFunc(stream, &LongWork::Run, &LongWork::Instance());
}
int LaunchBehindLong(const Launch&, CUstream_st* stream) {
  return cudaLaunchHostFunc(stream, &LongWork::AwaitEnd, &LongWork::Instance());
}

// As where a long soft-NMS leaves nothing of the GPU to the other lanes.
TEST(CudaHangTest, ABatchBehindOneThatMayTakeLongDoesNotHang) {
  Operator lasting = MakeOperator(&LaunchLong);
  lasting.most_work_bytes = [](const Launch&) { return std::int64_t{1} << 40; };
  const Operator behind = MakeOperator(&LaunchBehindLong);
  for (const DeviceInfo& gpu : Gpus()) {
    LongWork::Instance().Reset();
    CudaDeviceOptions options = OptionsFor(gpu);
    options.hang_after = 0;  // the least: 1 s
    options.on_fatal = [](const absl::Status& status, bool) { ADD_FAILURE() << status; };
    Stage stage(MakeCudaDevice(options).value());
    BlockingRequest long_request(lasting, {Bytes(100, 1)});
    std::thread caller([&] { EXPECT_TRUE(long_request.Call(stage.scheduler()).ok()); });
    LongWork::Instance().AwaitStart();
    BlockingRequest request(behind, {Bytes(100, 1)});
    EXPECT_TRUE(request.Call(stage.scheduler()).ok());
    caller.join();
  }
}

TEST(CudaHangTest, AHangEndsItsBatchAndTheDeviceCanGo) {
  const Operator hanging = MakeOperator(&LaunchHang);
  for (const DeviceInfo& gpu : Gpus()) {
    std::atomic<int> told{0};
    CudaDeviceOptions options = OptionsFor(gpu);
    options.hang_after = 0;  // the least: 1 s
    options.on_fatal = [&told](const absl::Status&, bool hung) {
      EXPECT_TRUE(hung);
      told.fetch_add(1);
    };
    Stage stage(MakeCudaDevice(options).value());
    BlockingRequest request(hanging, {Bytes(100, 1)});
    const absl::Status status = request.Call(stage.scheduler()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("a batch of 'copy' hangs: 1 requests, 1 rows"));
    EXPECT_EQ(told, 1);
    stage.DestroyDevice();  // returns though the stream is still held
  }
  Gate::Instance().Open();
}

}  // namespace
}  // namespace kernelwire
