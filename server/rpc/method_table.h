// Which methods there are, and what answers each.
#ifndef KERNELWIRE_SERVER_RPC_METHOD_TABLE_H_
#define KERNELWIRE_SERVER_RPC_METHOD_TABLE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/byte_buffer.h"

namespace kernelwire {

struct CallEnvironment;

enum class MethodKind : std::uint8_t {
  kUnary,        // answered at once by `Method::answer`
  kInfer,        // ModelInfer
  kStreamInfer,  // ModelStreamInfer
  kHealthWatch,
  kReflection,
  kNotServed,  // of the protocol, but not here
};

/// From the bytes of a request to those of its reply, on a queue's thread: it must be quick.
using UnaryAnswer = absl::StatusOr<grpc::ByteBuffer> (*)(const CallEnvironment& environment,
                                                         const grpc::ByteBuffer& request);

struct Method {
  MethodKind kind = MethodKind::kNotServed;
  UnaryAnswer answer = nullptr;  // of kUnary
  const char* missing = "";      // of kNotServed: what the server lacks, for the error's text
  bool probe = false;            // asks for health: answered while draining, and beyond the limit of calls

  /// Its message is read in a probe's place. A Watch has one message, and should not wait behind requests either.
  bool read_as_probe() const { return probe || kind == MethodKind::kHealthWatch; }
  bool streaming() const {
    return kind == MethodKind::kStreamInfer || kind == MethodKind::kHealthWatch || kind == MethodKind::kReflection;
  }
};

/// Constant after construction; thread-safe.
class MethodTable {
 public:
  explicit MethodTable(bool reflection);

  /// `path` is "/package.Service/Method". Null for an unknown method.
  const Method* Find(absl::string_view path) const;

 private:
  void AddInference();
  void AddUnserved();

  absl::flat_hash_map<std::string, Method> methods_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_METHOD_TABLE_H_
