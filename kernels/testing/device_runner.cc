#include "kernels/testing/device_runner.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "kernels/testing/cuda_runner.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/thread_executor.h"

namespace kernelwire::testing {
namespace {

using Outputs = std::vector<std::vector<HostTensor>>;

/// Fills of the two passes: NaN in every float type and -1 in every integer; then zeros.
constexpr std::byte kFills[] = {std::byte{0xff}, std::byte{0x00}};

absl::StatusOr<PlannedCases> PlanAll(const Operator& op, const std::vector<const OperatorCase*>& cases) {
  PlannedCases planned;
  for (const OperatorCase* const test_case : cases) {
    KERNELWIRE_ASSIGN_OR_RETURN(std::unique_ptr<PlannedCase> one, PlanCase(op, *test_case));
    if (!planned.empty() && !(one->plan.key == planned.front()->plan.key)) {
      return absl::InternalError(
          absl::StrCat("cases ", cases.front()->name, " and ", test_case->name, " have different batch keys"));
    }
    planned.push_back(std::move(one));
  }
  return planned;
}

absl::Status CheckSameBits(const Operator& op, const std::vector<const OperatorCase*>& cases, const Outputs& first,
                           const Outputs& second) {
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (std::size_t i = 0; i < first[c].size(); ++i) {
      if (!SameBits(first[c][i], second[c][i])) {
        return absl::InternalError(absl::StrCat(cases[c]->name, ", output ", op.spec.outputs[i].name,
                                                ": two runs over differently filled memory gave different bits "
                                                "(unwritten, stray read or not deterministic)"));
      }
    }
  }
  return absl::OkStatus();
}

class HostRunner final : public DeviceRunner {
 public:
  std::string name() const override { return "host"; }

 protected:
  absl::Status Execute(const Operator& op, const Plan& plan, const LaunchImage& image, int pass) override {
    const std::vector<Segment> segments = image.Segments([](const GuardedBuffer& buffer) { return buffer.data(); });
    Launch launch;
    launch.plan = &plan;
    launch.segments = segments.data();
    launch.device_segments = segments.data();
    launch.segment_count = static_cast<int>(segments.size());
    launch.total_rows = image.total_rows();

    InlineExecutor inline_executor;
    ThreadExecutor thread_executor(4);
    ParallelExecutor& executor = pass == 0 ? static_cast<ParallelExecutor&>(inline_executor) : thread_executor;
    for (const GuardedBuffer& buffer : image.buffers()) {
      buffer.CloseGuards();
    }
    absl::Status status = op.run_host(launch, executor);
    for (const GuardedBuffer& buffer : image.buffers()) {
      buffer.OpenGuards();
    }
    return status;
  }
};

}  // namespace

absl::StatusOr<Outputs> DeviceRunner::RunBatch(const Operator& op, const std::vector<const OperatorCase*>& cases) {
  KERNELWIRE_ASSIGN_OR_RETURN(const PlannedCases planned, PlanAll(op, cases));
  if (planned.empty()) {
    return Outputs();
  }
  std::vector<Outputs> results;
  for (int pass = 0; pass < 2; ++pass) {
    const LaunchImage image(op, planned, kFills[pass]);
    const Plan& plan = pass == 0 ? planned.front()->plan : planned.back()->plan;  // equal keys: either must do
    KERNELWIRE_RETURN_IF_ERROR(Execute(op, plan, image, pass));
    KERNELWIRE_ASSIGN_OR_RETURN(Outputs outputs, image.Collect());
    results.push_back(std::move(outputs));
  }
  KERNELWIRE_RETURN_IF_ERROR(CheckSameBits(op, cases, results[0], results[1]));
  return std::move(results[0]);
}

absl::StatusOr<std::vector<HostTensor>> DeviceRunner::Run(const Operator& op, const OperatorCase& test_case) {
  KERNELWIRE_ASSIGN_OR_RETURN(Outputs outputs, RunBatch(op, {&test_case}));
  return std::move(outputs.front());
}

std::vector<DeviceRunner*> AllDeviceRunners() {
  static HostRunner host;
  std::string why_no_cuda;
  std::vector<DeviceRunner*> runners{&host};
  if (DeviceRunner* const cuda = CudaRunner(&why_no_cuda)) {
    runners.push_back(cuda);
  }
  const char* const wish = std::getenv("KERNELWIRE_TEST_DEVICE");
  if (wish == nullptr) {
    return runners;
  }
  for (DeviceRunner* const runner : runners) {
    if (runner->name() == wish) {
      return {runner};
    }
  }
  std::fprintf(stderr, "KERNELWIRE_TEST_DEVICE: expected host or cuda, got '%s'%s%s\n", wish,
               why_no_cuda.empty() ? "" : "; cuda: ", why_no_cuda.c_str());
  std::exit(2);
}

}  // namespace kernelwire::testing
