// Every operator, every case, every input form, over the wire, against the oracle; from several clients at once, so
// that requests meet in batches. KERNELWIRE_CASES=N takes every N-th case only.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/registry.h"
#include "tests/end_to_end/wire_case.h"
#include "tests/harness/in_process_server.h"

namespace kernelwire::testing {
namespace {

struct WireCase {
  const Operator* op;
  const OperatorCase* test_case;
  Form form;
  std::shared_ptr<const std::vector<ExpectedOutput>> expected;  // one for all forms of a case
};

std::size_t CaseStep() {
  const char* text = std::getenv("KERNELWIRE_CASES");
  return text == nullptr ? 1 : std::max(1UL, std::strtoul(text, nullptr, 10));
}

std::vector<WireCase> MakeWireCases() {
  std::vector<WireCase> all;
  const std::size_t step = CaseStep();
  for (const OperatorCases& cases : AllOperatorCases()) {
    for (std::size_t i = 0; i < cases.cases.size(); i += step) {
      const OperatorCase& one = cases.cases[i];
      const auto expected = std::make_shared<const std::vector<ExpectedOutput>>(cases.oracle(one));
      for (const Form form : {Form::kRaw, Form::kTyped, Form::kMixed}) {
        if (CanTravel(one, form)) {
          all.push_back({FindOperator(cases.name), &one, form, expected});
        }
      }
    }
  }
  return all;
}

// The cases in every form that can carry them. The oracles are asked once for all tests.
const std::vector<WireCase>& WireCases() {
  static const std::vector<WireCase> all = MakeWireCases();
  return all;
}

TEST(Operators, AgreeWithTheOracleInEveryFormFromManyClients) {
  constexpr unsigned kClients = 4;
  constexpr unsigned kSeed = 20;
  std::cout << "seed " << kSeed << "\n";
  const auto server = InProcessServer::Start();
  std::vector<WireCase> all = WireCases();
  ASSERT_GT(all.size(), 100u);
  std::shuffle(all.begin(), all.end(), std::mt19937(kSeed));
  std::atomic<std::size_t> answered{0};
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const auto stub = Connect(server->address());
      for (std::size_t i = client; i < all.size(); i += kClients) {
        const WireCase* one = &all[i];
        inference::ModelInferResponse reply;
        const auto context = Deadline();
        const grpc::Status status =
            stub->ModelInfer(context.get(), ToWire(one->op->spec, *one->test_case, one->form), &reply);
        ASSERT_TRUE(status.ok()) << one->test_case->name << ": " << status.error_message();
        EXPECT_EQ(reply.id(), one->test_case->name);
        EXPECT_EQ(reply.model_name(), one->op->spec.name);
        EXPECT_EQ(reply.model_version(), "1");
        EXPECT_EQ(DisagreementOf(*one->expected, FromWire(one->op->spec, reply)), "")
            << one->op->spec.name << " " << one->test_case->name << " " << NameOf(one->form);
        ++answered;
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(answered, all.size());
  std::cout << answered << " requests\n";
}

TEST(Operators, AnswerInAStreamInAnyOrderWithTheirIds) {
  std::vector<WireCase> all;  // each case in the first form that can carry it
  std::unique_copy(WireCases().begin(), WireCases().end(), std::back_inserter(all),
                   [](const WireCase& a, const WireCase& b) { return a.test_case == b.test_case; });
  const auto server = InProcessServer::Start();
  const auto stub = Connect(server->address());
  const auto context = Deadline(600);  // a thousand requests, which sanitizers take a minute over
  const auto stream = stub->ModelStreamInfer(context.get());
  std::thread writer([&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto request = ToWire(all[i].op->spec, *all[i].test_case, all[i].form);
      request.set_id(std::to_string(i));
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  std::vector<bool> seen(all.size());
  inference::ModelStreamInferResponse reply;
  while (stream->Read(&reply)) {
    EXPECT_EQ(reply.error_message(), "");
    const std::size_t i = std::stoul(reply.infer_response().id());
    ASSERT_LT(i, all.size());
    EXPECT_FALSE(seen[i]);
    seen[i] = true;
    EXPECT_EQ(DisagreementOf(*all[i].expected, FromWire(all[i].op->spec, reply.infer_response())), "")
        << all[i].test_case->name;
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(all.size()));
}

TEST(Operators, GiveTheSameBitsAloneAndInCompany) {
  const auto server = InProcessServer::Start();
  const auto stub = Connect(server->address());
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> row(1000);
  for (float& value : row) {
    value = normal(random);
  }
  auto request = SoftmaxRequest(1, 1000);
  request.set_raw_input_contents(0, row.data(), row.size() * sizeof(float));
  inference::ModelInferResponse alone;
  const auto context = Deadline();
  ASSERT_TRUE(stub->ModelInfer(context.get(), request, &alone).ok());
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      const auto mine = Connect(server->address());
      for (int i = 0; i < 100; ++i) {
        inference::ModelInferResponse reply;
        const auto own = Deadline();
        const auto& sent = i % 2 == 0 ? request : SoftmaxRequest(1 + client, 1000);
        ASSERT_TRUE(mine->ModelInfer(own.get(), sent, &reply).ok());
        if (i % 2 == 0) {
          EXPECT_EQ(reply.raw_output_contents(0), alone.raw_output_contents(0));
        }
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
}

}  // namespace
}  // namespace kernelwire::testing
