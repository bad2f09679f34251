#include "kernels/core/shape.h"

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace kernelwire {

std::optional<std::int64_t> CheckedMultiply(std::int64_t a, std::int64_t b) {
  if (a != 0 && b > std::numeric_limits<std::int64_t>::max() / a) {
    return std::nullopt;
  }
  return a * b;
}

Shape::Shape(std::initializer_list<std::int64_t> extents) {
  for (const std::int64_t extent : extents) {
    if (!Append(extent)) {
      std::fprintf(stderr, "kernelwire: a Shape literal of more than %d axes\n", kMaxRank);
      std::abort();  // a mistake in the program's own text, not something a client can send
    }
  }
}

bool Shape::Append(std::int64_t extent) {
  if (rank_ == kMaxRank) {
    return false;
  }
  extents_[static_cast<std::size_t>(rank_++)] = extent;
  return true;
}

std::optional<std::int64_t> Shape::ElementCount(int first, int last) const {
  std::int64_t product = 1;  // of the extents that are not 0
  bool empty = false;
  for (int axis = first; axis < last; ++axis) {
    const std::int64_t extent = (*this)[axis];
    if (extent < 0) {
      return std::nullopt;
    }
    if (extent == 0) {
      empty = true;
      continue;
    }
    const std::optional<std::int64_t> next = CheckedMultiply(product, extent);
    if (!next.has_value()) {
      return std::nullopt;
    }
    product = *next;
  }
  return empty ? 0 : product;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    text += axis == 0 ? "" : ",";
    text += std::to_string((*this)[axis]);
  }
  return text + "]";
}

bool operator==(const Shape& a, const Shape& b) {
  if (a.rank_ != b.rank_) {
    return false;
  }
  for (int axis = 0; axis < a.rank_; ++axis) {
    if (a[axis] != b[axis]) {
      return false;
    }
  }
  return true;
}

}  // namespace kernelwire
