// What decoding and encoding one request costs, by the bytes of its tensor.
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "server/codec/infer_message.h"
#include "server/codec/infer_reply.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"
#include "server/codec/typed_contents.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {
namespace {

inference::ModelInferRequest RequestOf(std::int64_t bytes) {
  inference::ModelInferRequest request;
  request.set_model_name("probe");
  request.set_id("12345");
  testing::AddInput(&request, "x", "FP32", {bytes / 256, 64});
  request.add_outputs()->set_name("copy");
  request.add_raw_input_contents(std::string(static_cast<std::size_t>(bytes), 'x'));
  return request;
}

/// gRPC hands over slices of about 8 KiB.
grpc::ByteBuffer BufferOf(std::int64_t bytes) { return testing::SlicesOf(RequestOf(bytes).SerializeAsString(), 8192); }

void BM_ParseAndBind(benchmark::State& state) {
  const Catalog& catalog = testing::ProbeCatalog();
  const grpc::ByteBuffer buffer = BufferOf(state.range(0));
  InferMessage message;
  for (auto _ : state) {
    if (!message.Parse(buffer).ok() || !message.Bind(catalog).ok()) {
      state.SkipWithError("refused");
      break;
    }
    benchmark::DoNotOptimize(message.plan());
  }
}
BENCHMARK(BM_ParseAndBind)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

void BM_CopyInput(benchmark::State& state) {
  const Catalog& catalog = testing::ProbeCatalog();
  InferMessage message;
  if (!message.Parse(BufferOf(state.range(0))).ok() || !message.Bind(catalog).ok()) {
    state.SkipWithError("refused");
  }
  std::string copy(static_cast<std::size_t>(state.range(0)), '?');
  for (auto _ : state) {
    benchmark::DoNotOptimize(message.CopyInput(0, copy.data()));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CopyInput)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

/// Numbers as a packed list, or each in a field by itself.
std::string Int32Contents(std::int64_t count, bool packed) {
  inference::InferTensorContents packed_contents;
  std::string unpacked;
  for (std::int64_t i = 0; i < count; ++i) {
    inference::InferTensorContents one;
    one.add_int_contents(static_cast<std::int32_t>(i * 977 % 100000));
    packed_contents.add_int_contents(one.int_contents(0));
    unpacked += '\x10' + one.SerializeAsString().substr(2);
  }
  return packed ? packed_contents.SerializeAsString() : unpacked;
}

void BM_CheckAndCopyTyped(benchmark::State& state) {
  const std::string bytes = Int32Contents(state.range(0), state.range(1) != 0);
  std::vector<grpc::Slice> slices;
  if (!testing::SlicesOf(bytes, 8192).Dump(&slices).ok()) {
    state.SkipWithError("no slices");
  }
  const std::string name = "x";
  const TypedContents typed(slices, ByteRange{0, 0, bytes.size()}, name, DataType::kInt32);
  std::string copy(static_cast<std::size_t>(state.range(0)) * 4, '?');
  for (auto _ : state) {
    if (!typed.Check(state.range(0)).ok() || !typed.CopyTo(copy.data()).ok()) {
      state.SkipWithError("refused");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CheckAndCopyTyped)->ArgNames({"values", "packed"})->Args({1 << 16, 1})->Args({1 << 16, 0});

void BM_EncodeReply(benchmark::State& state) {
  const Catalog& catalog = testing::ProbeCatalog();
  SlabPool pool(MakeHostRegion(std::size_t{1} << 21), 4096);
  InferMessage message;
  if (!message.Parse(BufferOf(state.range(0))).ok() || !message.Bind(catalog).ok()) {
    state.SkipWithError("refused");
  }
  Completion completion;
  CompletedPart part;
  part.slab = pool.Take(static_cast<std::size_t>(state.range(0)));
  part.data[0] = part.slab->host();
  part.bytes[0] = message.plan().outputs[0].bytes;
  completion.outputs[0] = message.plan().outputs[0].desc;
  completion.parts = {&part, 1};
  for (auto _ : state) {
    benchmark::DoNotOptimize(EncodeInferReply(message, completion));
  }
  part.slab->Release();
}
BENCHMARK(BM_EncodeReply)->Arg(1 << 10)->Arg(1 << 13)->Arg(1 << 14)->Arg(1 << 20);

}  // namespace
}  // namespace kernelwire
