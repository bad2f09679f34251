// Reads a fuzzer's bytes as choices. At the end of the bytes every choice is the first one.
#ifndef KERNELWIRE_TESTS_FUZZ_BYTE_SOURCE_H_
#define KERNELWIRE_TESTS_FUZZ_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace kernelwire::fuzz {

class ByteSource {
 public:
  ByteSource(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  std::uint8_t Byte() { return at_ == end_ ? std::uint8_t{0} : *at_++; }

  /// Below `limit`, which is at least 1 and at most 256.
  std::size_t Below(std::size_t limit) { return Byte() % limit; }

  /// Mostly small, sometimes at an edge, sometimes anything.
  std::int64_t Integer() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kEdges[] = {-1,
                                       -2,
                                       std::numeric_limits<std::int64_t>::min(),
                                       kMax,
                                       kMax - 1,
                                       kMax / 2,
                                       kMax / 8,
                                       kMax / 8 + 1,
                                       std::int64_t{1} << 31,
                                       (std::int64_t{1} << 31) - 1,
                                       std::int64_t{1} << 32,
                                       std::int64_t{1} << 53,
                                       std::int64_t{1} << 60,
                                       3037000500};  // the last: its square passes int64
    const std::uint8_t kind = Byte();
    if (kind < 200) {
      return kind;
    }
    const std::size_t edge = kind - 200u;
    return edge < std::size(kEdges) ? kEdges[edge] : Raw<std::int64_t>();
  }

  double Number() { return Raw<double>(); }

  std::string Text() {
    std::string text(Below(32), '\0');
    for (char& c : text) {
      c = static_cast<char>(Byte());
    }
    return text;
  }

 private:
  template <typename T>
  T Raw() {
    std::uint8_t bytes[sizeof(T)];
    for (std::uint8_t& byte : bytes) {
      byte = Byte();
    }
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }

  const std::uint8_t* at_;
  const std::uint8_t* const end_;
};

}  // namespace kernelwire::fuzz

#endif  // KERNELWIRE_TESTS_FUZZ_BYTE_SOURCE_H_
