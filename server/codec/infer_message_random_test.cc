// Random requests, written by the generated serializer and cut at random, come out as they went in.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "server/codec/infer_message.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::AddInput;
using ::kernelwire::testing::BufferOf;
using ::kernelwire::testing::CutAt;
using ::kernelwire::testing::ProbeCatalog;

constexpr DataType kTypes[] = {DataType::kBool, DataType::kInt8, DataType::kUint8, DataType::kInt32, DataType::kInt64,
                               DataType::kFp16, DataType::kBf16, DataType::kFp32,  DataType::kFp64};

class RandomRequest {
 public:
  explicit RandomRequest(std::uint64_t seed) : random_(seed) {
    request_.set_model_name("probe");
    request_.set_id(std::string(Below(40), 'i'));
    if (Below(2) == 0) {
      (*request_.mutable_parameters())["axis"].set_int64_param(axis_ = static_cast<std::int64_t>(Below(1000)) - 500);
    }
    std::vector<std::size_t> order = {0, 1};
    if (Below(2) == 0) {
      std::swap(order[0], order[1]);
    }
    for (const std::size_t index : order) {
      if (index == 0 || Below(2) == 0) {
        Add(index);
      }
    }
  }

  std::string Serialized() const { return request_.SerializeAsString(); }
  std::vector<grpc::Slice> Slices() {
    const std::string bytes = Serialized();
    std::vector<std::size_t> cuts(Below(20));
    for (std::size_t& cut : cuts) {
      cut = Below(bytes.size() + 1);
    }
    std::sort(cuts.begin(), cuts.end());
    return CutAt(bytes, cuts);
  }
  const std::string& bytes(std::size_t index) const { return bytes_[index]; }
  std::int64_t axis() const { return axis_; }

 private:
  std::size_t Below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

  void Add(std::size_t index) {
    const DataType dtype = kTypes[Below(std::size(kTypes))];
    std::vector<std::int64_t> shape(Below(5));
    std::size_t count = 1;
    for (std::int64_t& extent : shape) {
      extent = static_cast<std::int64_t>(Below(6));
      count *= static_cast<std::size_t>(extent);
    }
    std::string& bytes = bytes_[index];
    bytes.resize(count * SizeOf(dtype));
    for (char& byte : bytes) {
      byte = static_cast<char>(dtype == DataType::kBool ? Below(2) : Below(256));
    }
    auto* const input = AddInput(&request_, index == 0 ? "x" : "y", NameOf(dtype), shape);
    const bool has_list = dtype != DataType::kFp16 && dtype != DataType::kBf16;
    if (!has_list || Below(2) == 0) {
      request_.add_raw_input_contents(bytes);
    } else {
      FillContents(dtype, bytes, input->mutable_contents());
    }
  }

  template <typename Element, typename List>
  static void Append(const std::string& bytes, List* list) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Element)) {
      Element element;
      std::memcpy(&element, bytes.data() + at, sizeof(element));
      list->Add(element);
    }
  }

  static void FillContents(DataType dtype, const std::string& bytes, inference::InferTensorContents* contents) {
    switch (dtype) {
      case DataType::kBool:
        return Append<bool>(bytes, contents->mutable_bool_contents());
      case DataType::kInt8:
        return Append<std::int8_t>(bytes, contents->mutable_int_contents());
      case DataType::kInt32:
        return Append<std::int32_t>(bytes, contents->mutable_int_contents());
      case DataType::kInt64:
        return Append<std::int64_t>(bytes, contents->mutable_int64_contents());
      case DataType::kUint8:
        return Append<std::uint8_t>(bytes, contents->mutable_uint_contents());
      case DataType::kFp32:
        return Append<float>(bytes, contents->mutable_fp32_contents());
      default:
        return Append<double>(bytes, contents->mutable_fp64_contents());
    }
  }

  std::mt19937_64 random_;
  inference::ModelInferRequest request_;
  std::string bytes_[2];
  std::int64_t axis_ = 0;
};

TEST(InferMessageRandomTest, WhatWentInComesOut) {
  constexpr std::uint64_t kFirstSeed = 20240601;
  constexpr std::uint64_t kRequests = 5000;
  std::cout << "seeds " << kFirstSeed << " to " << kFirstSeed + kRequests - 1 << "\n";
  const Catalog& catalog = ProbeCatalog();
  InferMessage message;  // one for all: nothing of a request may be left for the next
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kRequests; ++seed) {
    RandomRequest request(seed);
    const absl::Status parsed = message.Parse(BufferOf(request.Slices()));
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed;
    const absl::Status bound = message.Bind(catalog);
    ASSERT_TRUE(bound.ok()) << "seed " << seed << ": " << bound;
    EXPECT_EQ(message.plan_request().attributes->GetInt("axis").value_or(0), request.axis());
    for (int index = 0; index < 2; ++index) {
      const std::string& expected = request.bytes(static_cast<std::size_t>(index));
      ASSERT_EQ(message.input_bytes(index), expected.size()) << "seed " << seed;
      std::string copy(expected.size(), '?');
      ASSERT_TRUE(message.CopyInput(index, copy.data()).ok()) << "seed " << seed;
      ASSERT_EQ(copy, expected) << "seed " << seed;
    }
  }
}

TEST(InferMessageRandomTest, ChangedBytesAreRefusedOrReadAsTheGeneratedParserDoes) {
  const google::protobuf::LogSilencer quiet;  // it writes a line for each name that is not UTF-8
  constexpr std::uint64_t kFirstSeed = 977000;
  constexpr std::uint64_t kRequests = 20000;
  std::cout << "seeds " << kFirstSeed << " to " << kFirstSeed + kRequests - 1 << "\n";
  const Catalog& catalog = ProbeCatalog();
  InferMessage message;
  std::size_t accepted = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kRequests; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes = RandomRequest(seed).Serialized();
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const bool ok =
        message.Parse(kernelwire::testing::SlicesOf(bytes, 1 + random() % 64)).ok() && message.Bind(catalog).ok();
    if (!ok) {
      continue;
    }
    ++accepted;
    inference::ModelInferRequest reference;
    ASSERT_TRUE(reference.ParseFromString(bytes)) << "seed " << seed;
    EXPECT_EQ(message.id(), reference.id());
    EXPECT_EQ(message.header().inputs_size(), reference.inputs_size());
    for (int index = 0; index < 2; ++index) {
      std::vector<char> exact(message.input_bytes(index));
      message.CopyInput(index, exact.data()).IgnoreError();
    }
  }
  EXPECT_GT(accepted, kRequests / 100);
  EXPECT_LT(accepted, kRequests);
}

}  // namespace
}  // namespace kernelwire
