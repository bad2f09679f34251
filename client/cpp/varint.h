// The variable-length integers of the protobuf wire format.
#ifndef KERNELWIRE_CLIENT_VARINT_H_
#define KERNELWIRE_CLIENT_VARINT_H_

#include <cstdint>
#include <string>

namespace kernelwire::client {

/// Seven bits a byte, lowest first; the top bit says that another byte follows.
inline void AppendVarint(std::uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) {
    bytes->push_back(static_cast<char>(value | 0x80));
  }
  bytes->push_back(static_cast<char>(value));
}

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_VARINT_H_
