#include "server/observe/metrics.h"

#include <atomic>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/collectable.h"
#include "prometheus/text_serializer.h"

namespace kernelwire {
namespace {

std::string Text(const Metrics& metrics) {
  return prometheus::TextSerializer().Serialize(metrics.collectable()->Collect());
}

/// Every sample of the exposition by its full name with labels; fails the test on a line that is neither a sample nor
/// HELP or TYPE, and on a sample whose family was not announced.
std::map<std::string, double> Parse(const std::string& text) {
  std::map<std::string, double> samples;
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) == 0) {
      family = line.substr(7, line.find(' ', 7) - 7);
      continue;
    }
    if (line.rfind("# HELP ", 0) == 0) {
      continue;
    }
    const std::size_t space = line.rfind(' ');
    double value = 0;
    EXPECT_TRUE(space != std::string::npos && absl::SimpleAtod(line.substr(space + 1), &value)) << line;
    EXPECT_EQ(line.rfind(family, 0), 0u) << line;
    const bool inserted = samples.emplace(line.substr(0, space), value).second;
    EXPECT_TRUE(inserted) << "twice: " << line;
  }
  return samples;
}

RequestRecord Record(std::uint32_t op, absl::StatusCode code, std::int64_t duration) {
  RequestRecord record;
  record.op_index = op;
  record.code = code;
  record.duration = duration;
  return record;
}

TEST(Metrics, ShowsTheExpectedSeriesBeforeAnyRequest) {
  const Metrics metrics({"softmax", "nms"});
  const auto samples = Parse(Text(metrics));
  EXPECT_EQ(samples.at("kernelwire_request_duration_seconds_count{operator=\"softmax\",code=\"OK\"}"), 0);
  EXPECT_EQ(samples.at("kernelwire_request_duration_seconds_count{operator=\"nms\",code=\"OK\"}"), 0);
  EXPECT_EQ(samples.at("kernelwire_errors_total{code=\"RESOURCE_EXHAUSTED\"}"), 0);
  EXPECT_EQ(samples.count("kernelwire_errors_total{code=\"OK\"}"), 0u);
  EXPECT_GT(samples.at("process_resident_memory_bytes"), 0);
  EXPECT_GT(samples.at("process_open_fds"), 2);
  EXPECT_GT(samples.at("process_start_time_seconds"), 1.6e9);
  EXPECT_GE(samples.at("process_cpu_seconds_total"), 0);
}

