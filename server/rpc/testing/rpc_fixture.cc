#include "server/rpc/testing/rpc_fixture.h"

#include <utility>
#include <vector>

#include "grpcpp/create_channel.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/rpc/testing/twice_operator.h"

namespace kernelwire::testing {

RpcFixture::RpcFixture() : catalog({{"twice", "1", &TwiceOperator(), 0}}), metrics({"twice"}) {
  options.addresses = {"127.0.0.1:0"};
  options.server_version = "1.2.3";
}

RpcFixture::~RpcFixture() {
  if (device != nullptr) {
    device->Release();  // nothing may be on the device when the server waits for its calls
  }
  server.reset();
  if (poller_.joinable()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    poller_.join();
  }
}

void RpcFixture::Start() {
  device = std::make_unique<HeldDevice>(staging_bytes);
  scheduler = std::make_unique<Scheduler>(
      scheduler_options, &clock, std::vector<Device*>{device.get()},
      [this](const Batch& batch) {
        metrics.RecordBatch(batch.op_index(), batch.request_count(), static_cast<std::uint64_t>(batch.rows()),
                            batch.copy_in, batch.kernel, batch.copy_out);
      },
      [this] {
        {
          const std::lock_guard<std::mutex> lock(mutex_);
          poll_wanted_ = true;
        }
        wake_.notify_one();
      });
  poller_ = std::thread([this] { Poll(); });
  RpcParts parts;
  parts.catalog = &catalog;
  parts.scheduler = scheduler.get();
  parts.metrics = &metrics;
  parts.health = &health;
  parts.clock = &clock;
  auto started = RpcServer::Start(options, parts);
  ASSERT_TRUE(started.ok()) << started.status();
  server = *std::move(started);
  health.SetReady(true);
  channel_ = Connect();
  inference_ = inference::GRPCInferenceService::NewStub(channel_);
  health_stub_ = grpc::health::v1::Health::NewStub(channel_);
}

std::shared_ptr<grpc::Channel> RpcFixture::Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);  // a connection of its own
  arguments.SetInt("grpc.http2.bdp_probe", 0);            // windows do not grow: what is not read stays unsent
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void RpcFixture::Await(const std::function<bool()>& condition, const char* what) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "waited in vain for: " << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void RpcFixture::ExpectNothingLeft() {
  Await([this] { return server->live_calls() == 0; }, "all calls closed");
  Await([this] { return device->slabs().used_bytes() == 0; }, "all staging given back");
  const SchedulerSnapshot snapshot = scheduler->Snapshot();
  EXPECT_EQ(snapshot.outstanding_requests, 0);
  EXPECT_EQ(snapshot.outstanding_bytes, 0);
}

inference::InferStatistics RpcFixture::Statistics() {
  PatientContext context;
  inference::ModelStatisticsRequest request;
  request.set_name("twice");
  inference::ModelStatisticsResponse response;
  const grpc::Status status = inference().ModelStatistics(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.model_stats_size() == 1 ? response.model_stats(0).inference_stats() : inference::InferStatistics();
}

double RpcFixture::CountedErrors(const std::string& code) const {
  for (const prometheus::MetricFamily& family : metrics.collectable()->Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (family.name == "kernelwire_errors_total" && metric.label.at(0).value == code) {
        return metric.counter.value;
      }
    }
  }
  ADD_FAILURE() << "no counter of errors with code " << code;
  return -1;
}

void RpcFixture::Poll() {
  Nanos next = kNever;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const auto wanted = [this] { return poll_wanted_ || stopping_; };
      if (next == kNever) {
        wake_.wait(lock, wanted);
      } else {
        wake_.wait_for(lock, std::chrono::nanoseconds(next - clock.Now()), wanted);
      }
      if (stopping_) {
        return;
      }
      poll_wanted_ = false;
    }
    next = scheduler->Poll();
  }
}

}  // namespace kernelwire::testing
