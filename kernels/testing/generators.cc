#include "kernels/testing/generators.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/core/float16.h"

namespace kernelwire::testing {
namespace {

template <typename T>
T Load(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

/// FP8 E4M3: bias 7, no infinities, all exponent bits set is an ordinary exponent but for S.1111.111, which is NaN.
double Fp8E4m3ToDouble(std::uint8_t pattern) {
  const int exponent = (pattern >> 3) & 0xf;
  const int fraction = pattern & 0x7;
  if (exponent == 0xf && fraction == 0x7) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double magnitude = std::ldexp(fraction + (exponent == 0 ? 0 : 8), std::max(exponent, 1) - 10);
  return (pattern & 0x80) != 0 ? -magnitude : magnitude;
}

/// Beyond 448 there is only NaN, as in PyTorch.
std::uint8_t DoubleToFp8E4m3(double value) {
  constexpr int kSmallestExponent = -6;
  const unsigned sign = std::signbit(value) ? 0x80u : 0u;
  const double magnitude = std::abs(value);
  if (!(magnitude < 512.0)) {
    return static_cast<std::uint8_t>(sign | 0x7fu);
  }
  int exponent = kSmallestExponent;
  if (magnitude >= 0x1p-6) {
    exponent = std::ilogb(magnitude);
  }
  const auto steps = static_cast<unsigned>(exponent - kSmallestExponent);
  const auto kept = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
  return static_cast<std::uint8_t>(sign | std::min((steps << 3) + kept, 0x7fu));
}

std::uint8_t DoubleToFp8E5m2(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint8_t>(NarrowDoubleBits<5, 2>(bits));
}

/// Nearest even; beyond the range its end, NaN 0.
template <typename Integer>
Integer Saturate(double value) {
  using Limits = std::numeric_limits<Integer>;
  const double rounded = std::nearbyint(value);
  if (std::isnan(rounded)) {
    return 0;
  }
  if (rounded >= std::ldexp(1.0, Limits::digits)) {  // one more than the largest, which f64 may not hold
    return Limits::max();
  }
  return rounded <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<Integer>(rounded);
}

/// The rounding of the hardware, without the conversion that C++ leaves undefined where f32 overflows.
float NarrowToFloat(double value) {
  constexpr double kRoundsToInfinity = 0x1.ffffffp127;
  if (std::abs(value) >= kRoundsToInfinity) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(std::copysign(1.0, value)));
  }
  return static_cast<float>(value);
}

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit word a step, whatever the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  /// The sum of twelve uniforms has deviation 1 and needs no function whose last bit depends on the C library.
  double Normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) {
      sum += Uniform();
    }
    return sum;
  }

 private:
  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
  }

  std::uint64_t state_;
};

double SmallestNormal(DataType dtype) {
  switch (dtype) {
    case DataType::kFp16:
    case DataType::kFp8E5m2:
      return 0x1p-14;
    case DataType::kFp8E4m3:
      return 0x1p-6;
    case DataType::kFp64:
      return 0x1p-1022;
    default:
      return 0x1p-126;
  }
}

double Draw(Random& random, DataType dtype, Values values) {
  switch (values) {
    case Values::kNormal:
      return random.Normal();
    case Values::kUniform:
      return random.Uniform();
    case Values::kOutliers: {
      const bool outlier = random.Uniform() < 0.01;
      return random.Normal() * (outlier ? 100.0 : 1.0);
    }
    case Values::kLargeMean:
      return 1e4 + 1e-2 * random.Normal();
    case Values::kTiny:
      return SmallestNormal(dtype) * random.Normal();
    case Values::kConstant:
      return 3.0;
    case Values::kZero:
      return 0.0;
  }
  return 0.0;
}

HostTensor Allocate(DataType dtype, const Shape& shape) {
  HostTensor tensor{TensorDesc{dtype, shape}, {}};
  tensor.bytes.resize(tensor.desc.ByteSize().value());
  return tensor;
}

}  // namespace

double ReadElement(DataType dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case DataType::kBool:
    case DataType::kUint8:
      return Load<std::uint8_t>(data, index);
    case DataType::kInt8:
      return Load<std::int8_t>(data, index);
    case DataType::kInt32:
      return Load<std::int32_t>(data, index);
    case DataType::kInt64:
      return static_cast<double>(Load<std::int64_t>(data, index));
    case DataType::kFp16:
      return static_cast<double>(Fp16ToFloat(Load<std::uint16_t>(data, index)));
    case DataType::kBf16:
      return static_cast<double>(Bf16ToFloat(Load<std::uint16_t>(data, index)));
    case DataType::kFp32:
      return static_cast<double>(Load<float>(data, index));
    case DataType::kFp64:
      return Load<double>(data, index);
    case DataType::kFp8E4m3:
      return Fp8E4m3ToDouble(Load<std::uint8_t>(data, index));
    case DataType::kFp8E5m2:  // the upper half of an FP16
      return static_cast<double>(Fp16ToFloat(static_cast<std::uint16_t>(Load<std::uint8_t>(data, index) << 8)));
    case DataType::kInvalid:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void WriteElement(DataType dtype, void* data, std::int64_t index, double value) {
  switch (dtype) {
    case DataType::kBool:
      return Store<std::uint8_t>(data, index, value != 0.0 ? 1 : 0);
    case DataType::kUint8:
      return Store(data, index, Saturate<std::uint8_t>(value));
    case DataType::kInt8:
      return Store(data, index, Saturate<std::int8_t>(value));
    case DataType::kInt32:
      return Store(data, index, Saturate<std::int32_t>(value));
    case DataType::kInt64:
      return Store(data, index, Saturate<std::int64_t>(value));
    case DataType::kFp16:
      return Store(data, index, DoubleToFp16(value));
    case DataType::kBf16:
      return Store(data, index, DoubleToBf16(value));
    case DataType::kFp32:
      return Store(data, index, NarrowToFloat(value));
    case DataType::kFp64:
      return Store(data, index, value);
    case DataType::kFp8E4m3:
      return Store(data, index, DoubleToFp8E4m3(value));
    case DataType::kFp8E5m2:
      return Store(data, index, DoubleToFp8E5m2(value));
    case DataType::kInvalid:
      break;
  }
}

std::vector<double> ToDoubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.desc.shape.ElementCount().value()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = ReadElement(tensor.desc.dtype, tensor.bytes.data(), static_cast<std::int64_t>(i));
  }
  return values;
}

HostTensor FromDoubles(DataType dtype, const Shape& shape, const std::vector<double>& values) {
  HostTensor tensor = Allocate(dtype, shape);
  if (values.size() * SizeOf(dtype) != tensor.bytes.size()) {
    std::fprintf(stderr, "FromDoubles: %zu values for shape %s\n", values.size(), shape.ToString().c_str());
    std::abort();
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    WriteElement(dtype, tensor.bytes.data(), static_cast<std::int64_t>(i), values[i]);
  }
  return tensor;
}

HostTensor MakeTensor(DataType dtype, const Shape& shape, Values values, std::uint64_t seed) {
  HostTensor tensor = Allocate(dtype, shape);
  Random random(seed);
  const double largest = dtype == DataType::kFp8E4m3 ? 448.0 : std::numeric_limits<double>::infinity();
  const std::int64_t count = shape.ElementCount().value();
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = Draw(random, dtype, values);
    WriteElement(dtype, tensor.bytes.data(), i, std::clamp(value, -largest, largest));
  }
  return tensor;
}

}  // namespace kernelwire::testing
