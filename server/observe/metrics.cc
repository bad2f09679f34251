#include "server/observe/metrics.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "prometheus/collectable.h"
#include "server/observe/metrics_collect.h"
#include "server/observe/metrics_shards.h"
#include "server/observe/process_metrics.h"

namespace kernelwire {
namespace {

std::size_t CodeIndex(absl::StatusCode code) {
  const int index = static_cast<int>(code);
  return static_cast<std::size_t>(index >= 0 && index < kCodeCount ? index
                                                                   : static_cast<int>(absl::StatusCode::kUnknown));
}

std::uint64_t NotNegative(std::int64_t nanos) { return nanos < 0 ? 0 : static_cast<std::uint64_t>(nanos); }

std::uint64_t MillisSinceEpoch() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
}

std::uint64_t StageNanos(const RequestRecord& record, Stage stage) {
  return NotNegative(record.stages[static_cast<std::size_t>(stage)]);
}

void RecordSuccess(const RequestRecord& record, MetricsShard::PerOperator& shard) {
  shard.queue.Add(StageNanos(record, Stage::kQueue));
  shard.compute_input.Add(StageNanos(record, Stage::kStage) + StageNanos(record, Stage::kCopyIn));
  shard.compute_infer.Add(StageNanos(record, Stage::kKernel));
  shard.compute_output.Add(StageNanos(record, Stage::kCopyOut) + StageNanos(record, Stage::kEncode));
  shard.last_inference_millis.Set(MillisSinceEpoch());
}

void AddOperator(const MetricsShard::PerOperator& shard, OperatorStatistics* statistics) {
  for (std::size_t code = 0; code < kCodeCount; ++code) {
    DurationTotals totals;
    shard.durations[code].AddTo(&totals);
    OperatorStatistics::Duration& into = code == 0 ? statistics->success : statistics->fail;
    into.count += totals.Count();
    into.nanos += totals.sum;
  }
  statistics->queue.nanos += shard.queue.Get();
  statistics->compute_input.nanos += shard.compute_input.Get();
  statistics->compute_infer.nanos += shard.compute_infer.Get();
  statistics->compute_output.nanos += shard.compute_output.Get();
  statistics->last_inference_millis = std::max(statistics->last_inference_millis, shard.last_inference_millis.Get());
}

}  // namespace

class Metrics::Implementation final : public prometheus::Collectable {
 public:
  explicit Implementation(std::vector<std::string> operators)
      : operators_(std::move(operators)), shards_(std::make_shared<MetricsShardSet>(operators_.size())) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families = CollectRequestFamilies(operators_, *shards_);
    CollectGauges(&families);
    for (prometheus::MetricFamily& family : CollectProcessFamilies()) {
      families.push_back(std::move(family));
    }
    return families;
  }

  void AddGauge(const std::string& name, const std::string& help, const Labels& labels, std::function<double()> read) {
    Gauge gauge;
    for (const auto& [label, value] : labels) {
      gauge.labels.push_back({label, value});
    }
    gauge.read = std::move(read);
    std::lock_guard<std::mutex> lock(gauges_mutex_);
    GaugeFamily& family = gauges_["kernelwire_" + name];
    family.help = help;
    family.gauges.push_back(std::move(gauge));
  }

  MetricsShardSet& shards() { return *shards_; }

 private:
  struct Gauge {
    std::vector<prometheus::ClientMetric::Label> labels;
    std::function<double()> read;
  };
  struct GaugeFamily {
    std::string help;
    std::vector<Gauge> gauges;
  };

  void CollectGauges(std::vector<prometheus::MetricFamily>* families) const {
    std::lock_guard<std::mutex> lock(gauges_mutex_);
    for (const auto& [name, from] : gauges_) {
      prometheus::MetricFamily family;
      family.name = name;
      family.help = from.help;
      family.type = prometheus::MetricType::Gauge;
      for (const Gauge& gauge : from.gauges) {
        prometheus::ClientMetric metric;
        metric.label = gauge.labels;
        metric.gauge.value = gauge.read();
        family.metric.push_back(metric);
      }
      families->push_back(std::move(family));
    }
  }

  const std::vector<std::string> operators_;
  const std::shared_ptr<MetricsShardSet> shards_;
  mutable std::mutex gauges_mutex_;
  std::map<std::string, GaugeFamily> gauges_;
};

