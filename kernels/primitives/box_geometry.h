// Boxes and their IoU, defined operation by operation, for host code and device code alike. A greedy result hangs on
// every single comparison, so the arithmetic itself is the definition: f32, each operation rounded by itself. On the
// device the _rn intrinsics see to that; host sources that include this are compiled with -ffp-contract=off
// (kernels/CMakeLists.txt). The exponential is made of such operations too, so both give the same bits.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_GEOMETRY_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_GEOMETRY_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/primitives/segment_lookup.h"

namespace kernelwire::box {

/// How the four numbers of a box are read. Whatever the coding, a box becomes two corners in f32 first.
enum class Coding : std::uint8_t {
  kXyxy,    // near corner, far corner
  kYxyx,    // any two opposite corners, y first
  kXywh,    // near corner, size
  kCxcywh,  // centre, size
};

/// Two corners, and the area between them.
struct alignas(16) Corners {
  float x1, y1, x2, y2;
};

// Each of these is one rounding.
#ifdef __CUDA_ARCH__
__device__ inline float Add(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float Sub(float a, float b) { return __fsub_rn(a, b); }
__device__ inline float Mul(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float Div(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float SquareRoot(float a) { return __fsqrt_rn(a); }
#else
KERNELWIRE_HOST_DEVICE inline float Add(float a, float b) { return a + b; }
KERNELWIRE_HOST_DEVICE inline float Sub(float a, float b) { return a - b; }
KERNELWIRE_HOST_DEVICE inline float Mul(float a, float b) { return a * b; }
KERNELWIRE_HOST_DEVICE inline float Div(float a, float b) { return a / b; }
KERNELWIRE_HOST_DEVICE inline float SquareRoot(float a) { return sqrtf(a); }
#endif

// Comparisons and no fmin or fmax, whose answers to NaN and to signed zeros differ from machine to machine.
KERNELWIRE_HOST_DEVICE inline float Least(float a, float b) { return b < a ? b : a; }
KERNELWIRE_HOST_DEVICE inline float Greatest(float a, float b) { return a < b ? b : a; }

KERNELWIRE_HOST_DEVICE inline float Infinity() { return HUGE_VALF; }

KERNELWIRE_HOST_DEVICE inline Corners ToCorners(Coding coding, float a, float b, float c, float d) {
  switch (coding) {
    case Coding::kYxyx: {  // both corners have a NaN that either has: comparisons keep that of their first operand
      const float x = d != d ? d : b;
      const float y = c != c ? c : a;
      return {Least(x, d), Least(y, c), Greatest(x, d), Greatest(y, c)};
    }
    case Coding::kXywh:
      return {a, b, Add(a, c), Add(b, d)};
    case Coding::kCxcywh: {
      const float half_width = Mul(0.5f, c);
      const float half_height = Mul(0.5f, d);
      return {Sub(a, half_width), Sub(b, half_height), Add(a, half_width), Add(b, half_height)};
    }
    default:
      return {a, b, c, d};
  }
}

KERNELWIRE_HOST_DEVICE inline float Area(const Corners& box) { return Mul(Sub(box.x2, box.x1), Sub(box.y2, box.y1)); }

/// A box that shares nothing with any other: min(x2) - max(x1) is never positive.
KERNELWIRE_HOST_DEVICE inline Corners Nowhere() { return {Infinity(), Infinity(), -Infinity(), -Infinity()}; }
KERNELWIRE_HOST_DEVICE inline void MakeNowhere(Corners* box) { *box = Nowhere(); }

/// Whether a box is not Nowhere(), for boxes as ForSuppression gives them.
KERNELWIRE_HOST_DEVICE inline bool IsActive(const Corners& box) { return box.x2 > box.x1; }

/// The box as suppression sees it: a box that neither suppresses nor is suppressed becomes Nowhere(). That is one with
/// a NaN among its numbers, one whose far corner does not lie behind its near one, and one whose area is 0 or infinite
/// in f32: then what it shares with others is 0, or every IoU 0 or NaN, neither of which exceeds a threshold.
KERNELWIRE_HOST_DEVICE inline Corners ForSuppression(const Corners& box, bool has_nan) {
  const float area = Area(box);
  const bool active = !has_nan && box.x2 > box.x1 && box.y2 > box.y1 && area > 0.0f && area < Infinity();
  return active ? box : Nowhere();
}

/// Whether RN(shared / united) > threshold, without the division where the answer is plain: with d = shared - threshold
/// * united (rounded once), |d / united| > 2^-20 leaves no doubt for a threshold within [0, 1]. Infinite and NaN
/// operands, and unions so small that the margin would lose bits, end in the division.
KERNELWIRE_HOST_DEVICE inline bool RatioExceeds(float shared, float united, float threshold) {
#ifdef __CUDA_ARCH__
  const float difference = __fmaf_rn(-threshold, united, shared);
  const float margin = fmaxf(__fmul_rn(united, 0x1p-20f), 0x1p-100f);
  if (fabsf(difference) > margin) {
    return difference > 0.0f;
  }
#endif
  return Div(shared, united) > threshold;
}

/// IoU(a, b) > threshold, strictly. Symmetric. Requires: boxes as ForSuppression gives them, with their areas.
KERNELWIRE_HOST_DEVICE inline bool Overlap(const Corners& a, float a_area, const Corners& b, float b_area,
                                           float threshold) {
#ifdef __CUDA_ARCH__
  const float width = __fsub_rn(fminf(a.x2, b.x2), fmaxf(a.x1, b.x1));
  const float height = __fsub_rn(fminf(a.y2, b.y2), fmaxf(a.y1, b.y1));
#else
  const float width = Sub(Least(a.x2, b.x2), Greatest(a.x1, b.x1));
  const float height = Sub(Least(a.y2, b.y2), Greatest(a.y1, b.y1));
#endif
  if (!(width > 0.0f && height > 0.0f)) {
    return false;
  }
  const float shared = Mul(width, height);
  return RatioExceeds(shared, Sub(Add(a_area, b_area), shared), threshold);
}

/// Overlap without a branch, for long lists of boxes that mostly do not: false where they surely do not overlap. With d
/// = shared - threshold * united, rounded once, d <= 0 says that the exact ratio does not exceed the threshold, and
/// then its rounding does not either. Only where both areas are near the least numbers could d vanish by underflow;
/// MayOverlapBar is for those. A NaN, from operands that are infinite, ends in false, as the division does.
KERNELWIRE_HOST_DEVICE inline bool MayOverlap(const Corners& a, float a_area, const Corners& b, float b_area,
                                              float threshold, float bar) {
#ifdef __CUDA_ARCH__
  const float width = fmaxf(__fsub_rn(fminf(a.x2, b.x2), fmaxf(a.x1, b.x1)), 0.0f);
  const float shared = __fmul_rn(width, __fsub_rn(fminf(a.y2, b.y2), fmaxf(a.y1, b.y1)));
  return __fmaf_rn(-threshold, __fsub_rn(__fadd_rn(a_area, b_area), shared), shared) > bar;
#else
  static_cast<void>(bar);
  return Overlap(a, a_area, b, b_area, threshold);
#endif
}

/// What d has to exceed for MayOverlap, of either box's area: less than any where d could underflow.
KERNELWIRE_HOST_DEVICE inline float MayOverlapBar(float area, float threshold) {
  return area < 0x1p-90f || (threshold > 0.0f && threshold < 0x1p-30f) ? -Infinity() : 0.0f;
}

/// The IoU itself, within [0, 1]; 0 where the boxes share nothing. Requires: as for Overlap.
KERNELWIRE_HOST_DEVICE inline float Iou(const Corners& a, float a_area, const Corners& b, float b_area) {
  const float width = Sub(Least(a.x2, b.x2), Greatest(a.x1, b.x1));
  const float height = Sub(Least(a.y2, b.y2), Greatest(a.y1, b.y1));
  if (!(width > 0.0f && height > 0.0f)) {
    return 0.0f;
  }
  const float shared = Mul(width, height);
  return Div(shared, Sub(Add(a_area, b_area), shared));
}

KERNELWIRE_HOST_DEVICE inline float FloatOfBits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

/// 2^exponent, for exponents of normal numbers.
KERNELWIRE_HOST_DEVICE inline float PowerOfTwo(int exponent) {
  return FloatOfBits(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// exp(x) within 2 ulp: the same bits on every machine. x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) by its series to
/// the seventh power, whose rest is below 2^-27; the scaling by 2^n in two steps, since n reaches beyond the normal
/// numbers. NaN for NaN.
KERNELWIRE_HOST_DEVICE inline float Exponential(float x) {
  if (!(x < 88.73f)) {  // NaN too; exp overflows from 88.7228... on
    return x != x ? x : Infinity();
  }
  if (x < -104.0f) {
    return 0.0f;
  }
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;    // nine bits: n times it is exact
  constexpr float kLn2Low = -2.12194442e-4f;  // the rest of ln 2
  const float n = nearbyintf(Mul(x, kLog2E));
  const float r = Sub(Sub(x, Mul(n, kLn2High)), Mul(n, kLn2Low));
  float sum = 1.0f / 5040.0f;
  sum = Add(Mul(sum, r), 1.0f / 720.0f);
  sum = Add(Mul(sum, r), 1.0f / 120.0f);
  sum = Add(Mul(sum, r), 1.0f / 24.0f);
  sum = Add(Mul(sum, r), 1.0f / 6.0f);
  sum = Add(Mul(sum, r), 0.5f);
  sum = Add(Mul(sum, Mul(r, r)), r);
  sum = Add(sum, 1.0f);
  const int exponent = static_cast<int>(n);
  const int half = exponent / 2;
  return Mul(Mul(sum, PowerOfTwo(half)), PowerOfTwo(exponent - half));
}

/// 1 / (1 + exp(-x)); exp(x) where exp(-x) nears its limit, which is the same there.
KERNELWIRE_HOST_DEVICE inline float Sigmoid(float x) {
  const bool is_tiny = x < -87.0f;
  const float power = Exponential(is_tiny ? x : Sub(0.0f, x));
  return is_tiny ? power : Div(1.0f, Add(1.0f, power));
}

/// A key that orders scores downwards when keys go up; -0 and 0 are equal. Never the key of NaN bits all set, so a word
/// of ones in its place sorts behind all. Requires: not NaN.
KERNELWIRE_HOST_DEVICE inline std::uint32_t DescendingKey(float score) {
  const float canonical = score == 0.0f ? 0.0f : score;
#ifdef __CUDA_ARCH__
  const std::uint32_t bits = __float_as_uint(canonical);
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &canonical, sizeof(bits));
#endif
  return (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
}

/// The score of a key; -0 has become 0.
KERNELWIRE_HOST_DEVICE inline float ScoreOfKey(std::uint32_t key) {
  return FloatOfBits((key & 0x80000000u) != 0 ? key : ~key & 0x7fffffffu);
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_GEOMETRY_H_
