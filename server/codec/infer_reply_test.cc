#include "server/codec/infer_reply.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::AddInput;
using ::kernelwire::testing::BytesOf;
using ::kernelwire::testing::FromHex;
using ::kernelwire::testing::OneSlice;
using ::kernelwire::testing::ProbeCatalog;
using ::kernelwire::testing::ToHex;

constexpr std::size_t kSlabBytes = 1 << 20;

class InferReplyTest : public ::testing::Test {
 protected:
  InferReplyTest() : pool_(MakeHostRegion(2 * kSlabBytes), 4096), slab_(pool_.Take(kSlabBytes)) {}
  ~InferReplyTest() override {
    slab_->Release();
    EXPECT_EQ(pool_.used_bytes(), 0u);
  }

  /// Binds a request for x FP32 of `shape` that lists `outputs`, and finishes it: bytes of all outputs count up.
  void Finish(const Shape& shape, const std::vector<std::string>& outputs, const std::string& id = "7") {
    inference::ModelInferRequest request;
    request.set_model_name("probe");
    request.set_id(id);
    AddInput(&request, "x", "FP32", {shape.begin(), shape.end()});
    request.add_raw_input_contents(std::string(static_cast<std::size_t>(*shape.ElementCount()) * 4, 'x'));
    for (const std::string& name : outputs) {
      request.add_outputs()->set_name(name);
    }
    ASSERT_TRUE(message_.Parse(OneSlice(request)).ok());
    const absl::Status bound = message_.Bind(catalog_);
    ASSERT_TRUE(bound.ok()) << bound;
    completion_ = Completion();
    parts_ = {CompletedPart()};
    completion_.parts = parts_;
    parts_[0].slab = slab_;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < kMaxOutputs; ++i) {
      const OutputPlan& plan = message_.plan().outputs[i];
      if (plan.wanted) {
        completion_.outputs[i] = plan.desc;
        parts_[0].data[i] = slab_->host() + offset;
        parts_[0].bytes[i] = plan.bytes;
        offset += plan.bytes;
      }
    }
    for (std::size_t i = 0; i < offset; ++i) {
      slab_->host()[i] = static_cast<std::byte>(i * 7 + i / 251);
    }
  }

  /// That `reply` holds, by the generated parser, what `completion_` says.
  void ExpectReply(const inference::ModelInferResponse& reply) {
    EXPECT_EQ(reply.model_name(), "probe");
    EXPECT_EQ(reply.model_version(), "1");
    EXPECT_EQ(reply.id(), message_.id());
    ASSERT_EQ(reply.outputs_size(), static_cast<int>(message_.outputs().size()));
    ASSERT_EQ(reply.raw_output_contents_size(), reply.outputs_size());
    for (int i = 0; i < reply.outputs_size(); ++i) {
      const std::size_t index = message_.outputs()[static_cast<std::size_t>(i)];
      const TensorDesc& output = completion_.outputs[index];
      EXPECT_EQ(reply.outputs(i).name(), message_.model()->op->spec.outputs[index].name);
      EXPECT_EQ(reply.outputs(i).datatype(), NameOf(output.dtype));
      EXPECT_THAT(reply.outputs(i).shape(), ::testing::ElementsAreArray(output.shape));
      EXPECT_EQ(reply.raw_output_contents(i).size(), *output.ByteSize());
      const std::vector<std::byte> bytes = CopyOfOutput(completion_, index);
      EXPECT_EQ(reply.raw_output_contents(i), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
  }

  /// The first output turns out smaller than planned.
  void Shrink(const Shape& shape) {
    completion_.outputs[0].shape = shape;
    parts_[0].bytes[0] = *completion_.outputs[0].ByteSize();
  }

  void ExpectRoundTrip() {
    const grpc::ByteBuffer plain = EncodeInferReply(message_, completion_);
    inference::ModelInferResponse reply;
    ASSERT_TRUE(reply.ParseFromString(BytesOf(plain)));
    ExpectReply(reply);
    EXPECT_LE(plain.Length(), LargestReplyBytes(message_));
    const grpc::ByteBuffer streamed = EncodeStreamReply(message_, completion_);
    inference::ModelStreamInferResponse element;
    ASSERT_TRUE(element.ParseFromString(BytesOf(streamed)));
    EXPECT_EQ(element.error_message(), "");
    ExpectReply(element.infer_response());
  }

  const Catalog& catalog_ = ProbeCatalog();
  SlabPool pool_;
  Slab* const slab_;
  InferMessage message_;
  Completion completion_;
  std::vector<CompletedPart> parts_;
};

TEST_F(InferReplyTest, GoldenBytes) {
  Finish({2}, {});
  const float values[2] = {1.0f, -2.0f};
  const std::int32_t count = 2;
  std::memcpy(parts_[0].data[0], values, sizeof(values));
  std::memcpy(parts_[0].data[1], &count, sizeof(count));
  const std::string inner =
      "0a 05 70 72 6f 62 65 "           // model_name: "probe"
      "12 01 31 "                       // model_version: "1"
      "1a 01 37 "                       // id: "7"
      "2a 0f "                          // outputs, 15 bytes
      "0a 04 63 6f 70 79 "              //   name: "copy"
      "12 04 46 50 33 32 "              //   datatype: "FP32"
      "1a 01 02 "                       //   shape: [2]
      "2a 11 "                          // outputs, 17 bytes
      "0a 05 63 6f 75 6e 74 "           //   name: "count"
      "12 05 49 4e 54 33 32 "           //   datatype: "INT32"
      "1a 01 01 "                       //   shape: [1]
      "32 08 00 00 80 3f 00 00 00 c0 "  // raw_output_contents: 1.0f, -2.0f
      "32 04 02 00 00 00";              // raw_output_contents: 2
  EXPECT_EQ(ToHex(BytesOf(EncodeInferReply(message_, completion_))), inner);
  EXPECT_EQ(FromHex(inner).size(), LargestReplyBytes(message_));
  // infer_response of a ModelStreamInferResponse: 65 bytes.
  EXPECT_EQ(ToHex(BytesOf(EncodeStreamReply(message_, completion_))), "12 41 " + inner);
}

TEST_F(InferReplyTest, OutputsComeInTheOrderOfTheRequest) {
  Finish({3}, {"wide", "count", "copy"});
  ExpectRoundTrip();
  Finish({3}, {"count"});
  ExpectRoundTrip();
}

TEST_F(InferReplyTest, SizesAroundTheCopyLimit) {
  constexpr auto kLimit = static_cast<std::int64_t>(kCopiedPayloadBytes / sizeof(float));
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{31}, std::int64_t{32}, kLimit - 1,
                                      kLimit, kLimit + 1, 4 * kLimit}) {
    Finish({elements}, {"copy", "count", "wide"});
    ExpectRoundTrip();
    Finish({elements, 1}, {"wide", "copy"});
    ExpectRoundTrip();
  }
}

