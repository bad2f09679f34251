// Makes the handler that a method's kind asks for.
#ifndef KERNELWIRE_SERVER_RPC_HANDLER_FACTORY_H_
#define KERNELWIRE_SERVER_RPC_HANDLER_FACTORY_H_

#include <memory>
#include <vector>

#include "server/rpc/call_handler.h"
#include "server/rpc/method_table.h"

namespace kernelwire {

class Call;
class CallQueue;
class UnaryInfer;

/// One for each queue, used on its thread only. Handlers of ModelInfer are kept for reuse, the last used first: their
/// memory is warm, and a call allocates nothing of ours. The others are made anew.
class HandlerFactory {
 public:
  explicit HandlerFactory(CallQueue* queue);
  ~HandlerFactory();
  HandlerFactory(const HandlerFactory&) = delete;
  HandlerFactory& operator=(const HandlerFactory&) = delete;

  HandlerPointer Make(Call* call, const Method& method);
  /// A handler whose call is over.
  void Keep(std::unique_ptr<UnaryInfer> handler);

 private:
  HandlerPointer MakeInfer(Call* call);

  CallQueue* const queue_;
  std::vector<std::unique_ptr<UnaryInfer>> spare_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_HANDLER_FACTORY_H_
