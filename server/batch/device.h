// What the scheduler asks of a device.
#ifndef KERNELWIRE_SERVER_BATCH_DEVICE_H_
#define KERNELWIRE_SERVER_BATCH_DEVICE_H_

#include <functional>
#include <string>

#include "server/batch/batch.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {

/// One GPU or the host. Thread-safe. Lanes are numbered from 0; the scheduler hands a lane to one batch at a time.
class Device {
 public:
  virtual ~Device() = default;

  /// "host", "cuda:0".
  virtual const std::string& name() const = 0;
  virtual int lane_count() const = 0;
  virtual SlabPool& slabs() = 0;

  /// Runs a batch on batch.lane(). True: it is finished, batch.status and times are set. False: the device will call
  /// the finished-callback with it from one of its own threads, exactly once. Must not wait for the GPU.
  virtual bool Run(Batch& batch) = 0;

  /// Set once, before the first Run.
  virtual void SetFinishedCallback(std::function<void(Batch&)> callback) = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_DEVICE_H_
