#include "server/rpc/status_encoder.h"

#include <cstdint>
#include <optional>

#include "rpc_status.pb.h"
#include "server/batch/retry_hint.h"
#include "server/codec/infer_reply.h"

namespace kernelwire {
namespace {

std::string RetryDetails(const absl::Status& status, const std::string& message, std::int64_t milliseconds) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(milliseconds / 1000);
  retry.mutable_retry_delay()->set_nanos(static_cast<std::int32_t>(milliseconds % 1000 * 1'000'000));
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  details.add_details()->PackFrom(retry);
  return details.SerializeAsString();
}

}  // namespace

std::string CutText(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  std::size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;  // not in the middle of a character
  }
  return std::string(text.substr(0, end)) + "...";
}

grpc::Status EncodeStatus(const absl::Status& status, grpc::ServerContextBase* context) {
  const std::string message =
      CutText(std::string_view(status.message().data(), status.message().size()), kMaxErrorMessageBytes);
  const auto code = static_cast<grpc::StatusCode>(status.raw_code());
  const std::optional<std::int64_t> retry = RetryHintOf(status);
  if (!retry.has_value()) {
    return grpc::Status(code, message);
  }
  context->AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(*retry));
  return grpc::Status(code, message, RetryDetails(status, message, *retry));
}

}  // namespace kernelwire
