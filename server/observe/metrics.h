// Counters and histograms of the journey, for Prometheus and for ModelStatistics. Recording touches only the calling
// thread's own counters (well under 1 us a request); a scrape adds them up.
#ifndef KERNELWIRE_SERVER_OBSERVE_METRICS_H_
#define KERNELWIRE_SERVER_OBSERVE_METRICS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace prometheus {
class Collectable;
}

namespace kernelwire {

/// The stages of a request whose time is measured; each is a label value of kernelwire_stage_duration_seconds.
enum class Stage : std::uint8_t { kDecode, kQueue, kStage, kCopyIn, kKernel, kCopyOut, kEncode };
inline constexpr int kStageCount = 7;

/// One request at its end. Durations in nanoseconds; -1 = the request did not pass that stage.
struct RequestRecord {
  std::uint32_t op_index = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::int64_t duration = 0;
  std::array<std::int64_t, kStageCount> stages{-1, -1, -1, -1, -1, -1, -1};
};

/// Totals of one operator since start, for ModelStatistics. Nanoseconds.
struct OperatorStatistics {
  struct Duration {
    std::uint64_t count = 0;
    std::uint64_t nanos = 0;
  };
  struct PerBatchSize {
    std::uint64_t requests_in_batch = 0;
    Duration compute_input, compute_infer, compute_output;
  };
  Duration success, fail, queue, compute_input, compute_infer, compute_output;
  std::uint64_t inference_count = 0;        // successful requests
  std::uint64_t execution_count = 0;        // batches that ran
  std::uint64_t last_inference_millis = 0;  // since the epoch
  std::vector<PerBatchSize> batches;
};

/// Thread-safe.
class Metrics {
 public:
  /// `operators` are label values, in the order of op_index. `device_label` of the build-info metric's kind, for one.
  explicit Metrics(std::vector<std::string> operators);
  ~Metrics();

  void RecordRequest(const RequestRecord& record);
  /// A call that never became a request of an operator (unknown model, unreadable message), and calls of other methods:
  /// counted in kernelwire_errors_total by code only.
  void RecordError(absl::StatusCode code);
  /// A batch that ran; durations in nanoseconds.
  void RecordBatch(std::uint32_t op_index, std::uint64_t requests, std::uint64_t rows, std::int64_t copy_in,
                   std::int64_t kernel, std::int64_t copy_out);

  /// A value read at scrape time. `name` without the prefix; `labels` constant. Before the first scrape only.
  using Labels = std::vector<std::pair<std::string, std::string>>;
  void AddGauge(const std::string& name, const std::string& help, const Labels& labels, std::function<double()> read);

  OperatorStatistics StatisticsOf(std::uint32_t op_index) const;

  /// For an exposer; lives as long as this object.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  class Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_METRICS_H_
