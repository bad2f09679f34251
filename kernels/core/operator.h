// An operator: a computation in the catalogue, with a spec and a host and a CUDA implementation.
//
// The life of a request as an operator sees it: plan (shapes only) -> check_inputs (values that steer control flow)
// -> run_host or launch_cuda, shared with other requests -> finish (final output shapes).
#ifndef KERNELWIRE_KERNELS_CORE_OPERATOR_H_
#define KERNELWIRE_KERNELS_CORE_OPERATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/attributes.h"
#include "kernels/core/launch.h"
#include "kernels/core/plan.h"
#include "kernels/core/spec.h"

namespace kernelwire {

/// Threads for the host path. `ParallelFor` calls `body(begin, end)` over disjoint ranges that cover [0, count), from
/// the calling thread and perhaps others, and returns when all are done. Ranges are at least `grain` long but for the
/// last; how they are cut must not change a result. Thread-safe. `body` must not throw and must not call ParallelFor.
class ParallelExecutor {
 public:
  virtual ~ParallelExecutor() = default;
  virtual void ParallelFor(std::int64_t count, std::int64_t grain,
                           const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
};

/// Runs everything in the calling thread.
class InlineExecutor final : public ParallelExecutor {
 public:
  void ParallelFor(std::int64_t count, std::int64_t grain,
                   const std::function<void(std::int64_t, std::int64_t)>& body) override;
};

/// An output after the run, in host memory: OutputPlan::bytes of it. `finish` may shrink `desc.shape` and move bytes
/// inside `data` to match.
struct FinishedOutput {
  void* data = nullptr;  // null: not wanted
  TensorDesc desc;
};

/// A small request with its right answer, run on every device before the server calls itself ready.
struct KnownAnswer {
  struct Tensor {
    TensorDesc desc;
    std::vector<std::byte> bytes;
  };
  std::vector<Tensor> inputs;  // in the spec's order; desc.dtype == kInvalid: left out
  AttributeList attributes;
  std::vector<Tensor> outputs;      // expected, in the spec's order
  double absolute_tolerance = 0.0;  // for floating-point outputs; integers must be equal
};

/// Plain functions rather than virtual ones: the CUDA entry is attached by the registry, and is null in a build without
/// CUDA; that is the build's only conditional. All functions are thread-safe and do not allocate device memory.
struct Operator {
  OperatorSpec spec;

  /// The only validation of shapes and attribute combinations, for every device.
  /// Errors: INVALID_ARGUMENT that names the input or attribute, what was expected and what came.
  absl::StatusOr<Plan> (*plan)(const PlanRequest& request) = nullptr;

  /// Values in `inputs` (host memory, spec order, null when absent) that must be right before a kernel may run.
  /// May be null. Errors: INVALID_ARGUMENT.
  absl::Status (*check_inputs)(const Plan& plan, const PlanRequest& request, const void* const* inputs) = nullptr;

  /// Computes the launch on the calling thread and `threads`. Errors: INTERNAL.
  absl::Status (*run_host)(const Launch& launch, ParallelExecutor& threads) = nullptr;

  /// Enqueues the launch and returns: nothing allocated, nothing awaited. Returns a cudaError_t; null without CUDA.
  int (*launch_cuda)(const Launch& launch, CUstream_st* stream) = nullptr;

  /// Final shapes of the outputs, and whether their types could hold the results. May be null: the planned ones hold.
  /// Errors: OUT_OF_RANGE.
  absl::Status (*finish)(const Plan& plan, FinishedOutput* outputs) = nullptr;

  /// Bytes that a launch touches at worst, where they can be far more than Plan::work_bytes, as when every box has to
  /// be compared with every other: a launch that takes so long does not hang. May be null: they are not.
  std::int64_t (*most_work_bytes)(const Launch& launch) = nullptr;

  KnownAnswer (*known_answer)() = nullptr;

  /// Whether the plan honours PlanRequest's row strides; otherwise any but 0 is refused before it is asked.
  bool takes_row_strides = false;
};

/// The plan of an output that a request wants. Errors: INVALID_ARGUMENT, naming the output, when its bytes cannot be
/// counted or are more than kLargestTensorBytes.
absl::StatusOr<OutputPlan> PlanOutput(const std::string& name, const TensorDesc& desc);

/// Checks names, types and presence of `request` against the spec, then calls `op.plan`, and puts the operator's
/// identity in front of the key. This is how everybody plans: server, tests, library callers.
absl::StatusOr<Plan> PlanRequestFor(const Operator& op, const PlanRequest& request);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_OPERATOR_H_
