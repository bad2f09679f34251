#include "server/observe/metrics_collect.h"

#include <memory>

#include "absl/status/status.h"
#include "prometheus/client_metric.h"

namespace kernelwire {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kSecondsPerNano = 1e-9;
constexpr const char* kStageLabels[kStageCount] = {"decode", "queue",    "stage", "copy_in",
                                                   "kernel", "copy_out", "encode"};

/// The sum over all shards, of one operator.
struct OperatorTotals {
  std::array<DurationTotals, kCodeCount> durations;
  std::array<DurationTotals, kStageCount> stages;
  HistogramTotals<kBatchRequestBounds.size()> batch_requests;
  HistogramTotals<kBatchRowBounds.size()> batch_rows;

  void Add(const MetricsShard::PerOperator& shard) {
    for (std::size_t i = 0; i < durations.size(); ++i) {
      shard.durations[i].AddTo(&durations[i]);
    }
    for (std::size_t i = 0; i < stages.size(); ++i) {
      shard.stages[i].AddTo(&stages[i]);
    }
    shard.batch_requests.AddTo(&batch_requests);
    shard.batch_rows.AddTo(&batch_rows);
  }
};

MetricFamily Family(const char* name, const char* help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

/// `unit` is what one of the histogram's whole numbers is worth in the metric's base unit.
template <std::size_t kBounds>
ClientMetric Histogram(std::vector<ClientMetric::Label> labels, const std::array<std::uint64_t, kBounds>& bounds,
                       const HistogramTotals<kBounds>& totals, double unit) {
  ClientMetric metric;
  metric.label = std::move(labels);
  std::uint64_t cumulative = 0;
  metric.histogram.bucket.reserve(kBounds);
  for (std::size_t i = 0; i < kBounds; ++i) {
    cumulative += totals.buckets[i];
    ClientMetric::Bucket bucket;
    bucket.cumulative_count = cumulative;
    // Division by a whole number rounds once, so that bounds print as 5e-06 and not as 5.0000000000000004e-06.
    bucket.upper_bound = unit == 1.0 ? static_cast<double>(bounds[i]) : static_cast<double>(bounds[i]) / 1e9;
    metric.histogram.bucket.push_back(bucket);
  }
  metric.histogram.sample_count = cumulative + totals.buckets[kBounds];
  metric.histogram.sample_sum = static_cast<double>(totals.sum) * unit;
  return metric;
}

MetricFamily Durations(const std::vector<std::string>& operators, const std::vector<OperatorTotals>& totals) {
  MetricFamily family =
      Family("kernelwire_request_duration_seconds",
             "Time from a request's last byte received to its reply handed to gRPC.", MetricType::Histogram);
  for (std::size_t op = 0; op < operators.size(); ++op) {
    for (int code = 0; code < kCodeCount; ++code) {
      const DurationTotals& histogram = totals[op].durations[static_cast<std::size_t>(code)];
      if (code == 0 || histogram.Count() > 0) {
        family.metric.push_back(Histogram({{"operator", operators[op]}, {"code", CodeLabel(code)}}, kDurationBounds,
                                          histogram, kSecondsPerNano));
      }
    }
  }
  return family;
}

MetricFamily Stages(const std::vector<std::string>& operators, const std::vector<OperatorTotals>& totals) {
  MetricFamily family =
      Family("kernelwire_stage_duration_seconds",
             "Time of a request in each stage; copies and kernel are those of its whole batch.", MetricType::Histogram);
  for (std::size_t op = 0; op < operators.size(); ++op) {
    bool used = false;
    for (const DurationTotals& stage : totals[op].stages) {
      used = used || stage.Count() > 0;
    }
    for (std::size_t stage = 0; used && stage < kStageCount; ++stage) {
      family.metric.push_back(Histogram({{"operator", operators[op]}, {"stage", kStageLabels[stage]}}, kDurationBounds,
                                        totals[op].stages[stage], kSecondsPerNano));
    }
  }
  return family;
}

/// `member` picks the histogram of a batch's requests or rows.
template <typename Member, std::size_t kBounds>
MetricFamily Batches(const char* name, const char* help, const std::array<std::uint64_t, kBounds>& bounds,
                     Member member, const std::vector<std::string>& operators,
                     const std::vector<OperatorTotals>& totals) {
  MetricFamily family = Family(name, help, MetricType::Histogram);
  for (std::size_t op = 0; op < operators.size(); ++op) {
    if ((totals[op].*member).Count() > 0) {
      family.metric.push_back(Histogram({{"operator", operators[op]}}, bounds, totals[op].*member, 1.0));
    }
  }
  return family;
}

MetricFamily Errors(const MetricsShardSet& shards) {
  MetricFamily family =
      Family("kernelwire_errors_total", "Calls that ended with an error, by status code.", MetricType::Counter);
  std::array<std::uint64_t, kCodeCount> errors{};
  shards.ForEach([&errors](const MetricsShard& shard) {
    for (std::size_t code = 0; code < errors.size(); ++code) {
      errors[code] += shard.errors[code].Get();
    }
  });
  for (int code = 1; code < kCodeCount; ++code) {
    ClientMetric metric;
    metric.label = {{"code", CodeLabel(code)}};
    metric.counter.value = static_cast<double>(errors[static_cast<std::size_t>(code)]);
    family.metric.push_back(metric);
  }
  return family;
}

}  // namespace

std::string CodeLabel(int code) { return absl::StatusCodeToString(static_cast<absl::StatusCode>(code)); }

std::vector<MetricFamily> CollectRequestFamilies(const std::vector<std::string>& operators,
                                                 const MetricsShardSet& shards) {
  std::vector<OperatorTotals> totals(operators.size());
  shards.ForEach([&totals](const MetricsShard& shard) {
    for (std::size_t op = 0; op < totals.size(); ++op) {
      totals[op].Add(shard.operators[op]);
    }
  });
  std::vector<MetricFamily> families;
  families.push_back(Durations(operators, totals));
  families.push_back(Stages(operators, totals));
  families.push_back(Batches("kernelwire_batch_requests", "Requests that shared one launch.", kBatchRequestBounds,
                             &OperatorTotals::batch_requests, operators, totals));
  families.push_back(Batches("kernelwire_batch_rows", "Rows, or images, of one launch.", kBatchRowBounds,
                             &OperatorTotals::batch_rows, operators, totals));
  families.push_back(Errors(shards));
  return families;
}

}  // namespace kernelwire
