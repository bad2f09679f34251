// Declarations of the flags, and their order for people. Only options.cc and command_line.cc read them.
#ifndef KERNELWIRE_SERVER_OPTION_FLAGS_H_
#define KERNELWIRE_SERVER_OPTION_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/time/time.h"
#include "server/option_values.h"

ABSL_DECLARE_FLAG(std::string, address);
ABSL_DECLARE_FLAG(std::string, metrics_address);
ABSL_DECLARE_FLAG(bool, reflection);

ABSL_DECLARE_FLAG(std::string, device);
ABSL_DECLARE_FLAG(std::string, devices);
ABSL_DECLARE_FLAG(int, lanes);
ABSL_DECLARE_FLAG(kernelwire::ByteSize, staging_bytes);
ABSL_DECLARE_FLAG(kernelwire::ByteSize, host_inline_bytes);
ABSL_DECLARE_FLAG(bool, self_test);

ABSL_DECLARE_FLAG(kernelwire::ByteSize, batch_bytes);
ABSL_DECLARE_FLAG(int, max_batch_requests);
ABSL_DECLARE_FLAG(std::int64_t, max_batch_rows);
ABSL_DECLARE_FLAG(std::string, max_queue_delay);

ABSL_DECLARE_FLAG(kernelwire::ByteSize, max_message_bytes);
ABSL_DECLARE_FLAG(kernelwire::ByteSize, max_reply_bytes);
ABSL_DECLARE_FLAG(kernelwire::ByteSize, max_outstanding_bytes);
ABSL_DECLARE_FLAG(std::int64_t, max_outstanding_requests);
ABSL_DECLARE_FLAG(int, max_calls);
ABSL_DECLARE_FLAG(int, max_calls_per_peer);
ABSL_DECLARE_FLAG(int, max_reading_calls);
ABSL_DECLARE_FLAG(int, max_streams);
ABSL_DECLARE_FLAG(int, max_stream_requests);
ABSL_DECLARE_FLAG(absl::Duration, read_timeout);
ABSL_DECLARE_FLAG(kernelwire::ByteSize, grpc_memory_bytes);
ABSL_DECLARE_FLAG(absl::Duration, max_connection_idle);
ABSL_DECLARE_FLAG(absl::Duration, max_connection_age);
ABSL_DECLARE_FLAG(absl::Duration, max_connection_age_grace);
ABSL_DECLARE_FLAG(int, completion_queues);

ABSL_DECLARE_FLAG(absl::Duration, drain_delay);
ABSL_DECLARE_FLAG(absl::Duration, drain_timeout);

ABSL_DECLARE_FLAG(std::string, log_level);
ABSL_DECLARE_FLAG(std::string, log_format);

namespace kernelwire {

struct FlagSection {
  const char* title;
  std::vector<const char*> flags;
};

/// Every flag once, in the order of --help.
const std::vector<FlagSection>& FlagSections();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OPTION_FLAGS_H_