TEST(Metrics, CountsRequestsByOperatorAndCode) {
  Metrics metrics({"softmax", "nms"});
  metrics.RecordRequest(Record(0, absl::StatusCode::kOk, 12'000));
  metrics.RecordRequest(Record(0, absl::StatusCode::kOk, 2'000'000));
  metrics.RecordRequest(Record(1, absl::StatusCode::kInvalidArgument, 7'000));
  metrics.RecordError(absl::StatusCode::kNotFound);
  metrics.RecordError(absl::StatusCode::kOk);  // no error
  const auto samples = Parse(Text(metrics));
  const std::string softmax = "kernelwire_request_duration_seconds_bucket{operator=\"softmax\",code=\"OK\",le=";
  EXPECT_EQ(samples.at(softmax + "\"1e-05\"}"), 0);
  EXPECT_EQ(samples.at(softmax + "\"1.5e-05\"}"), 1);
  EXPECT_EQ(samples.at(softmax + "\"0.002\"}"), 2);
  EXPECT_EQ(samples.at(softmax + "\"+Inf\"}"), 2);
  EXPECT_DOUBLE_EQ(samples.at("kernelwire_request_duration_seconds_sum{operator=\"softmax\",code=\"OK\"}"), 2.012e-3);
  EXPECT_EQ(samples.at("kernelwire_request_duration_seconds_count{operator=\"nms\",code=\"INVALID_ARGUMENT\"}"), 1);
  EXPECT_EQ(samples.at("kernelwire_errors_total{code=\"INVALID_ARGUMENT\"}"), 1);
  EXPECT_EQ(samples.at("kernelwire_errors_total{code=\"NOT_FOUND\"}"), 1);
}

TEST(Metrics, MeasuresOnlyTheStagesThatARequestPassed) {
  Metrics metrics({"softmax"});
  EXPECT_FALSE(absl::StrContains(Text(metrics), "kernelwire_stage_duration_seconds_count"));
  RequestRecord record = Record(0, absl::StatusCode::kDeadlineExceeded, 50'000);
  record.stages[static_cast<std::size_t>(Stage::kDecode)] = 1'000;
  record.stages[static_cast<std::size_t>(Stage::kQueue)] = 40'000;
  metrics.RecordRequest(record);
  const auto samples = Parse(Text(metrics));
  const std::string count = "kernelwire_stage_duration_seconds_count{operator=\"softmax\",stage=";
  EXPECT_EQ(samples.at(count + "\"decode\"}"), 1);
  EXPECT_EQ(samples.at(count + "\"queue\"}"), 1);
  EXPECT_EQ(samples.at(count + "\"kernel\"}"), 0);
}

TEST(Metrics, CountsBatchesBySize) {
  Metrics metrics({"softmax"});
  metrics.RecordBatch(0, 3, 300, 1'000, 2'000, 3'000);
  metrics.RecordBatch(0, 3, 200, 10, 20, 30);
  metrics.RecordBatch(0, 1, 1, 5, 5, 5);
  const auto samples = Parse(Text(metrics));
  EXPECT_EQ(samples.at("kernelwire_batch_requests_sum{operator=\"softmax\"}"), 7);
  EXPECT_EQ(samples.at("kernelwire_batch_rows_sum{operator=\"softmax\"}"), 501);
  EXPECT_EQ(samples.at("kernelwire_batch_requests_bucket{operator=\"softmax\",le=\"2\"}"), 1);
  EXPECT_EQ(samples.at("kernelwire_batch_requests_bucket{operator=\"softmax\",le=\"3\"}"), 3);

  const OperatorStatistics statistics = metrics.StatisticsOf(0);
  EXPECT_EQ(statistics.execution_count, 3u);
  ASSERT_EQ(statistics.batches.size(), 2u);
  EXPECT_EQ(statistics.batches[0].requests_in_batch, 1u);
  EXPECT_EQ(statistics.batches[1].requests_in_batch, 3u);
  EXPECT_EQ(statistics.batches[1].compute_infer.count, 2u);
  EXPECT_EQ(statistics.batches[1].compute_input.nanos, 1'010u);
  EXPECT_EQ(statistics.batches[1].compute_output.nanos, 3'030u);
}

TEST(Metrics, KeepsStatisticsOfSuccessesAndFailuresApart) {
  Metrics metrics({"softmax", "nms"});
  RequestRecord record = Record(1, absl::StatusCode::kOk, 1'000);
  record.stages = {10, 20, 30, 40, 50, 60, 70};
  metrics.RecordRequest(record);
  record.code = absl::StatusCode::kUnavailable;
  record.duration = 500;
  metrics.RecordRequest(record);
  const OperatorStatistics statistics = metrics.StatisticsOf(1);
  EXPECT_EQ(statistics.success.count, 1u);
  EXPECT_EQ(statistics.success.nanos, 1'000u);
  EXPECT_EQ(statistics.fail.count, 1u);
  EXPECT_EQ(statistics.fail.nanos, 500u);
  EXPECT_EQ(statistics.inference_count, 1u);
  EXPECT_EQ(statistics.queue.nanos, 20u);
  EXPECT_EQ(statistics.compute_input.nanos, 70u);
  EXPECT_EQ(statistics.compute_infer.nanos, 50u);
  EXPECT_EQ(statistics.compute_output.nanos, 130u);
  EXPECT_GT(statistics.last_inference_millis, 1'600'000'000'000u);
  EXPECT_EQ(metrics.StatisticsOf(0).success.count, 0u);
  EXPECT_EQ(metrics.StatisticsOf(0).last_inference_millis, 0u);
}

TEST(Metrics, LosesNothingOfManyThreadsWhileItIsScraped) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 5'000;
  Metrics metrics({"softmax"});
  std::atomic<bool> done{false};
  std::thread scraper([&] {
    while (!done.load()) {
      Text(metrics);
      metrics.StatisticsOf(0);
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&metrics] {
      for (int request = 0; request < kRequests; ++request) {
        metrics.RecordRequest(Record(0, absl::StatusCode::kOk, request));
        metrics.RecordError(absl::StatusCode::kAborted);
        metrics.RecordBatch(0, 1, 2, 3, 4, 5);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  done.store(true);
  scraper.join();
  const auto samples = Parse(Text(metrics));
  EXPECT_EQ(samples.at("kernelwire_request_duration_seconds_count{operator=\"softmax\",code=\"OK\"}"),
            kThreads * kRequests);
  EXPECT_EQ(samples.at("kernelwire_errors_total{code=\"ABORTED\"}"), kThreads * kRequests);
  EXPECT_EQ(metrics.StatisticsOf(0).execution_count, static_cast<std::uint64_t>(kThreads * kRequests));
}

TEST(Metrics, ReadsGaugesAtTheScrape) {
  Metrics metrics({});
  double value = 1;
  metrics.AddGauge("lanes_busy", "Lanes at work.", {{"device", "host"}}, [&value] { return value; });
  metrics.AddGauge("lanes_busy", "Lanes at work.", {{"device", "cuda:0"}}, [] { return 3.0; });
  EXPECT_EQ(Parse(Text(metrics)).at("kernelwire_lanes_busy{device=\"host\"}"), 1);
  value = 2;
  EXPECT_EQ(Parse(Text(metrics)).at("kernelwire_lanes_busy{device=\"host\"}"), 2);
  EXPECT_EQ(Parse(Text(metrics)).at("kernelwire_lanes_busy{device=\"cuda:0\"}"), 3);
}

TEST(Metrics, StaysSmallWithAllOperatorsInUse) {
  Metrics metrics({"rms_norm", "softmax", "nms"});
  for (std::uint32_t op = 0; op < 3; ++op) {
    RequestRecord record = Record(op, absl::StatusCode::kOk, 123'456);
    record.stages.fill(12'345);
    metrics.RecordRequest(record);
    metrics.RecordBatch(op, 3, 300, 1, 2, 3);
  }
  EXPECT_LT(Text(metrics).size(), 100'000u);
}

}  // namespace
}  // namespace kernelwire
