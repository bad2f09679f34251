#include "kernels/testing/tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_format.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

constexpr double kNearestShare = 0.95;
constexpr std::size_t kEnoughForAShare = 200;

bool SameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// `value` as the type holds it.
double Rounded(DataType dtype, double value) {
  std::uint64_t storage = 0;
  WriteElement(dtype, &storage, 0, value);
  return ReadElement(dtype, &storage, 0);
}

/// From a finite value of a 16-bit type to its neighbour away from zero: 1 ulp. At the end of the range, the ulp below.
double Ulp16(DataType dtype, double value) {
  std::uint16_t pattern = 0;
  WriteElement(dtype, &pattern, 0, std::abs(value));
  auto neighbour = static_cast<std::uint16_t>(pattern + 1);
  if (std::isinf(ReadElement(dtype, &neighbour, 0))) {
    neighbour = static_cast<std::uint16_t>(pattern - 1);
  }
  return std::abs(ReadElement(dtype, &neighbour, 0) - std::abs(value));
}

/// How far an element may be from `center`, and where that center lies.
struct Bound {
  double center = 0.0;
  double distance = 0.0;
};

Bound BoundOf16(DataType dtype, double expected, double row_largest) {
  const double slack = row_largest * 0x1p-21;
  double nearest = Rounded(dtype, expected);
  if (std::isinf(nearest)) {  // the slack may lead back into the range
    nearest = Rounded(dtype, expected - std::copysign(slack, expected));
  }
  return std::isinf(nearest) ? Bound{expected, slack} : Bound{nearest, Ulp16(dtype, nearest) + slack};
}

Bound BoundOfSum(DataType dtype, double expected, double magnitude) {
  switch (dtype) {
    case DataType::kFp16:
    case DataType::kBf16:
      return BoundOf16(dtype, expected, magnitude);
    case DataType::kFp32:
      return {expected, std::max(1e-6 * magnitude, 0x1p-149)};
    default:
      return {expected, std::max(1e-14 * magnitude, 0x1p-1074)};
  }
}

Bound BoundOf(DataType dtype, double expected, double row_largest) {
  switch (dtype) {
    case DataType::kFp16:
    case DataType::kBf16:
      return BoundOf16(dtype, expected, row_largest);
    case DataType::kFp32:
      return {expected, std::max(4e-6 * (std::abs(expected) + row_largest), 0x1p-149)};
    case DataType::kFp64:
      return {expected, std::max(1e-13 * (std::abs(expected) + row_largest), 0x1p-1074)};
    default:
      return {expected, 0.0};
  }
}

/// Requires: `actual` is no NaN. Beyond the end of a type's range its values are infinite, so an
/// infinity agrees where the far end of the bound rounds to it, and a finite value where the near end is finite again.
bool WithinBound(DataType dtype, const Bound& bound, double actual) {
  if (std::isinf(actual)) {
    return Rounded(dtype, bound.center + std::copysign(bound.distance, actual)) == actual;
  }
  return std::abs(actual - bound.center) <= bound.distance;
}

/// The largest finite |value| of the row that element `index` lies in.
class RowMagnitudes {
 public:
  explicit RowMagnitudes(const ExpectedOutput& expected)
      : width_(static_cast<std::size_t>(std::max<std::int64_t>(expected.row_width, 1))),
        largest_((expected.values.size() + width_ - 1) / width_, 0.0) {
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      const double magnitude = std::abs(expected.values[i]);
      if (std::isfinite(magnitude)) {
        largest_[i / width_] = std::max(largest_[i / width_], magnitude);
      }
    }
  }
  double Of(std::size_t index) const { return largest_[index / width_]; }

 private:
  std::size_t width_;
  std::vector<double> largest_;
};

std::string DescribeElement(const HostTensor& actual, std::size_t index, double expected, double got) {
  return absl::StrFormat("element %d of %s %s: expected %.17g, got %.17g", index, NameOf(actual.desc.dtype),
                         actual.desc.shape.ToString(), expected, got);
}

