// The log: lines on standard error, plain for people or JSON for collectors. Everything logs through spdlog's default
// logger; this file sets it up, and writes lines that have fields.
#ifndef KERNELWIRE_SERVER_OBSERVE_LOG_H_
#define KERNELWIRE_SERVER_OBSERVE_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/observe/metrics.h"
#include "spdlog/common.h"

namespace kernelwire {

enum class LogFormat : std::uint8_t { kPlain, kJson };

/// Lines of `level` and above go to standard error, each flushed. Call before other threads log; may be called again.
/// Plain: "2024-05-01T12:00:00.123Z info  text". JSON: one object a line with time, level and message.
void SetUpLog(spdlog::level::level_enum level, LogFormat format);

/// trace, debug, info, warn, error, off. Errors: INVALID_ARGUMENT that lists them.
absl::StatusOr<spdlog::level::level_enum> LogLevelByName(std::string_view name);

/// One line with fields: `ready address="0.0.0.0:8001"`, in JSON "message" and every field by its name. Values are
/// escaped.
using LogFields = std::vector<std::pair<std::string, std::string>>;
void LogWithFields(spdlog::level::level_enum level, std::string_view message, const LogFields& fields);

/// Whether LogRequest writes anything: one relaxed load. Ask before composing what it needs.
bool LogsRequests();

/// One line "request" at debug level: id, operator, code, error, and the durations in microseconds. Nothing above debug
/// level. `id` and `error` come from outside: they are cut at 256 bytes, and escaped so that they stay within their
/// line.
void LogRequest(std::string_view id, std::string_view op, const RequestRecord& record, std::string_view error = {});

/// `text` between double quotes, as a JSON string: quotes, backslashes and control characters escaped, bytes that are
/// no UTF-8 replaced by '?'.
std::string QuoteJson(std::string_view text);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_LOG_H_
