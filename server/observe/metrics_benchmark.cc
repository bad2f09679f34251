// What recording costs: a request with all stages, a batch, and a whole scrape.
#include <cstdint>

#include "benchmark/benchmark.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"
#include "server/observe/metrics.h"

namespace kernelwire {
namespace {

Metrics& SharedMetrics() {
  static auto* const metrics = new Metrics({"rms_norm", "softmax", "nms"});
  return *metrics;
}

RequestRecord Record(std::int64_t seed) {
  RequestRecord record;
  record.op_index = static_cast<std::uint32_t>(seed % 3);
  record.duration = 20'000 + seed * 997 % 1'000'000;
  for (std::int64_t& stage : record.stages) {
    stage = record.duration / 7;
  }
  return record;
}

void BM_RecordRequest(benchmark::State& state) {
  std::int64_t seed = 0;
  for (auto _ : state) {
    SharedMetrics().RecordRequest(Record(++seed));
  }
}
BENCHMARK(BM_RecordRequest)->Threads(1)->Threads(2);

void BM_RecordBatch(benchmark::State& state) {
  std::uint64_t requests = 0;
  for (auto _ : state) {
    requests = requests % 64 + 1;
    SharedMetrics().RecordBatch(1, requests, requests * 128, 3000, 5000, 4000);
  }
}
BENCHMARK(BM_RecordBatch)->Threads(1)->Threads(2);

void BM_Scrape(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = prometheus::TextSerializer().Serialize(SharedMetrics().collectable()->Collect()).size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Scrape)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kernelwire
