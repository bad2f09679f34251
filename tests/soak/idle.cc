#include "tests/soak/idle.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/infer.h"

namespace kernelwire::soak {
namespace {

using Micros = std::chrono::duration<double, std::micro>;
constexpr int kWarmCalls = 500;
constexpr double kAllowedMicros = 2000;

double TimeCall(const client::Client& client, const client::InferRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  const client::Result<client::InferReply> reply = client.Infer(request, std::chrono::seconds(10));
  const Micros took = std::chrono::steady_clock::now() - began;
  if (!reply.ok()) {
    std::fprintf(stderr, "%s\n", reply.status().ToString().c_str());
    std::exit(1);
  }
  return took.count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool MeasureIdle(const std::string& address, int periods, absl::Duration pause) {
  const auto client = client::Client::Connect(address);
  const std::vector<float> values(256, 1);
  client::InferRequest request;
  request.model = "softmax";
  request.inputs = {{"x", client::View(values, {1, 256})}};
  std::vector<double> firsts;
  std::vector<double> warm;
  TimeCall(client, request);  // connects
  for (int period = 0; period < periods; ++period) {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(pause));  // the pause is what is measured
    firsts.push_back(TimeCall(client, request));
    std::vector<double> calls(kWarmCalls);
    std::generate(calls.begin(), calls.end(), [&] { return TimeCall(client, request); });
    warm.insert(warm.end(), calls.begin(), calls.end());
    std::printf("pause %2d: first call %8.0f us, then p50 %6.0f us of %d\n", period + 1, firsts.back(), Median(calls),
                kWarmCalls);
    std::fflush(stdout);
  }
  const double difference = Median(firsts) - Median(warm);
  std::printf("medians: first call %.0f us, warm %.0f us, difference %.0f us (allowed: %.0f us)\n", Median(firsts),
              Median(warm), difference, kAllowedMicros);
  return difference <= kAllowedMicros;
}

}  // namespace kernelwire::soak
