#include "server/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <cstring>

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

}  // namespace

void RedirectGrpcLog() { gpr_set_log_function(&Write); }

}  // namespace kernelwire