Metrics::Metrics(std::vector<std::string> operators)
    : implementation_(std::make_shared<Implementation>(std::move(operators))) {}

Metrics::~Metrics() = default;

void Metrics::RecordRequest(const RequestRecord& record) {
  MetricsShard& shard = implementation_->shards().Local();
  MetricsShard::PerOperator& of_operator = shard.Of(record.op_index);
  const std::size_t code = CodeIndex(record.code);
  of_operator.durations[code].Record(kDurationBounds, NotNegative(record.duration));
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    if (record.stages[stage] >= 0) {
      of_operator.stages[stage].Record(kDurationBounds, NotNegative(record.stages[stage]));
    }
  }
  if (record.code == absl::StatusCode::kOk) {
    RecordSuccess(record, of_operator);
  } else {
    shard.errors[code].Add(1);
  }
}

void Metrics::RecordError(absl::StatusCode code) {
  if (code != absl::StatusCode::kOk) {
    implementation_->shards().Local().errors[CodeIndex(code)].Add(1);
  }
}

void Metrics::RecordBatch(std::uint32_t op_index, std::uint64_t requests, std::uint64_t rows, std::int64_t copy_in,
                          std::int64_t kernel, std::int64_t copy_out) {
  MetricsShard& shard = implementation_->shards().Local();
  MetricsShard::PerOperator& of_operator = shard.Of(op_index);
  of_operator.batch_requests.Record(kBatchRequestBounds, requests);
  of_operator.batch_rows.Record(kBatchRowBounds, rows);
  std::lock_guard<std::mutex> lock(shard.batch_sizes_mutex);
  MetricsShard::BatchSizeTotals& totals = shard.batch_sizes[{op_index, requests}];
  totals.batches += 1;
  totals.copy_in += NotNegative(copy_in);
  totals.kernel += NotNegative(kernel);
  totals.copy_out += NotNegative(copy_out);
}

void Metrics::AddGauge(const std::string& name, const std::string& help, const Labels& labels,
                       std::function<double()> read) {
  implementation_->AddGauge(name, help, labels, std::move(read));
}

OperatorStatistics Metrics::StatisticsOf(std::uint32_t op_index) const {
  OperatorStatistics statistics;
  std::map<std::uint64_t, OperatorStatistics::PerBatchSize> by_size;
  implementation_->shards().ForEach([&](MetricsShard& shard) {
    AddOperator(shard.Of(op_index), &statistics);
    std::lock_guard<std::mutex> lock(shard.batch_sizes_mutex);
    for (const auto& [key, totals] : shard.batch_sizes) {
      if (key.first != op_index) {
        continue;
      }
      OperatorStatistics::PerBatchSize& size = by_size[key.second];
      size.requests_in_batch = key.second;
      size.compute_input.count += totals.batches;
      size.compute_input.nanos += totals.copy_in;
      size.compute_infer.nanos += totals.kernel;
      size.compute_output.nanos += totals.copy_out;
    }
  });
  // Every successful request passed the queue and the device, so one count serves all of them.
  const std::uint64_t successes = statistics.success.count;
  statistics.queue.count = successes;
  statistics.compute_input.count = successes;
  statistics.compute_infer.count = successes;
  statistics.compute_output.count = successes;
  statistics.inference_count = successes;
  for (auto& [requests, size] : by_size) {
    size.compute_infer.count = size.compute_output.count = size.compute_input.count;
    statistics.execution_count += size.compute_input.count;
    statistics.batches.push_back(size);
  }
  return statistics;
}

std::shared_ptr<prometheus::Collectable> Metrics::collectable() const { return implementation_; }

}  // namespace kernelwire