TEST_F(InferReplyTest, ShapesThatShrankAndScalars) {
  Finish({8, 2}, {"copy"});
  const std::size_t planned = LargestReplyBytes(message_);
  EXPECT_EQ(EncodeInferReply(message_, completion_).Length(), planned);
  Shrink({3, 2});
  ExpectRoundTrip();
  EXPECT_EQ(LargestReplyBytes(message_), planned);
  Shrink({0, 2});
  ExpectRoundTrip();
  Finish({}, {});
  ExpectRoundTrip();
}

TEST_F(InferReplyTest, LargePayloadsStayInTheSlabAndHoldIt) {
  Finish({1 << 14}, {"copy", "count"});
  grpc::ByteBuffer reply = EncodeInferReply(message_, completion_);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 3u);  // header; the payload; the second, which is small
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()), parts_[0].data[0]);

  // The batch lets go of the slab; the reply still holds it.
  Slab* const other = slab_;
  other->AddReference();  // the fixture releases one at its end
  other->Release();
  EXPECT_EQ(pool_.used_bytes(), kSlabBytes);
  reply.Clear();
  EXPECT_EQ(std::string(slices[1].begin(), slices[1].end()).size(), std::size_t{4} << 14);
  slices.clear();
}

TEST_F(InferReplyTest, APayloadIsCopiedWhereHalfOfTheStagingWaitsForReaders) {
  Finish({1 << 14}, {"copy", "count"});
  Slab* const unread = pool_.Take(4096);
  ASSERT_TRUE(unread->MayWaitForReaders());
  const std::string copied = BytesOf(EncodeInferReply(message_, completion_));
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(EncodeInferReply(message_, completion_).Dump(&slices).ok());
  EXPECT_EQ(slices.size(), 1u);
  ExpectRoundTrip();
  unread->Release();
  ASSERT_TRUE(EncodeInferReply(message_, completion_).Dump(&slices).ok());
  EXPECT_GT(slices.size(), 1u);
  EXPECT_EQ(BytesOf(EncodeInferReply(message_, completion_)), copied);
}

