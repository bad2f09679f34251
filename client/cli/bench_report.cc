#include "client/cli/bench_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "client/cli/table.h"
#include "nlohmann/json.hpp"

namespace kernelwire::cli {
namespace {

constexpr std::array<std::pair<double, const char*>, 4> kPercentiles = {
    {{50, "p50"}, {90, "p90"}, {99, "p99"}, {99.9, "p99.9"}}};

double SecondsOf(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

struct Rates {
  double calls = 0;     // a second, successful ones
  double sent = 0;      // bytes a second, of successful calls
  double received = 0;  // bytes a second
};

Rates RatesOf(const BenchSubject& subject, const LoadResult& result) {
  const double seconds = SecondsOf(result.elapsed);
  if (seconds <= 0) {
    return {};
  }
  const double calls = static_cast<double>(result.succeeded()) / seconds;
  return {calls, calls * static_cast<double>(subject.request_bytes), static_cast<double>(result.reply_bytes) / seconds};
}

std::string SizeText(std::size_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {" B", " KiB", " MiB", " GiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) {
    size /= 1024;
  }
  return Fixed(size, unit == 0 ? 0 : 1) + kUnits[unit];
}

std::string Plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::string HeadlineText(const BenchSubject& subject, const LoadPlan& plan) {
  std::string text = subject.operator_name + " at " + subject.address + ": ";
  for (const InputPlan& input : subject.inputs) {
    text += input.name + " " + client::NameOf(input.dtype) + " " + client::ShapeText(input.shape) + ", ";
  }
  text += SizeText(subject.request_bytes) + " a request\n";
  text += plan.rate.has_value() ? "open loop, " + Fixed(*plan.rate, 1) + " calls/s, at most " : "closed loop, ";
  text += std::to_string(plan.outstanding) + " outstanding on " + Plural(subject.connections, "connection") + ", " +
          Plural(plan.threads, "thread") + ", seed " + std::to_string(plan.seed) + "\n";
  text += "warm-up " + DurationText(plan.warm_up) + ", then " +
          (plan.requests.has_value() ? Plural(*plan.requests, "call") : DurationText(plan.duration)) + "\n";
  return text;
}

std::string ReportText(const BenchSubject& subject, const LoadResult& result) {
  const Rates rates = RatesOf(subject, result);
  std::string text = "\ncalls     " + std::to_string(result.succeeded()) + " OK";
  for (const auto& [code, calls] : result.codes) {
    if (code != client::StatusCode::kOk) {
      text += ", " + std::to_string(calls) + " " + client::NameOf(code);
    }
  }
  text += " in " + DurationText(result.elapsed) + "\n";
  if (!result.first_failure.ok()) {
    text += "failure   " + result.first_failure.ToString() + "\n";
  }
  text += "rate      " + Fixed(rates.calls, 1) + " calls/s\n";
  text +=
      "bytes     " + Fixed(rates.sent / 1e9, 3) + " GB/s sent, " + Fixed(rates.received / 1e9, 3) + " GB/s received\n";
  if (result.succeeded() == 0) {
    return text;
  }
  text += "latency  ";
  for (const auto& [percent, name] : kPercentiles) {
    text += std::string(" ") + name + " " + DurationText(result.latency.Percentile(percent)) + ", ";
  }
  text += " max " + DurationText(result.latency.max()) + ", mean " + DurationText(result.latency.Mean()) + "\n\n";
  return text + result.latency.ToString();
}

std::string ReportJson(const BenchSubject& subject, const LoadPlan& plan, const LoadResult& result) {
  using Json = nlohmann::ordered_json;
  Json inputs = Json::array();
  for (const InputPlan& input : subject.inputs) {
    inputs.push_back({{"name", input.name}, {"datatype", client::NameOf(input.dtype)}, {"shape", input.shape}});
  }
  Json codes = Json::object();
  for (const auto& [code, calls] : result.codes) {
    codes[client::NameOf(code)] = calls;
  }
  Json latency = {{"mean", SecondsOf(result.latency.Mean())}, {"max", SecondsOf(result.latency.max())}};
  for (const auto& [percent, name] : kPercentiles) {
    latency[name] = SecondsOf(result.latency.Percentile(percent));
  }
  const Rates rates = RatesOf(subject, result);
  const Json report = {{"operator", subject.operator_name},
                       {"address", subject.address},
                       {"method", plan.method},
                       {"loop", plan.rate.has_value() ? "open" : "closed"},
                       {"offered_calls_per_second", plan.rate.has_value() ? Json(*plan.rate) : Json(nullptr)},
                       {"outstanding", plan.outstanding},
                       {"connections", subject.connections},
                       {"threads", plan.threads},
                       {"seed", plan.seed},
                       {"inputs", inputs},
                       {"request_bytes", subject.request_bytes},
                       {"reply_bytes", result.succeeded() == 0 ? 0 : result.reply_bytes / result.succeeded()},
                       {"elapsed_seconds", SecondsOf(result.elapsed)},
                       {"codes", codes},
                       {"calls_per_second", rates.calls},
                       {"sent_bytes_per_second", rates.sent},
                       {"received_bytes_per_second", rates.received},
                       {"latency_seconds", latency}};
  return report.dump(2) + "\n";
}

}  // namespace kernelwire::cli
