#include "kernels/core/plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace kernelwire {
namespace {

/// A word too many would make unequal requests share a launch, so it ends the process rather than be dropped.
void RequireRoom(std::size_t size) {
  if (size >= BatchKey::kWords) {
    std::fprintf(stderr, "kernelwire: a batch key of more than %zu words\n", BatchKey::kWords);
    std::abort();
  }
}

}  // namespace

void BatchKey::Append(std::uint64_t word) {
  RequireRoom(size_);
  words_[size_++] = word;
}

void BatchKey::AppendDouble(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  Append(bits);
}

void BatchKey::Prepend(std::uint64_t word) {
  RequireRoom(size_);
  std::copy_backward(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(size_),
                     words_.begin() + static_cast<std::ptrdiff_t>(size_) + 1);
  words_[0] = word;
  ++size_;
}

std::size_t BatchKey::Hash() const {
  // Each word is stirred so that every bit of it reaches every bit of the result: keys differ in few low bits. The two
  // multipliers are odd numbers without structure.
  std::uint64_t hash = size_;
  for (std::size_t i = 0; i < size_; ++i) {
    hash = (hash ^ words_[i]) * 0x9fb21c651e98df25u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace kernelwire
