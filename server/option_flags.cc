// The flags: unit, default and consequence of each. The defaults are those of Options, which has them from the parts.
#include "server/option_flags.h"

#include "absl/flags/flag.h"
#include "server/options.h"

using kernelwire::ByteSize;
using kernelwire::Options;

namespace {

ByteSize Bytes(std::size_t bytes) { return {static_cast<std::int64_t>(bytes)}; }

}  // namespace

// ---- ports ------------------------------------------------------------------------------------------------
ABSL_FLAG(std::string, address, "0.0.0.0:8001",
          "Where gRPC listens: host:port, [ipv6]:port, unix:/path or unix-abstract:name; several separated by commas. "
          "Port 0 lets the system choose; the line \"ready\" of the log says what it chose.");
ABSL_FLAG(std::string, metrics_address, Options().metrics_address,
          "Where Prometheus scrapes /metrics: host:port. Empty: no metrics port.");
ABSL_FLAG(bool, reflection, Options().rpc.reflection,
          "Answer gRPC server reflection, so that grpcurl needs no .proto files. Off: UNIMPLEMENTED.");

// ---- devices ----------------------------------------------------------------------------------------------
ABSL_FLAG(
    std::string, device, "auto",
    "auto: CUDA where the driver shows a GPU (one that cannot be used fails the start), else the host; the log says "
    "which and why. cuda: the start fails without a usable GPU. host: GPUs are left alone.");
ABSL_FLAG(
    std::string, devices, "",
    "GPUs to serve on, by CUDA's numbers, separated by commas (\"0,1\"). Empty: all. They must be alike. One that "
    "fails ends the process: run a process a GPU where they must fail alone.");
ABSL_FLAG(
    int, lanes, Options().lanes,
    "Batches at work at a time on each device; 0: chosen by the device (the host: one for each core). More overlap "
    "copies and kernels; fewer make larger batches.");
ABSL_FLAG(
    ByteSize, staging_bytes, Bytes(Options().staging_bytes),
    "Staging memory of each device, taken and made resident at start: pinned host memory and as much on the GPU, or "
    "host memory alone. Must hold a request of --max_message_bytes with its result; bounds what is batched, computed "
    "and being sent at a time.");
ABSL_FLAG(ByteSize, host_inline_bytes, Bytes(static_cast<std::size_t>(Options().host_inline_bytes)),
          "Host only: batches that touch up to this many bytes run in the thread that received them, which saves a "
          "hand-over of 10 to 60 us; larger ones go to a worker. 0: always a worker.");
ABSL_FLAG(bool, self_test, Options().self_test,
          "Run every operator on every device against a known answer before the first request; a wrong one fails the "
          "start. Costs well under a second, on a GPU a few.");

// ---- batching ---------------------------------------------------------------------------------------------
ABSL_FLAG(
    ByteSize, batch_bytes, Bytes(Options().scheduler.batch_slab_bytes),
    "Staging that a new batch takes: inputs, results and workspace of its requests; rounded up to a power of two. A "
    "larger request is cut by rows into batches of this size, or takes what it needs where it cannot be cut. Larger: "
    "more requests share a launch under load, copies and computing of large ones overlap less; fewer batches fit into "
    "--staging_bytes.");
ABSL_FLAG(int, max_batch_requests, static_cast<int>(Options().scheduler.max_batch_requests),
          "Most requests of a batch. Fewer: smaller launches under load, shorter waits for each.");
ABSL_FLAG(std::int64_t, max_batch_rows, Options().scheduler.max_batch_rows,
          "Most rows (for nms: images) of a batch of several requests.");
ABSL_FLAG(
    std::string, max_queue_delay, "",
    "How long a batch of a model waits for company even when a lane is free: \"softmax=200us,nms=1ms\". Models that "
    "are not named do not wait. Raises throughput of many small requests at the price of this much latency.");

// ---- limits -----------------------------------------------------------------------------------------------
ABSL_FLAG(ByteSize, max_message_bytes, Bytes(Options().rpc.max_message_bytes),
          "Largest message taken; a larger one is RESOURCE_EXHAUSTED. Memory before admission is bounded by "
          "(--max_reading_calls + 8 * --completion_queues + --max_streams) times this.");
ABSL_FLAG(ByteSize, max_reply_bytes, Bytes(Options().scheduler.max_reply_bytes),
          "Largest reply made; a request whose result may be larger is RESOURCE_EXHAUSTED, before it is computed. "
          "Clients have a limit of their own, often 4 MiB.");
ABSL_FLAG(
    ByteSize, max_outstanding_bytes, Bytes(static_cast<std::size_t>(Options().scheduler.max_outstanding_bytes)),
    "Inputs and results of all requests admitted and not yet answered, unread replies included, and for inputs the "
    "message where that is larger; above it requests are RESOURCE_EXHAUSTED with a hint when to retry. Larger: longer "
    "queues instead of refusals.");
