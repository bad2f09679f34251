#include "server/exec/device_list.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

constexpr int kOldestMajor = 7;  // compute capability 7.5, the first that CUDA 13 compiles for
constexpr int kOldestMinor = 5;

std::string Capability(const DeviceInfo& gpu) { return absl::StrCat(gpu.major, ".", gpu.minor); }

std::string Describe(const DeviceInfo& gpu) {
  return absl::StrCat(gpu.index, " (", gpu.name, ", compute capability ", Capability(gpu), ")");
}

bool IsIndex(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char character) { return std::isdigit(character) != 0; });
}

absl::StatusOr<std::vector<int>> ParseIndices(const std::string& wanted) {
  std::vector<int> indices;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(wanted, ','))) {
    int index = 0;
    if (!IsIndex(part) || !absl::SimpleAtoi(part, &index)) {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --devices: expected \"all\" or numbers of GPUs like \"0,1\", got \"", wanted, "\""));
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --devices: expected each GPU once, got ", index, " twice in \"", wanted, "\""));
    }
    indices.push_back(index);
  }
  return indices;
}

absl::StatusOr<std::vector<DeviceInfo>> Pick(const std::vector<int>& indices, const std::vector<DeviceInfo>& present) {
  std::vector<DeviceInfo> picked;
  for (const int index : indices) {
    const auto found =
        std::find_if(present.begin(), present.end(), [index](const DeviceInfo& gpu) { return gpu.index == index; });
    if (found == present.end()) {
      const std::string known =
          absl::StrJoin(present, ", ", [](std::string* out, const DeviceInfo& gpu) { out->append(Describe(gpu)); });
      return absl::NotFoundError(absl::StrCat("flag --devices: expected GPUs among ", known, ", got ", index));
    }
    picked.push_back(*found);
  }
  return picked;
}

absl::Status CheckArchitectures(const std::vector<DeviceInfo>& gpus) {
  for (const DeviceInfo& gpu : gpus) {
    if (gpu.major < kOldestMajor || (gpu.major == kOldestMajor && gpu.minor < kOldestMinor)) {
      return absl::FailedPreconditionError(absl::StrCat("GPU ", Describe(gpu), ": expected compute capability ",
                                                        kOldestMajor, ".", kOldestMinor, " or newer"));
    }
    if (gpu.major != gpus[0].major || gpu.minor != gpus[0].minor) {
      return absl::FailedPreconditionError(
          absl::StrCat("flag --devices: expected GPUs of one architecture, since the same request must give the same "
                       "bits on each; got ",
                       Describe(gpus[0]), " and ", Describe(gpu), ". Run one process for each kind"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DeviceInfo>> CheckDevices(const std::string& wanted,
                                                     const std::vector<DeviceInfo>& present) {
  std::vector<DeviceInfo> taken = present;
  const bool all = wanted.empty() || wanted == "all";
  std::vector<int> indices;
  if (!all) {
    KERNELWIRE_ASSIGN_OR_RETURN(indices, ParseIndices(wanted));
  }
  if (present.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("flag --devices: expected ", all ? "a GPU" : absl::StrCat("GPUs ", wanted), ", got none"));
  }
  if (!all) {
    KERNELWIRE_ASSIGN_OR_RETURN(taken, Pick(indices, present));
  }
  KERNELWIRE_RETURN_IF_ERROR(CheckArchitectures(taken));
  return taken;
}

}  // namespace kernelwire
