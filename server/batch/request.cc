#include "server/batch/request.h"

namespace kernelwire {

std::vector<std::byte> CopyOfOutput(const Completion& completion, std::size_t output) {
  std::vector<std::byte> bytes;
  for (const CompletedPart& part : completion.parts) {
    const std::byte* const data = part.data[output];
    bytes.insert(bytes.end(), data, data + part.bytes[output]);  // no bytes where there is no data
  }
  return bytes;
}

}  // namespace kernelwire
