// Seeded tensors for tests and benchmarks, and exact conversion between f64 and every element type.
#ifndef KERNELWIRE_KERNELS_TESTING_GENERATORS_H_
#define KERNELWIRE_KERNELS_TESTING_GENERATORS_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

/// One element, as f64, and back. `index` counts elements. Rounded once, to nearest even; NaN is kept; what is too
/// large becomes infinity (in FP8 E4M3, which has none, NaN), and integers saturate (NaN gives 0). INT64 beyond 2^53 is
/// read rounded.
double ReadElement(DataType dtype, const void* data, std::int64_t index);
void WriteElement(DataType dtype, void* data, std::int64_t index, double value);

/// All elements as f64.
std::vector<double> ToDoubles(const HostTensor& tensor);
/// A tensor of `values`, each rounded once. Requires: as many values as the shape has elements.
HostTensor FromDoubles(DataType dtype, const Shape& shape, const std::vector<double>& values);

/// What the values look like.
enum class Values : std::uint8_t {
  kNormal,     // mean 0, deviation 1
  kUniform,    // [0, 1)
  kOutliers,   // normal, one in a hundred times 100
  kLargeMean,  // mean 1e4, deviation 1e-2 (rounded to the type)
  kTiny,       // around the smallest normal number: subnormals among them
  kConstant,   // 3 everywhere
  kZero,
};

/// Those that wear down what was only tried on normal ones, and how they are called in the names of cases.
inline constexpr std::pair<const char*, Values> kHardValues[] = {{"outliers", Values::kOutliers},
                                                                 {"large_mean", Values::kLargeMean},
                                                                 {"tiny", Values::kTiny},
                                                                 {"constant", Values::kConstant},
                                                                 {"zero", Values::kZero}};

/// Deterministic in (dtype, shape, values, seed) on every machine. FP8 E4M3 gets its largest value for what is larger.
/// Requires: a shape with a countable size.
HostTensor MakeTensor(DataType dtype, const Shape& shape, Values values, std::uint64_t seed);

/// Uniform in [0, 1), the same on every machine (the standard's distributions are not).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  double Roll() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_GENERATORS_H_