ABSL_FLAG(std::int64_t, max_outstanding_requests, Options().scheduler.max_outstanding_requests,
          "The same as a number of requests.");
ABSL_FLAG(int, max_calls, Options().rpc.max_calls,
          "Calls alive at a time; above it they are refused unread. Health checks have a small reserve.");
ABSL_FLAG(
    int, max_calls_per_peer, Options().rpc.max_calls_per_peer,
    "Of these, calls of one connection on one queue; also told to clients as HTTP/2's limit of concurrent streams. "
    "Connections over Unix sockets are not counted: they cannot be told apart.");
ABSL_FLAG(
    int, max_reading_calls, Options().rpc.max_reading_calls,
    "Calls whose message is being received at a time; the others wait, unread. One connection has three quarters of "
    "the places at most, and those with the fewest come first. Health checks have 8 places of their own on each "
    "completion queue.");
ABSL_FLAG(int, max_streams, Options().rpc.max_streams,
          "Streaming calls (ModelStreamInfer, reflection) alive at a time; above it they are refused, those of one "
          "connection above three quarters of it. Health watches are counted apart: a quarter of --max_calls at most.");
ABSL_FLAG(int, max_stream_requests, Options().rpc.max_stream_requests,
          "Requests of one ModelStreamInfer that are not answered yet; above it the stream is not read.");
ABSL_FLAG(absl::Duration, read_timeout, absl::FromChrono(Options().rpc.read_timeout),
          "Time for the message of a unary call or a health Watch to arrive; else the call is cancelled.");
ABSL_FLAG(ByteSize, grpc_memory_bytes, Bytes(Options().rpc.memory_quota_bytes),
          "Memory of gRPC's buffers above which it slows connections down. 0: no limit.");
ABSL_FLAG(absl::Duration, max_connection_idle, absl::FromChrono(Options().rpc.max_connection_idle),
          "A connection without calls is closed after this long. 0: never.");
ABSL_FLAG(
    absl::Duration, max_connection_age, absl::FromChrono(Options().rpc.max_connection_age),
    "Every connection is closed, gently, at this age, so that clients behind a balancer of connections spread over "
    "servers that came later; a few minutes do with a headless Service of Kubernetes. 0: never.");
ABSL_FLAG(absl::Duration, max_connection_age_grace, absl::FromChrono(Options().rpc.max_connection_age_grace),
          "How long the calls of such a connection may still take.");
ABSL_FLAG(
    int, completion_queues, Options().rpc.completion_queues,
    "Threads that receive, decode and copy, one a queue. Two do for small messages, up to four for large ones; more "
    "only contend.");

// ---- stopping ---------------------------------------------------------------------------------------------
ABSL_FLAG(
    absl::Duration, drain_delay, Options().drain_delay,
    "After SIGTERM: how long to serve on with health NOT_SERVING, so that load balancers stop sending before calls "
    "are refused. Kubernetes removes endpoints at about the same time as it sends SIGTERM, so 0 loses calls there. "
    "SIGINT skips it.");
ABSL_FLAG(absl::Duration, drain_timeout, Options().drain_timeout,
          "After that: how long calls under way may take; then the process ends with code 72. The grace period of the "
          "orchestrator should be longer than both together.");

// ---- log --------------------------------------------------------------------------------------------------
ABSL_FLAG(std::string, log_level, "info",
          "trace, debug, info, warn, error, off. debug writes a line for each request: for diagnosis, not for load.");
ABSL_FLAG(std::string, log_format, "plain", "plain, or json: one object a line, on standard error either way.");

namespace kernelwire {

const std::vector<FlagSection>& FlagSections() {
  static const auto* const sections = new std::vector<FlagSection>{
      {"Ports", {"address", "metrics_address", "reflection"}},
      {"Devices", {"device", "devices", "lanes", "staging_bytes", "host_inline_bytes", "self_test"}},
      {"Batching", {"batch_bytes", "max_batch_requests", "max_batch_rows", "max_queue_delay"}},
      {"Limits",
       {"max_message_bytes", "max_reply_bytes", "max_outstanding_bytes", "max_outstanding_requests", "max_calls",
        "max_calls_per_peer", "max_reading_calls", "max_streams", "max_stream_requests", "read_timeout",
        "max_connection_idle", "max_connection_age", "max_connection_age_grace", "grpc_memory_bytes",
        "completion_queues"}},
      {"Stopping", {"drain_delay", "drain_timeout"}},
      {"Log", {"log_level", "log_format"}}};
  return *sections;
}

}  // namespace kernelwire
