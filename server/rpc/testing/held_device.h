// A device whose batches end when the test says so.
#ifndef KERNELWIRE_SERVER_RPC_TESTING_HELD_DEVICE_H_
#define KERNELWIRE_SERVER_RPC_TESTING_HELD_DEVICE_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "server/batch/device.h"

namespace kernelwire::testing {

/// Computes on the host, at once and in the launching thread, or, while held, in whichever thread releases it.
/// Thread-safe.
class HeldDevice final : public Device {
 public:
  explicit HeldDevice(std::size_t staging_bytes, int lanes = 4);

  const std::string& name() const override { return name_; }
  int lane_count() const override { return lanes_; }
  SlabPool& slabs() override { return slabs_; }
  bool Run(Batch& batch) override;
  void SetFinishedCallback(std::function<void(Batch&)> callback) override { finished_ = std::move(callback); }

  /// From now on batches are kept, not run.
  void Hold();
  /// Runs what is kept, in this thread, and keeps no more.
  void Release();
  /// Waits until that many batches are kept.
  void AwaitKept(std::size_t batches);
  /// From now on batches end with this.
  void FailWith(const absl::Status& status);

 private:
  void Compute(Batch& batch);

  const std::string name_ = "held";
  const int lanes_;
  SlabPool slabs_;
  std::function<void(Batch&)> finished_;

  std::mutex mutex_;
  std::condition_variable kept_changed_;
  bool held_ = false;
  absl::Status failure_;
  std::vector<Batch*> kept_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_RPC_TESTING_HELD_DEVICE_H_
