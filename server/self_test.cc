#include "server/self_test.h"

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/core/attributes.h"
#include "kernels/core/float16.h"
#include "kernels/core/plan.h"
#include "kernels/core/status_macros.h"
#include "server/batch/request.h"

namespace kernelwire {
namespace {

/// The request of a known answer. Shared by the one who waits and the scheduler, so that giving up is safe.
class KnownRequest final : public Request {
 public:
  KnownRequest(const Operator& tested, std::uint32_t index, int device, Scheduler* scheduler)
      : answer_(tested.known_answer()), scheduler_(scheduler) {
    op = &tested;
    op_index = index;
    wanted_device = device;
  }

  absl::Status Prepare() {
    KERNELWIRE_ASSIGN_OR_RETURN(attributes_, Attributes::Parse(op->spec.attributes, answer_.attributes));
    plan_request.attributes = &attributes_;
    for (std::size_t i = 0; i < answer_.inputs.size(); ++i) {
      const KnownAnswer::Tensor& input = answer_.inputs[i];
      if (input.desc.dtype != DataType::kInvalid) {
        plan_request.inputs[i] = input.desc;
        input_bytes[i] = input.bytes.size();
      }
    }
    for (std::size_t i = 0; i < answer_.outputs.size(); ++i) {
      const bool expected = answer_.outputs[i].desc.dtype != DataType::kInvalid;
      plan_request.wanted_outputs |= expected ? 1u << i : 0u;
    }
    KERNELWIRE_ASSIGN_OR_RETURN(plan, PlanRequestFor(*op, plan_request));
    return absl::OkStatus();
  }

  absl::Status CopyInput(int input, std::size_t offset, std::size_t bytes, void* destination) override {
    if (bytes > 0) {
      std::memcpy(destination, answer_.inputs[static_cast<std::size_t>(input)].bytes.data() + offset, bytes);
    }
    return absl::OkStatus();
  }
  void Placed() override { scheduler_->ResumeStaging(this); }  // small: the poller's thread may copy it

  void Complete(const Completion& completion) override {
    absl::Status status = completion.status;
    for (std::size_t i = 0; status.ok() && i < answer_.outputs.size(); ++i) {
      if (answer_.outputs[i].desc.dtype != DataType::kInvalid) {
        status =
            Compare(op->spec.outputs[i].name, answer_.outputs[i], completion.outputs[i], CopyOfOutput(completion, i));
      }
    }
    scheduler_->ReleaseBudget(*this);
    const std::shared_ptr<KnownRequest> keep = std::move(self_);
    const std::lock_guard<std::mutex> lock(mutex_);
    result_ = std::move(status);
    ended_ = true;
    changed_.notify_all();
  }

  /// From here on the scheduler holds the object, until it completes it.
  static absl::Status Submit(const std::shared_ptr<KnownRequest>& request) {
    request->self_ = request;
    absl::Status status = request->scheduler_->Submit(request.get());
    if (!status.ok()) {
      request->self_.reset();
    }
    return status;
  }

  absl::Status Await(std::chrono::seconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return ended_; })) {
      return absl::DeadlineExceededError(absl::StrCat("no result after ", patience.count(), " s"));
    }
    return result_;
  }

 private:
  absl::Status Compare(const std::string& name, const KnownAnswer::Tensor& expected, const TensorDesc& desc,
                       const std::vector<std::byte>& bytes) const;

  const KnownAnswer answer_;
  Attributes attributes_;
  Scheduler* const scheduler_;
  std::shared_ptr<KnownRequest> self_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  absl::Status result_;
};

template <typename T>
T Load(const std::byte* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

bool HasDoubles(DataType dtype) {
  return dtype == DataType::kFp16 || dtype == DataType::kBf16 || dtype == DataType::kFp32 || dtype == DataType::kFp64;
}

/// Requires: HasDoubles(dtype).
double AsDouble(DataType dtype, const std::byte* data, std::size_t index) {
  switch (dtype) {
    case DataType::kFp16:
      return static_cast<double>(Fp16ToFloat(Load<std::uint16_t>(data, index)));
    case DataType::kBf16:
      return static_cast<double>(Bf16ToFloat(Load<std::uint16_t>(data, index)));
    case DataType::kFp32:
      return static_cast<double>(Load<float>(data, index));
    default:
      return Load<double>(data, index);
  }
}

bool Agree(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) {
    return std::isnan(expected) && std::isnan(actual);
  }
  return expected == actual || std::fabs(expected - actual) <= tolerance;  // equal infinities, too
}

absl::Status KnownRequest::Compare(const std::string& name, const KnownAnswer::Tensor& expected, const TensorDesc& desc,
                                   const std::vector<std::byte>& bytes) const {
  const DataType dtype = expected.desc.dtype;
  if (desc.dtype != dtype || desc.shape != expected.desc.shape) {
    return absl::InternalError(absl::StrCat("output '", name, "': expected ", NameOf(dtype), " ",
                                            expected.desc.shape.ToString(), ", got ", NameOf(desc.dtype), " ",
                                            desc.shape.ToString()));
  }
  const std::byte* const data = bytes.data();
  const std::size_t size = SizeOf(dtype);
  for (std::size_t i = 0; i < expected.bytes.size() / size; ++i) {
    if (!HasDoubles(dtype)) {
      if (std::memcmp(data + i * size, expected.bytes.data() + i * size, size) != 0) {
        return absl::InternalError(absl::StrCat("output '", name, "': element ", i, " is wrong"));
      }
      continue;
    }
    const double wanted = AsDouble(dtype, expected.bytes.data(), i);
    const double got = AsDouble(dtype, data, i);
    if (!Agree(wanted, got, answer_.absolute_tolerance)) {
      return absl::InternalError(absl::StrCat("output '", name, "': element ", i, ": expected ", wanted, " within ",
                                              answer_.absolute_tolerance, ", got ", got));
    }
  }
  return absl::OkStatus();
}

absl::Status RunKnownAnswer(const std::shared_ptr<KnownRequest>& request, std::chrono::seconds patience) {
  KERNELWIRE_RETURN_IF_ERROR(request->Prepare());
  KERNELWIRE_RETURN_IF_ERROR(KnownRequest::Submit(request));
  return request->Await(patience);
}

}  // namespace

absl::Status TestOperator(const Operator& op, std::uint32_t op_index, std::size_t device,
                          const std::string& device_name, Scheduler* scheduler, std::chrono::seconds patience) {
  const auto request = std::make_shared<KnownRequest>(op, op_index, static_cast<int>(device), scheduler);
  absl::Status status = RunKnownAnswer(request, patience);
  if (status.ok()) {
    return status;
  }
  return absl::Status(status.code(), absl::StrCat("self-test of operator '", op.spec.name, "' on device ", device_name,
                                                  ": ", status.message()));
}

}  // namespace kernelwire
