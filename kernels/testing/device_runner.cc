#include "kernels/testing/device_runner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "kernels/testing/cuda_runner.h"
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
  absl::Status Execute(const Operator& op, const std::vector<ImageLaunch>& launches, int pass) override {
    InlineExecutor inline_executor;
    ThreadExecutor thread_executor(4);
    ParallelExecutor& executor = pass == 0 ? static_cast<ParallelExecutor&>(inline_executor) : thread_executor;
    for (const ImageLaunch& one : launches) {
      KERNELWIRE_RETURN_IF_ERROR(ExecuteOne(op, *one.plan, *one.image, executor));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status ExecuteOne(const Operator& op, const Plan& plan, const LaunchImage& image,
                                 ParallelExecutor& executor) {
    const std::vector<Segment> segments = image.Segments([](const GuardedBuffer& buffer) { return buffer.data(); });
    Launch launch;
    launch.plan = &plan;
    launch.segments = segments.data();
    launch.device_segments = segments.data();
    launch.segment_count = static_cast<int>(segments.size());
    launch.total_rows = image.total_rows();
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

/// Outputs of all batches' cases, one after the other.
absl::StatusOr<Outputs> DeviceRunner::RunPass(const Operator& op, const std::vector<PlannedCases>& batches, int pass) {
  std::vector<std::unique_ptr<LaunchImage>> images;
  std::vector<ImageLaunch> launches;
  for (const PlannedCases& batch : batches) {
    images.push_back(std::make_unique<LaunchImage>(op, batch, kFills[pass]));
    const PlannedCase& any = pass == 0 ? *batch.front() : *batch.back();  // equal keys: either must do
    launches.push_back({&any.plan, images.back().get()});
  }
  KERNELWIRE_RETURN_IF_ERROR(Execute(op, launches, pass));
  Outputs all;
  for (const std::unique_ptr<LaunchImage>& image : images) {
    KERNELWIRE_ASSIGN_OR_RETURN(Outputs outputs, image->Collect());
    std::move(outputs.begin(), outputs.end(), std::back_inserter(all));
  }
  return all;
}

/// The same of both passes, which must agree.
absl::StatusOr<Outputs> DeviceRunner::RunBatches(const Operator& op, const Batches& batches) {
  std::vector<PlannedCases> planned;
  std::vector<const OperatorCase*> cases;
  for (const std::vector<const OperatorCase*>& batch : batches) {
    KERNELWIRE_ASSIGN_OR_RETURN(PlannedCases one, PlanAll(op, batch));
    planned.push_back(std::move(one));
    cases.insert(cases.end(), batch.begin(), batch.end());
  }
  KERNELWIRE_ASSIGN_OR_RETURN(Outputs first, RunPass(op, planned, 0));
  KERNELWIRE_ASSIGN_OR_RETURN(const Outputs second, RunPass(op, planned, 1));
  KERNELWIRE_RETURN_IF_ERROR(CheckSameBits(op, cases, first, second));
  return first;
}

absl::StatusOr<Outputs> DeviceRunner::RunBatch(const Operator& op, const std::vector<const OperatorCase*>& cases) {
  return cases.empty() ? Outputs() : RunBatches(op, {cases});
}

absl::StatusOr<std::vector<HostTensor>> DeviceRunner::Run(const Operator& op, const OperatorCase& test_case) {
  KERNELWIRE_ASSIGN_OR_RETURN(Outputs outputs, RunBatch(op, {&test_case}));
  return std::move(outputs.front());
}

absl::StatusOr<Outputs> DeviceRunner::RunInARow(const Operator& op, const std::vector<const OperatorCase*>& cases) {
  Batches batches;
  for (const OperatorCase* const test_case : cases) {
    batches.push_back({test_case});
  }
  return RunBatches(op, batches);
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

std::vector<std::int64_t> WidthsFor(const DeviceRunner& device, std::vector<std::int64_t> widths,
                                    const std::vector<std::int64_t>& long_rows) {
  if (device.name() != "host") {
    widths.insert(widths.end(), long_rows.begin(), long_rows.end());
  }
  return widths;
}

}  // namespace kernelwire::testing
