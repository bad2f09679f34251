// What an EncodedRequest holds.
#ifndef KERNELWIRE_CLIENT_ENCODED_REQUEST_H_
#define KERNELWIRE_CLIENT_ENCODED_REQUEST_H_

#include "grpcpp/support/byte_buffer.h"
#include "kernelwire/infer.h"

namespace kernelwire::client {

struct EncodedRequest::Bytes {
  grpc::ByteBuffer message;  // slices with reference counts: sending it again copies nothing
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_ENCODED_REQUEST_H_