std::string ExactDisagreement(const ExpectedOutput& expected, const HostTensor& actual) {
  const std::vector<double> values = ToDoubles(actual);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!SameValue(expected.values[i], values[i])) {
      return DescribeElement(actual, i, expected.values[i], values[i]) + ", and they must be equal";
    }
  }
  return "";
}

std::string RoundedDisagreement(const ExpectedOutput& expected, const HostTensor& actual) {
  const DataType dtype = actual.desc.dtype;
  const RowMagnitudes magnitudes(expected);
  const std::vector<double> values = ToDoubles(actual);
  std::size_t nearest_count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = expected.values[i];
    const bool nearest = SameValue(values[i], Rounded(dtype, wanted));
    nearest_count += nearest ? 1 : 0;
    if (nearest) {
      continue;
    }
    if (!std::isfinite(wanted) || std::isnan(values[i])) {
      return DescribeElement(actual, i, wanted, values[i]);
    }
    const bool summed = expected.agreement == Agreement::kSummed;
    const double magnitude = summed ? expected.magnitudes[i] : magnitudes.Of(i);
    const Bound bound = summed ? BoundOfSum(dtype, wanted, magnitude) : BoundOf(dtype, wanted, magnitude);
    if (!WithinBound(dtype, bound, values[i])) {
      return absl::StrFormat("%s, off by %.3g from %.17g where %.3g is allowed (magnitude %.3g)",
                             DescribeElement(actual, i, wanted, values[i]), std::abs(values[i] - bound.center),
                             bound.center, bound.distance, magnitude);
    }
  }
  const bool sixteen_bit = dtype == DataType::kFp16 || dtype == DataType::kBf16;
  const auto enough = static_cast<std::size_t>(std::ceil(kNearestShare * static_cast<double>(values.size())));
  if (sixteen_bit && values.size() >= kEnoughForAShare && nearest_count < enough) {
    return absl::StrFormat("%d of %d elements of %s %s are the nearest value to the expected one; at least %d must be",
                           nearest_count, values.size(), NameOf(dtype), actual.desc.shape.ToString(), enough);
  }
  return "";
}

/// What must be equal before any element is looked at.
std::string FormDisagreement(const ExpectedOutput& expected, const HostTensor& actual) {
  if (expected.wanted != actual.present()) {
    return expected.wanted ? "expected an output, got none" : "expected no output, got one";
  }
  if (!expected.wanted) {
    return "";
  }
  if (expected.desc.dtype != actual.desc.dtype || expected.desc.shape != actual.desc.shape) {
    return absl::StrFormat("expected %s %s, got %s %s", NameOf(expected.desc.dtype), expected.desc.shape.ToString(),
                           NameOf(actual.desc.dtype), actual.desc.shape.ToString());
  }
  if (expected.agreement == Agreement::kSummed && expected.magnitudes.size() != expected.values.size()) {
    return absl::StrFormat("the oracle has %d values and %d magnitudes", expected.values.size(),
                           expected.magnitudes.size());
  }
  const std::size_t bytes = actual.desc.ByteSize().value_or(0);
  if (actual.bytes.size() != bytes || expected.values.size() * SizeOf(actual.desc.dtype) != bytes) {
    return absl::StrFormat("expected %d bytes for shape %s, got %d bytes and an oracle of %d values", bytes,
                           actual.desc.shape.ToString(), actual.bytes.size(), expected.values.size());
  }
  return "";
}

}  // namespace

std::string Disagreement(const ExpectedOutput& expected, const HostTensor& actual) {
  std::string form = FormDisagreement(expected, actual);
  if (!form.empty() || !expected.wanted) {
    return form;
  }
  const bool rounded = expected.agreement != Agreement::kExact && IsFloat(actual.desc.dtype);
  return rounded ? RoundedDisagreement(expected, actual) : ExactDisagreement(expected, actual);
}

}  // namespace kernelwire::testing
