// Answers questions about the server's own protocol files, for grpcurl and the like.
#ifndef KERNELWIRE_SERVER_RPC_REFLECTION_H_
#define KERNELWIRE_SERVER_RPC_REFLECTION_H_

#include "reflection.pb.h"

namespace kernelwire {

/// The answer to one question, out of the descriptors that are compiled into the program. Errors are answers too
/// (error_response). The messages of v1alpha have the same bytes, so that this serves both.
grpc::reflection::v1::ServerReflectionResponse AnswerReflection(
    const grpc::reflection::v1::ServerReflectionRequest& request);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_REFLECTION_H_
