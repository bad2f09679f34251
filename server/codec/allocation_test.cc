// Once a few requests of a kind have come by, decoding takes nothing from operator new, and encoding what gRPC keeps.
#include <cstdlib>
#include <new>
#include <string>

#include "gtest/gtest.h"
#include "server/codec/infer_message.h"
#include "server/codec/infer_reply.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"

namespace {

std::size_t allocations = 0;

}  // namespace

// Not inlined: the compiler would see free() meet what operator new returned, and call it a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace kernelwire {
namespace {

TEST(AllocationTest, ASteadyStreamOfRequestsAllocatesNothing) {
  const Catalog& catalog = testing::ProbeCatalog();
  inference::ModelInferRequest request = testing::PlainRequest();
  testing::AddInput(&request, "y", "INT8", {300})->mutable_contents();
  for (int i = 0; i < 300; ++i) {
    request.mutable_inputs(1)->mutable_contents()->add_int_contents(i % 100 - 50);
  }
  const grpc::ByteBuffer buffer = testing::OneSlice(request);
  std::vector<std::byte> output(16);
  std::string x(16, '?');
  std::string y(300, '?');
  InferMessage message;
  for (int round = 0; round < 10; ++round) {
    const bool steady = round >= 2;
    std::size_t before = allocations;
    ASSERT_TRUE(message.Parse(buffer).ok());
    ASSERT_TRUE(message.Bind(catalog).ok());
    ASSERT_TRUE(message.CopyInput(0, x.data()).ok());
    ASSERT_TRUE(message.CopyInput(1, y.data()).ok());
    EXPECT_TRUE(!steady || allocations == before) << "round " << round << ": " << allocations - before;

    Completion completion;
    CompletedPart part;
    for (std::size_t i = 0; i < 2; ++i) {
      completion.outputs[i] = message.plan().outputs[i].desc;
      part.data[i] = output.data();
      part.bytes[i] = message.plan().outputs[i].bytes;
    }
    completion.parts = {&part, 1};
    before = allocations;
    const grpc::ByteBuffer reply = EncodeInferReply(message, completion);
    EXPECT_TRUE(!steady || allocations - before <= 1) << "round " << round << ": " << allocations - before;
    EXPECT_EQ(reply.Length(), LargestReplyBytes(message));
    message.Clear();
  }
}

}  // namespace
}  // namespace kernelwire
