// What two rotated boxes share, in f64: the corners of one clipped by the sides of the other (Sutherland and Hodgman,
// 1974). The oracle of nms for rotated boxes, sharing no code and no formula with the implementation.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_ROTATED_ORACLE_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_ROTATED_ORACLE_H_

#include <cmath>
#include <cstddef>
#include <vector>

namespace kernelwire::testing::nms {

struct Point {
  double x, y;
};

/// Counter-clockwise corners; none for a box that takes no part.
struct Quad {
  std::vector<Point> corners;
  double area = 0;
};

/// From centre, size and angle.
inline Quad QuadOf(const double* numbers, bool radians) {
  const double pi = std::acos(-1.0);
  Quad quad;
  const double angle = radians ? numbers[4] : numbers[4] * pi / 180;
  quad.area = numbers[2] * numbers[3];
  if (!(numbers[2] > 0 && numbers[3] > 0) || !std::isfinite(numbers[0] + numbers[1] + angle) ||
      !(static_cast<float>(quad.area) > 0.0f) || !std::isfinite(static_cast<float>(quad.area))) {
    return quad;
  }
  const double side_x[] = {-0.5, 0.5, 0.5, -0.5};
  const double side_y[] = {-0.5, -0.5, 0.5, 0.5};
  for (int i = 0; i < 4; ++i) {
    const double x = side_x[i] * numbers[2], y = side_y[i] * numbers[3];
    quad.corners.push_back({numbers[0] + std::cos(angle) * x - std::sin(angle) * y,
                            numbers[1] + std::sin(angle) * x + std::cos(angle) * y});
  }
  return quad;
}

/// The part of `polygon` to the left of the line from `a` to `b`.
inline std::vector<Point> ClippedBy(const std::vector<Point>& polygon, const Point& a, const Point& b) {
  const auto left_of = [&](const Point& p) { return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x); };
  std::vector<Point> part;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point& here = polygon[i];
    const Point& next = polygon[(i + 1) % polygon.size()];
    const double at_here = left_of(here), at_next = left_of(next);
    if (at_here >= 0) {
      part.push_back(here);
    }
    if ((at_here >= 0) != (at_next >= 0)) {
      const double way = at_here / (at_here - at_next);
      part.push_back({here.x + way * (next.x - here.x), here.y + way * (next.y - here.y)});
    }
  }
  return part;
}

inline double RotatedIou(const Quad& a, const Quad& b) {
  if (a.corners.empty() || b.corners.empty()) {
    return 0;
  }
  std::vector<Point> shared = a.corners;
  for (std::size_t i = 0; i < 4; ++i) {
    shared = ClippedBy(shared, b.corners[i], b.corners[(i + 1) % 4]);
  }
  double twice = 0;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const Point& here = shared[i];
    const Point& next = shared[(i + 1) % shared.size()];
    twice +=
        (here.x - a.corners[0].x) * (next.y - a.corners[0].y) - (next.x - a.corners[0].x) * (here.y - a.corners[0].y);
  }
  return twice / 2 / (a.area + b.area - twice / 2);
}

}  // namespace kernelwire::testing::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_ROTATED_ORACLE_H_