TEST_F(InferReplyTest, ARequestThatWasCutIsAnsweredAsIfItWereNot) {
  Finish({1 << 14}, {"copy", "count"});
  const std::string whole = BytesOf(EncodeInferReply(message_, completion_));
  // Stretches in slabs of their own: two that stay there, and one that is small enough to be copied.
  const CompletedPart all = parts_[0];
  SlabPool pool(MakeHostRegion(2 * kSlabBytes), 4096);
  const std::array<std::size_t, 4> cuts = {0, 20000, all.bytes[0] - 1000, all.bytes[0]};
  parts_.assign(3, CompletedPart());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].slab = pool.Take(kSlabBytes / 4);
    parts_[i].data[0] = parts_[i].slab->host();
    parts_[i].bytes[0] = cuts[i + 1] - cuts[i];
    std::memcpy(parts_[i].data[0], all.data[0] + cuts[i], parts_[i].bytes[0]);
  }
  parts_[2].data[1] = all.data[1];
  parts_[2].bytes[1] = all.bytes[1];
  completion_.parts = parts_;
  EXPECT_EQ(BytesOf(EncodeInferReply(message_, completion_)), whole);
  ExpectRoundTrip();
  grpc::ByteBuffer reply = EncodeInferReply(message_, completion_);
  for (const CompletedPart& part : parts_) {
    part.slab->Release();
  }
  EXPECT_EQ(pool.used_bytes(), kSlabBytes / 2) << "held by the reply; the slab of the copied stretch is not";
  reply.Clear();
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(InferReplyLifetimeTest, TheLastSliceGivesTheSlabBack) {
  SlabPool pool(MakeHostRegion(kSlabBytes), 4096);
  const Catalog& catalog = ProbeCatalog();
  InferMessage message;
  inference::ModelInferRequest request;
  request.set_model_name("probe");
  AddInput(&request, "x", "FP32", {1 << 13});
  request.add_raw_input_contents(std::string(std::size_t{4} << 13, 'x'));
  request.add_outputs()->set_name("copy");
  request.add_outputs()->set_name("wide");
  ASSERT_TRUE(message.Parse(OneSlice(request)).ok());
  ASSERT_TRUE(message.Bind(catalog).ok());
  Completion completion;
  CompletedPart part;
  part.slab = pool.Take(std::size_t{1} << 18);
  ASSERT_NE(part.slab, nullptr);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    completion.outputs[i] = message.plan().outputs[i].desc;
    part.data[i] = part.slab->host() + (i << 15);
    part.bytes[i] = message.plan().outputs[i].bytes;
  }
  completion.parts = {&part, 1};
  grpc::ByteBuffer reply = EncodeStreamReply(message, completion);
  part.slab->Release();  // the batch has ended
  message.Clear();
  EXPECT_GT(pool.used_bytes(), 0u);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  reply.Clear();
  EXPECT_GT(pool.used_bytes(), 0u);
  while (slices.size() > 2) {  // header, payload, start of the second field, payload
    EXPECT_GT(pool.used_bytes(), 0u);
    slices.pop_back();
  }
  slices.clear();
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(InferReplyErrorTest, AnErrorKeepsItsRequestsId) {
  const grpc::ByteBuffer buffer = EncodeStreamError("7", absl::NotFoundError("no"));
  EXPECT_EQ(ToHex(BytesOf(buffer)), "0a 02 6e 6f 12 03 1a 01 37");
  inference::ModelStreamInferResponse element;
  ASSERT_TRUE(element.ParseFromString(BytesOf(EncodeStreamError("", absl::CancelledError()))));
  EXPECT_EQ(element.error_message(), "CANCELLED");  // an empty one would look like success
}

TEST(InferReplyErrorTest, LongErrorsAreCutBetweenCharacters) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) {
    euros += "\xe2\x82\xac";
  }
  inference::ModelStreamInferResponse element;
  ASSERT_TRUE(element.ParseFromString(BytesOf(EncodeStreamError("id", absl::InternalError(euros)))));
  EXPECT_EQ(element.error_message(), euros.substr(0, kMaxErrorMessageBytes / 3 * 3));
}

}  // namespace
}  // namespace kernelwire
