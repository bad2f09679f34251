// Operators of bytes whose launches a test makes up, and the devices to run them on.
#ifndef KERNELWIRE_SERVER_EXEC_TESTING_CUDA_COPIES_H_
#define KERNELWIRE_SERVER_EXEC_TESTING_CUDA_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/core/operator.h"
#include "server/exec/cuda_device.h"

namespace kernelwire::testing {

/// One row, and an output as large as the input.
inline absl::StatusOr<Plan> PlanCopy(const PlanRequest& request) {
  Plan plan;
  plan.rows = 1;
  plan.outputs[0] = {true, *request.inputs[0], *request.inputs[0]->ByteSize()};
  plan.extents[0] = static_cast<std::int64_t>(plan.outputs[0].bytes);
  plan.work_bytes = 2 * plan.extents[0];
  return plan;
}

/// Takes and gives bytes; what becomes of them is the launch's matter.
inline Operator MakeOperator(int (*launch)(const Launch&, CUstream_st*)) {
  Operator op;
  op.spec.name = "copy";
  op.spec.inputs = {{"x", DataTypeSet(DataType::kUint8), DataType::kUint8, {-1}, false, "Bytes."}};
  op.spec.outputs = {{"y", DataTypeSet(DataType::kUint8), DataType::kUint8, {-1}, false, "The same bytes."}};
  op.plan = &PlanCopy;
  op.launch_cuda = launch;
  return op;
}

/// A tensor of a pattern.
inline KnownAnswer::Tensor Bytes(std::size_t count, unsigned seed) {
  KnownAnswer::Tensor tensor{{DataType::kUint8, Shape{static_cast<std::int64_t>(count)}}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    tensor.bytes.push_back(static_cast<std::byte>(seed + i * 7));
  }
  return tensor;
}

/// Three lanes and little staging.
inline CudaDeviceOptions OptionsFor(const DeviceInfo& gpu) {
  CudaDeviceOptions options;
  options.index = gpu.index;
  options.lanes = 3;
  options.staging_bytes = std::size_t{16} << 20;
  return options;
}

/// Those that there are: none on a machine without a GPU, where ListCudaDevicesTest says what is to be said.
inline std::vector<DeviceInfo> Gpus() {
  const absl::StatusOr<std::vector<DeviceInfo>> gpus = ListCudaDevices();
  return gpus.ok() ? *gpus : std::vector<DeviceInfo>{};
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_EXEC_TESTING_CUDA_COPIES_H_
