// The extents of a tensor, and products of them that cannot overflow unnoticed.
#ifndef KERNELWIRE_KERNELS_CORE_SHAPE_H_
#define KERNELWIRE_KERNELS_CORE_SHAPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace kernelwire {

/// a * b for non-negative values; nullopt when the product exceeds int64.
std::optional<std::int64_t> CheckedMultiply(std::int64_t a, std::int64_t b);

/// A list of extents without a heap allocation. Rank 0 is one element. Extents are whatever the client sent until
/// `ElementCount` has been asked: it is nullopt for a negative extent and for a product beyond int64. An extent of 0
/// makes the count 0 but does not excuse the others: where a whole shape can be counted, so can every range of its
/// axes.
class Shape {
 public:
  static constexpr int kMaxRank = 16;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return extents_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }

  /// Appends an extent. Returns false, and changes nothing, at kMaxRank.
  bool Append(std::int64_t extent);

  /// The number of elements of the whole tensor, or of axes [first, last).
  std::optional<std::int64_t> ElementCount() const { return ElementCount(0, rank_); }
  std::optional<std::int64_t> ElementCount(int first, int last) const;

  /// "[2,3,4]"; "[]" for rank 0.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b);
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_SHAPE_H_
