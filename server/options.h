// What can be set from outside, in the form in which the parts take it; the flags and their meaning: option_flags.cc.
#ifndef KERNELWIRE_SERVER_OPTIONS_H_
#define KERNELWIRE_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batch/scheduler.h"
#include "server/exec/host_device.h"
#include "server/observe/log.h"
#include "server/rpc/rpc_server.h"

namespace kernelwire {

enum class DeviceChoice : std::uint8_t { kAuto, kCuda, kHost };

/// "auto", "cuda", "host".
const char* NameOf(DeviceChoice choice);

/// The defaults are those of the flags. A plain value; see CheckOptions for what may stand in it.
struct Options {
  RpcOptions rpc;
  SchedulerOptions scheduler;

  DeviceChoice device = DeviceChoice::kAuto;
  std::vector<int> gpus;  // ordinals; empty: all that are usable
  int lanes = 0;          // of each device; 0: the device's own default
  /// Of each device. The default holds two of the largest requests with results of their size.
  std::size_t staging_bytes = std::size_t{512} << 20;
  std::int64_t host_inline_bytes = HostDeviceOptions{}.inline_bytes;
  bool self_test = true;

  std::string metrics_address = "0.0.0.0:8002";  // empty: no metrics port
  spdlog::level::level_enum log_level = spdlog::level::info;
  LogFormat log_format = LogFormat::kPlain;

  absl::Duration drain_delay = absl::Seconds(5);
  absl::Duration drain_timeout = absl::Seconds(20);

  Options();
};

/// Holds every value, and the values together, against what is possible.
/// Errors: INVALID_ARGUMENT with all problems, one a line; each names the flag, what was expected and what came.
absl::Status CheckOptions(const Options& options);

/// What --address may name: host:port, unix:/path or unix-abstract:name.
bool IsAddress(const std::string& text);
/// The three, for an error's text.
inline constexpr char kExpectedAddress[] = "expected host:port, unix:/path or unix-abstract:name";

/// From the flags as they are set. Errors: those of CheckOptions, and of flags whose text is not readable.
absl::StatusOr<Options> OptionsFromFlags();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OPTIONS_H_
