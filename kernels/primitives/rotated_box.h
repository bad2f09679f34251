// Rotated boxes and their IoU, for host code and device code alike: f32, each operation rounded by itself
// (box_geometry.h), sine and cosine included, so both decide every pair alike.
//
// What two boxes share is measured in the frame of one of them. There it is a window, and the other a quadrangle; the
// area of the quadrangle inside the window is the integral of its upper less its lower boundary, both cut to the
// window's height, over the window's width. Each edge adds its part: no list of corners, no cases.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROTATED_BOX_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROTATED_BOX_H_

#include <cmath>

#include "kernels/primitives/box_geometry.h"

namespace kernelwire::box {

/// Centre, half sizes, direction of the first side, area, and the radius of the circle around it. Area 0 marks a box
/// that neither suppresses nor is suppressed.
struct alignas(16) RotatedBox {
  float x, y, half_width, half_height, cosine, sine, area, radius;
};

KERNELWIRE_HOST_DEVICE inline float Area(const RotatedBox& box) { return box.area; }
KERNELWIRE_HOST_DEVICE inline bool IsActive(const RotatedBox& box) { return box.area > 0.0f; }
KERNELWIRE_HOST_DEVICE inline void MakeNowhere(RotatedBox* box) { *box = RotatedBox{}; }

/// Sine and cosine of `x`, |x| <= pi / 4 or a little more, by their series; within 2 ulp.
KERNELWIRE_HOST_DEVICE inline void SmallSineCosine(float x, float* sine, float* cosine) {
  const float square = Mul(x, x);
  float sum = -1.0f / 5040.0f;
  sum = Add(Mul(sum, square), 1.0f / 120.0f);
  sum = Add(Mul(sum, square), -1.0f / 6.0f);
  *sine = Add(x, Mul(Mul(x, square), sum));
  sum = 1.0f / 40320.0f;
  sum = Add(Mul(sum, square), -1.0f / 720.0f);
  sum = Add(Mul(sum, square), 1.0f / 24.0f);
  sum = Add(Mul(sum, square), -0.5f);
  *cosine = Add(1.0f, Mul(square, sum));
}

/// Angles of more radians are taken modulo 2 pi in f64 first.
inline constexpr float kFarRadians = 1e4f;

/// Of an angle in degrees or radians. Whole quarter turns in degrees are exact.
KERNELWIRE_HOST_DEVICE inline void SineCosine(float angle, bool degrees, float* sine, float* cosine) {
  float quarters = 0.0f;
  float rest = 0.0f;
  if (degrees) {
    const float turned = fmodf(angle, 360.0f);  // exact, like the difference below
    quarters = nearbyintf(Div(turned, 90.0f));
    rest = Mul(Sub(turned, Mul(quarters, 90.0f)), 0.01745329252f);
  } else {  // pi / 2 in three parts, the first two of few enough bits that multiples of them are exact
    const bool is_near = fabsf(angle) <= kFarRadians;  // the parts have no more digits than that
    const float near = is_near ? angle : static_cast<float>(fmod(static_cast<double>(angle), 6.283185307179586));
    quarters = nearbyintf(Mul(near, 0.63661977237f));
    rest = Sub(Sub(Sub(near, Mul(quarters, 1.5703125f)), Mul(quarters, 4.837512969970703125e-4f)),
               Mul(quarters, 7.54978995489188216e-8f));
  }
  float small_sine = 0.0f;
  float small_cosine = 0.0f;
  SmallSineCosine(rest, &small_sine, &small_cosine);
  const float of_four = Sub(quarters, Mul(4.0f, floorf(Mul(quarters, 0.25f))));
  const bool swapped = of_four == 1.0f || of_four == 3.0f;
  *sine = swapped ? small_cosine : small_sine;
  *cosine = swapped ? small_sine : small_cosine;
  *sine = of_four >= 2.0f ? -*sine : *sine;
  *cosine = of_four == 1.0f || of_four == 2.0f ? -*cosine : *cosine;
}

/// From centre, size and angle, counter-clockwise in x, y. A box with a NaN, a negative size, no area or an infinite
/// one neither suppresses nor is suppressed.
KERNELWIRE_HOST_DEVICE inline RotatedBox MakeRotatedBox(float x, float y, float width, float height, float angle,
                                                        bool degrees) {
  RotatedBox box{};
  box.x = x;
  box.y = y;
  box.half_width = Mul(0.5f, width);
  box.half_height = Mul(0.5f, height);
  SineCosine(angle, degrees, &box.sine, &box.cosine);
  box.radius = SquareRoot(Add(Mul(box.half_width, box.half_width), Mul(box.half_height, box.half_height)));
  const float area = Mul(width, height);
  const float any = Add(Add(x, y), Add(box.sine, box.cosine));  // infinite or NaN if one of them is
  const bool active = width > 0.0f && height > 0.0f && area > 0.0f && area < Infinity() && Sub(any, any) == 0.0f;
  box.area = active ? area : 0.0f;
  return box;
}

/// The integral over one edge, from (x1, y1) to (x2, y2), of its height cut to [-half_height, half_height], over the
/// part of
/// [-half_width, half_width] that it spans. Negative for an edge that runs to the left.
KERNELWIRE_HOST_DEVICE inline float UnderEdge(float x1, float y1, float x2, float y2, float half_width,
                                              float half_height) {
  const float left = Greatest(Least(x1, x2), -half_width);
  const float right = Least(Greatest(x1, x2), half_width);
  if (!(left < right)) {
    return 0.0f;
  }
  const float slope = Div(Sub(y2, y1), Sub(x2, x1));
  // From whichever end is nearer, so that a steep edge does not magnify a rounding.
  const float at_left = x1 < x2 ? Add(y1, Mul(Sub(left, x1), slope)) : Add(y2, Mul(Sub(left, x2), slope));
  const float at_right = x1 < x2 ? Sub(y2, Mul(Sub(x2, right), slope)) : Sub(y1, Mul(Sub(x1, right), slope));
  const float low = Least(at_left, at_right);
  const float high = Greatest(at_left, at_right);
  const float cut_low = Least(Greatest(low, -half_height), half_height);
  const float cut_high = Least(Greatest(high, -half_height), half_height);
  float mean = Mul(0.5f, Add(cut_low, cut_high));
  const float rise = Sub(high, low);
  if (rise > 0.0f && (cut_low > low || cut_high < high)) {  // parts of the edge lie below and above the window
    const float below = Least(Div(Greatest(Sub(-half_height, low), 0.0f), rise), 1.0f);
    const float above = Least(Div(Greatest(Sub(high, half_height), 0.0f), rise), 1.0f);
    const float inside = Greatest(Sub(Sub(1.0f, below), above), 0.0f);
    mean = Add(Mul(half_height, Sub(above, below)), Mul(mean, inside));
  }
  const float part = Mul(mean, Sub(right, left));
  return x1 < x2 ? part : -part;
}

/// What `b` shares with the window that `a` is in its own frame.
KERNELWIRE_HOST_DEVICE inline float SharedArea(const RotatedBox& a, const RotatedBox& b) {
  const float dx = Sub(b.x, a.x);
  const float dy = Sub(b.y, a.y);
  const float u = Add(Mul(a.cosine, dx), Mul(a.sine, dy));
  const float v = Sub(Mul(a.cosine, dy), Mul(a.sine, dx));
  const float cosine = Add(Mul(a.cosine, b.cosine), Mul(a.sine, b.sine));
  const float sine = Sub(Mul(a.cosine, b.sine), Mul(a.sine, b.cosine));
  const float wx = Mul(b.half_width, cosine);
  const float wy = Mul(b.half_width, sine);
  const float hx = -Mul(b.half_height, sine);
  const float hy = Mul(b.half_height, cosine);
  // Counter-clockwise: the lower boundary runs to the right, the upper one to the left.
  const float x[4] = {Sub(Sub(u, wx), hx), Sub(Add(u, wx), hx), Add(Add(u, wx), hx), Add(Sub(u, wx), hx)};
  const float y[4] = {Sub(Sub(v, wy), hy), Sub(Add(v, wy), hy), Add(Add(v, wy), hy), Add(Sub(v, wy), hy)};
  const float lower = Add(UnderEdge(x[0], y[0], x[1], y[1], a.half_width, a.half_height),
                          UnderEdge(x[1], y[1], x[2], y[2], a.half_width, a.half_height));
  const float upper = Add(UnderEdge(x[2], y[2], x[3], y[3], a.half_width, a.half_height),
                          UnderEdge(x[3], y[3], x[0], y[0], a.half_width, a.half_height));
  return Sub(0.0f, Add(lower, upper));
}

/// Whether `a` comes first where the order must not matter: the greater one by area, then by place and shape.
KERNELWIRE_HOST_DEVICE inline bool ComesFirst(const RotatedBox& a, const RotatedBox& b) {
  const float first[7] = {a.area, a.x, a.y, a.half_width, a.half_height, a.cosine, a.sine};
  const float second[7] = {b.area, b.x, b.y, b.half_width, b.half_height, b.cosine, b.sine};
  for (int i = 0; i < 7; ++i) {
    if (first[i] != second[i]) {
      return first[i] > second[i];
    }
  }
  return true;
}

KERNELWIRE_HOST_DEVICE inline bool CirclesMeet(const RotatedBox& a, const RotatedBox& b) {
  const float dx = Sub(b.x, a.x);
  const float dy = Sub(b.y, a.y);
  const float reach = Add(a.radius, b.radius);
  return Add(Mul(dx, dx), Mul(dy, dy)) < Mul(reach, reach);
}

/// The IoU, within [0, 1], the same for (a, b) and (b, a), and 1 for boxes of the same numbers. Boxes whose circles do
/// not meet share nothing. Requires: areas as given with the boxes.
KERNELWIRE_HOST_DEVICE inline float Iou(const RotatedBox& a, float /*a_area*/, const RotatedBox& b, float /*b_area*/) {
  if (!CirclesMeet(a, b) || !IsActive(a) || !IsActive(b)) {
    return 0.0f;
  }
  const bool same = a.x == b.x && a.y == b.y && a.half_width == b.half_width && a.half_height == b.half_height &&
                    a.cosine == b.cosine && a.sine == b.sine;
  const float least = Least(a.area, b.area);
  const float found = ComesFirst(a, b) ? SharedArea(a, b) : SharedArea(b, a);
  const float shared = same ? a.area : Least(Greatest(found, 0.0f), least);
  return Least(Div(shared, Sub(Add(a.area, b.area), shared)), 1.0f);
}

/// IoU(a, b) > threshold, strictly.
KERNELWIRE_HOST_DEVICE inline bool Overlap(const RotatedBox& a, float a_area, const RotatedBox& b, float b_area,
                                           float threshold) {
  return Iou(a, a_area, b, b_area) > threshold;
}

/// As for upright boxes: false where the circles around the boxes do not meet.
KERNELWIRE_HOST_DEVICE inline bool MayOverlap(const RotatedBox& a, float /*a_area*/, const RotatedBox& b,
                                              float /*b_area*/, float /*threshold*/, float /*bar*/) {
  return CirclesMeet(a, b);
}

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROTATED_BOX_H_
