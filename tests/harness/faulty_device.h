// The host device with faults: what a GPU does on a bad day, without a GPU.
#ifndef KERNELWIRE_TESTS_HARNESS_FAULTY_DEVICE_H_
#define KERNELWIRE_TESTS_HARNESS_FAULTY_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/batch/device.h"
#include "server/device_setup.h"

namespace kernelwire::testing {

enum class Fault : std::uint8_t {
  kNone,
  kWrongResults,  // computes, and flips a bit of the result
  kLost,          // as after a sticky CUDA error: tells of it once, and fails this batch and all after it
  kHung,          // the same, told of as a hang
};

/// Thread-safe. Runs what the host device runs until a fault is switched on.
class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> host, const std::atomic<Fault>* fault, DeviceLossListener on_fatal)
      : host_(std::move(host)), fault_(fault), on_fatal_(std::move(on_fatal)) {}

  const std::string& name() const override { return host_->name(); }
  int lane_count() const override { return host_->lane_count(); }
  SlabPool& slabs() override { return host_->slabs(); }
  void SetFinishedCallback(std::function<void(Batch&)> callback) override {
    host_->SetFinishedCallback(std::move(callback));
  }

  bool Run(Batch& batch) override {
    const Fault fault = fault_->load();
    if (fault == Fault::kLost || fault == Fault::kHung) {
      batch.status = absl::UnavailableError("cuda:0: injected fault");
      if (!told_.exchange(true)) {
        on_fatal_(batch.status, fault == Fault::kHung);
      }
      return true;
    }
    const bool finished = host_->Run(batch);
    if (finished && fault == Fault::kWrongResults) {
      Slab& slab = batch.slab();
      slab.host()[batch.copy_out_begin() + 3] ^= std::byte{0x40};  // of the exponent, where there is one
    }
    return finished;
  }

 private:
  const std::unique_ptr<Device> host_;
  const std::atomic<Fault>* const fault_;
  const DeviceLossListener on_fatal_;
  std::atomic<bool> told_{false};
};

/// For InProcessServer::Start and ServerSeams: the host in place of whatever is asked for, with `*fault`, which has to
/// outlive the server.
inline std::function<absl::StatusOr<DeviceSetup>(const Options&, const DeviceLossListener&)> FaultyDevices(
    const std::atomic<Fault>* fault) {
  return [fault](Options options, const DeviceLossListener& on_fatal) {
    options.device = DeviceChoice::kHost;
    absl::StatusOr<DeviceSetup> setup = SetUpDevices(options, on_fatal);
    for (std::size_t i = 0; setup.ok() && i < setup->devices.size(); ++i) {
      setup->devices[i] = std::make_unique<FaultyDevice>(std::move(setup->devices[i]), fault, on_fatal);
    }
    return setup;
  };
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_TESTS_HARNESS_FAULTY_DEVICE_H_
