#include "server/rpc/handler_factory.h"

#include <utility>

#include "server/rpc/call_queue.h"
#include "server/rpc/health_watch.h"
#include "server/rpc/reflection_stream.h"
#include "server/rpc/stream_infer.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/unary_infer.h"

namespace kernelwire {
namespace {

constexpr std::size_t kMaxSpare = 256;

}  // namespace

HandlerFactory::HandlerFactory(CallQueue* queue) : queue_(queue) {}
HandlerFactory::~HandlerFactory() = default;

HandlerPointer HandlerFactory::Make(Call* call, const Method& method) {
  switch (method.kind) {
    case MethodKind::kInfer:
      return MakeInfer(call);
    case MethodKind::kStreamInfer:
      return HandlerPointer(new StreamInfer(call));
    case MethodKind::kHealthWatch:
      return HandlerPointer(new HealthWatch(call));
    case MethodKind::kReflection:
      return HandlerPointer(new ReflectionStream(call));
    case MethodKind::kUnary:
    case MethodKind::kNotServed:  // refused before
      break;
  }
  return HandlerPointer(new UnaryCall(call, method.answer));
}

HandlerPointer HandlerFactory::MakeInfer(Call* call) {
  if (spare_.empty()) {
    spare_.push_back(std::make_unique<UnaryInfer>(queue_, this));
  }
  UnaryInfer* const handler = spare_.back().release();
  spare_.pop_back();
  handler->Serve(call);
  return HandlerPointer(handler);
}

void HandlerFactory::Keep(std::unique_ptr<UnaryInfer> handler) {
  if (spare_.size() < kMaxSpare) {
    spare_.push_back(std::move(handler));
  }
}

}  // namespace kernelwire
