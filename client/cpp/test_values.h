// What the client's tests share.
#ifndef KERNELWIRE_CLIENT_TEST_VALUES_H_
#define KERNELWIRE_CLIENT_TEST_VALUES_H_

#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

#include "kernelwire/client.h"

namespace kernelwire::client {

/// A deadline that a test that works never waits for.
inline constexpr Timeout kLong = std::chrono::seconds(60);

/// 0, 1, 2 and so on.
inline std::vector<float> Counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_TEST_VALUES_H_
