// Reads a protobuf message that lies in several slices, as gRPC hands it over: a number or a name may begin in one
// slice and end in the next.
#ifndef KERNELWIRE_SERVER_CODEC_SLICE_READER_H_
#define KERNELWIRE_SERVER_CODEC_SLICE_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grpcpp/support/slice.h"

namespace kernelwire {

/// The number in a protobuf tag's low three bits that says how the value is written.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };

/// A run of bytes of a message, by where it begins; it may go on into the slices after that one.
struct ByteRange {
  std::size_t slice = 0;
  std::size_t offset = 0;  // in that slice
  std::size_t bytes = 0;
};

/// A position that moves forward through a range. Every Read and Skip returns false, and leaves the position anywhere
/// in the range, when the range does not hold what was asked for: after that the reader is of no more use. Not
/// thread-safe. The slices outlive the reader and do not change.
class SliceReader {
 public:
  /// The whole message.
  explicit SliceReader(const std::vector<grpc::Slice>& slices);
  /// A part of it. Requires: `range` came from a reader of the same slices.
  SliceReader(const std::vector<grpc::Slice>& slices, const ByteRange& range);

  std::size_t remaining() const { return static_cast<std::size_t>(chunk_end_ - at_) + beyond_; }

  /// A number of up to ten bytes; bits beyond the 64th are dropped, as protobuf does.
  bool ReadVarint(std::uint64_t* value) {
    if (at_ != chunk_end_ && *at_ < 0x80u) {
      *value = *at_++;
      return true;
    }
    return ReadVarintOfAtMost(10, value);
  }
  /// Skips the next byte if it is this one; false, too, where a slice ends, although the byte may come in the next.
  bool SkipByte(std::uint8_t expected) {
    const bool here = at_ != chunk_end_ && *at_ == expected;
    at_ += here ? 1 : 0;
    return here;
  }
  /// A field's number, 1 or more, and how its value is written.
  bool ReadTag(std::uint32_t* field, WireType* type);
  /// The length that stands in front of bytes: these many bytes must remain.
  bool ReadLength(std::size_t* bytes);
  bool ReadBytes(void* destination, std::size_t bytes);
  bool Skip(std::size_t bytes);
  /// The value of a field that nobody wants. False, too, for groups, which proto3 does not have.
  bool SkipValue(WireType type);
  /// The next `bytes` bytes, which are skipped.
  bool TakeRange(std::size_t bytes, ByteRange* range);

 private:
  bool ReadVarintOfAtMost(int most_bytes, std::uint64_t* value);
  bool NextChunk();

  const std::vector<grpc::Slice>& slices_;
  std::size_t slice_ = 0;
  // [at_, chunk_end_) is what is left of the current slice, cut at the end of the range.
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* chunk_end_ = nullptr;
  std::size_t beyond_ = 0;  // bytes of the range in later slices
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_SLICE_READER_H_
