#include "server/codec/slice_reader.h"

#include <algorithm>
#include <cstring>

namespace kernelwire {
namespace {

std::size_t TotalBytes(const std::vector<grpc::Slice>& slices) {
  std::size_t bytes = 0;
  for (const grpc::Slice& slice : slices) {
    bytes += slice.size();
  }
  return bytes;
}

}  // namespace

SliceReader::SliceReader(const std::vector<grpc::Slice>& slices)
    : SliceReader(slices, ByteRange{0, 0, TotalBytes(slices)}) {}

SliceReader::SliceReader(const std::vector<grpc::Slice>& slices, const ByteRange& range)
    : slices_(slices), slice_(range.slice), beyond_(range.bytes) {
  if (range.bytes > 0) {
    const grpc::Slice& first = slices_[slice_];
    at_ = first.begin() + range.offset;
    chunk_end_ = at_ + std::min(first.size() - range.offset, beyond_);
    beyond_ -= static_cast<std::size_t>(chunk_end_ - at_);
  }
}

/// To the next slice that is not empty; false at the end of the range.
bool SliceReader::NextChunk() {
  while (at_ == chunk_end_) {
    if (beyond_ == 0) {
      return false;
    }
    const grpc::Slice& next = slices_[++slice_];
    at_ = next.begin();
    chunk_end_ = at_ + std::min(next.size(), beyond_);
    beyond_ -= static_cast<std::size_t>(chunk_end_ - at_);
  }
  return true;
}

bool SliceReader::ReadVarintOfAtMost(int most_bytes, std::uint64_t* value) {
  std::uint64_t result = 0;
  for (int i = 0; i < most_bytes; ++i) {
    if (at_ == chunk_end_ && !NextChunk()) {
      return false;
    }
    const std::uint64_t byte = *at_++;
    result |= (byte & 0x7fu) << (7 * i);
    if (byte < 0x80u) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool SliceReader::ReadTag(std::uint32_t* field, WireType* type) {
  std::uint64_t tag = 0;
  if (!ReadVarintOfAtMost(5, &tag) || tag > 0xffffffffu) {
    return false;
  }
  *field = static_cast<std::uint32_t>(tag >> 3);
  *type = static_cast<WireType>(tag & 7u);
  return *field != 0;
}

bool SliceReader::ReadLength(std::size_t* bytes) {
  std::uint64_t length = 0;
  if (!ReadVarintOfAtMost(5, &length) || length > remaining()) {
    return false;
  }
  *bytes = static_cast<std::size_t>(length);
  return true;
}

bool SliceReader::ReadBytes(void* destination, std::size_t bytes) {
  if (bytes > remaining()) {
    return false;
  }
  auto* to = static_cast<std::uint8_t*>(destination);
  while (bytes > 0) {
    NextChunk();
    const std::size_t here = std::min(bytes, static_cast<std::size_t>(chunk_end_ - at_));
    std::memcpy(to, at_, here);
    to += here;
    at_ += here;
    bytes -= here;
  }
  return true;
}

bool SliceReader::Skip(std::size_t bytes) {
  if (bytes > remaining()) {
    return false;
  }
  while (bytes > 0) {
    NextChunk();
    const std::size_t here = std::min(bytes, static_cast<std::size_t>(chunk_end_ - at_));
    at_ += here;
    bytes -= here;
  }
  return true;
}

bool SliceReader::SkipValue(WireType type) {
  std::uint64_t ignored = 0;
  std::size_t length = 0;
  switch (type) {
    case WireType::kVarint:
      return ReadVarint(&ignored);
    case WireType::kFixed64:
      return Skip(8);
    case WireType::kLength:
      return ReadLength(&length) && Skip(length);
    case WireType::kFixed32:
      return Skip(4);
    case WireType::kGroup:
    case WireType::kGroupEnd:
      break;
  }
  return false;  // groups, and the two numbers that mean nothing
}

bool SliceReader::TakeRange(std::size_t bytes, ByteRange* range) {
  if (bytes > remaining()) {
    return false;
  }
  *range = ByteRange{};
  if (bytes > 0) {
    NextChunk();  // so that the range begins in the slice that holds its first byte
    *range = ByteRange{slice_, static_cast<std::size_t>(at_ - slices_[slice_].begin()), bytes};
  }
  return Skip(bytes);
}

}  // namespace kernelwire
