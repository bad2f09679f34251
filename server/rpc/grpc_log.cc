#include "server/rpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstring>
#include <string>

#include "spdlog/spdlog.h"

namespace kernelwire {
namespace {

spdlog::level::level_enum LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return spdlog::level::debug;
    case GPR_LOG_SEVERITY_INFO:
      return spdlog::level::info;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  return spdlog::level::err;
}

void Write(gpr_log_func_args* line) {
  const char* slash = std::strrchr(line->file, '/');
  spdlog::log(LevelOf(line->severity), "gRPC, {}:{}: {}", slash == nullptr ? line->file : slash + 1, line->line,
              line->message);
}

/// What Protocol Buffers have to say is about bytes that clients sent (strings that are no UTF-8): no client may fill
/// the log with that.
void WriteProtobufLine(google::protobuf::LogLevel level, const char* file, int line, const std::string& message) {
  const bool ours = level == google::protobuf::LOGLEVEL_FATAL;
  spdlog::log(ours ? spdlog::level::critical : spdlog::level::debug, "protobuf, {}:{}: {}", file, line, message);
}

}  // namespace

void RedirectGrpcLog() {
  gpr_set_log_function(&Write);
  google::protobuf::SetLogHandler(&WriteProtobufLine);
}

}  // namespace kernelwire
