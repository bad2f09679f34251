// Rows as they lie, by themselves: every element has a place and the fill is beyond, wherever rows begin and are to
// lie; they are written there, and nothing else is; and lanes' sums have the same bits wherever that is.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/primitives/parameter_window.cuh"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_granules.cuh"
#include "kernels/primitives/row_group.cuh"

namespace kernelwire {
namespace {

class RowGranulesTest : public testing::DeviceBodyTest {};

/// Blocks of three warps, which have a row each.
constexpr unsigned kBlockThreads = 96;

/// Rows from element `begin` of `in` on, as they will lie in `out` from element `to` on.
template <typename T, int kVectors>
struct HeldRows {
  using Held = RowGranules<T, kVectors, false>;
  int width;
  int begin;
  int to;
  int ins;  // elements of `in`

  template <typename F>
  __device__ void Hold(const T* in, T* out, const F& f) const {
    const BlockGroup group(1);
    const int row = static_cast<int>(blockIdx.x);
    const int first = row * width;
    const bool has_before = begin + first >= Held::kLength - 1;
    const bool has_after = ins - begin - first - width >= Held::kLength - 1;
    const RowSource<T> source{in + begin + first, width, has_before, has_after};
    T* const y = out + to + first;
    Held held;
    held.Place(y);
    held.template Begin<FillMinusInfinity>(group, source, nullptr);
    held.template Finish<FillMinusInfinity>(group, source, nullptr);
    f(group, held, source, y, row);
  }
};

/// Writes the rows, and behind `outs` elements a place that stays zero if registers hold what they should.
template <typename T, int kVectors>
struct PassRows : HeldRows<T, kVectors> {
  using In = T;
  using Out = T;
  int outs;

  __device__ void operator()(const T* in, T* out) const {
    this->Hold(in, out, [&](const auto& group, const auto& held, const RowSource<T>& source, T* y, int /*row*/) {
      using Held = std::decay_t<decltype(held)>;
      for (int v = 0; v < Held::kVectors; ++v) {
        T slots[Held::kLength];
        memcpy(slots, &held.vectors[v], sizeof(slots));
        for (int j = 0; j < Held::kLength; ++j) {
          const int index = Held::IndexOf(group, v) - held.Offset() + j + (j < held.Offset() ? held.Wrapped(group) : 0);
          const bool is_one = index >= 0 && index < source.count;
          const T expected = is_one ? source.data[index] : FillMinusInfinity::Value<T>();
          if (!(slots[j] == expected)) {
            out[outs] = Narrow<T>(1.0F);
          }
        }
      }
      held.Store(group, y, source.count, nullptr, [&](int v, int /*index*/) { return held.vectors[v]; });
    });
  }
};

/// Writes what each lane has summed of each stretch.
template <typename T, int kVectors>
struct SumRows : HeldRows<T, kVectors> {
  using In = T;
  using Out = float;

  __device__ void operator()(const T* in, float* out) const {
    // Nothing is written where the rows would lie.
    this->Hold(in, reinterpret_cast<T*>(out), [&](const auto& group, const auto& held, const auto&, const T*, int row) {
      using Held = std::decay_t<decltype(held)>;
      for (int s = 0; s < Held::kStretches; ++s) {
        float sums[Held::kLength] = {};
        ForEachElement<float>(held, s, [&](int i, float value) {
          sums[i % Held::kLength] += value == kMinusInfinity<float> ? 0.0F : value;
        });
        const float sum = held.Join(group, sums, [](float a, float b) { return a + b; });
        out[(row * static_cast<int>(kBlockThreads) + group.rank()) * Held::kStretches + s] = sum;
      }
    });
  }
};

/// Writes what a lane has of a parameter, at the places of its elements; `in` is the parameter.
template <typename T, int kVectors>
struct PassParameter {
  using In = T;
  using Out = T;
  using Held = RowGranules<T, kVectors, false>;
  int width;
  int offset;

  __device__ void operator()(const T* in, T* out) const {
    BlockGroup group(1);
    Held held;
    held.Place(out + offset);
    for (int v = 0; v < kVectors; ++v) {
      ParameterWindow<Held, 1> window;
      window.template Fetch<1>(group, in, offset, width, v);
      const Granule granule = window.At(0);
      T slots[Held::kLength];
      memcpy(slots, &granule, sizeof(slots));
      for (int j = 0; j < Held::kLength; ++j) {
        const int index = Held::IndexOf(group, v) - offset + j + (j < offset ? held.Wrapped(group) : 0);
        if (index >= 0 && index < width) {
          out[index] = slots[j];
        }
      }
    }
  }
};

/// Elements of which neighbours are unlike, and sums of many round.
template <typename T>
std::vector<T> Numbered(int count) {
  std::vector<T> elements(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = T(static_cast<float>(i * 7919 % 251 + 1) / 3.0F);
  }
  return elements;
}

constexpr int kRows = 3;  // a block each

/// Widths of rows that fill their last warp wholly, hardly, and all but, and of one that leaves warps without anything.
template <typename T, int kVectors>
std::vector<int> Widths() {
  constexpr int kOfWarp = 32 * kVectors * kElementsOfGranule<T>;
  constexpr int kOfStretch = 32 * 4 * kElementsOfGranule<T>;
  return {2 * kOfWarp + 1,
          2 * kOfWarp + 3,
          2 * kOfWarp + kOfStretch - 1,
          2 * kOfWarp + kElementsOfGranule<T> * 31 + 1,
          3 * kOfWarp - 1,
          3 * kOfWarp,
          kOfWarp / 2 + 5};
}

template <typename T, int kVectors, typename Run>
void ExpectRowsPass(const Run& run, int width) {
  constexpr int kLength = kElementsOfGranule<T>;
  for (int begin = 0; begin < kLength; ++begin) {
    for (const int to : {begin, (begin + 3) % kLength, kLength - 1 - begin}) {
      SCOPED_TRACE(::testing::Message() << width << " elements, from " << begin << " to " << to);
      const int count = kRows * width;
      const int places = count + to + 1;
      const std::vector<T> in = Numbered<T>(begin + count);  // nothing follows the last row
      const PassRows<T, kVectors> pass{{width, begin, to, begin + count}, places};
      const auto out = run(pass, in, static_cast<std::size_t>(places) + 1);
      EXPECT_EQ(static_cast<float>(out[static_cast<std::size_t>(places)]), 0.0F) << "what registers hold";
      for (int i = 0; i < places; ++i) {
        const bool written = i >= to && i < to + count;
        ASSERT_EQ(static_cast<float>(out[static_cast<std::size_t>(i)]),
                  written ? static_cast<float>(in[static_cast<std::size_t>(i - to + begin)]) : 0.0F)
            << "place " << i;
      }
    }
  }
}

/// Of rows that are alike, wherever they begin.
template <typename T, int kVectors, typename Run>
void ExpectSumsStay(const Run& run, int width) {
  constexpr int kLength = kElementsOfGranule<T>;
  constexpr std::size_t kSumsOfRow = std::size_t{kBlockThreads} * HeldRows<T, kVectors>::Held::kStretches;
  const std::vector<T> row = Numbered<T>(width);
  std::vector<float> first;
  for (int begin = 0; begin < kLength; ++begin) {
    for (const int to : {begin, 3 % kLength}) {
      SCOPED_TRACE(::testing::Message() << width << " elements, from " << begin << " to " << to);
      std::vector<T> in(static_cast<std::size_t>(begin) + kRows * row.size());
      for (std::size_t i = static_cast<std::size_t>(begin); i < in.size(); ++i) {
        in[i] = row[(i - static_cast<std::size_t>(begin)) % row.size()];
      }
      const SumRows<T, kVectors> sum{{width, begin, to, static_cast<int>(in.size())}};
      const auto sums = run(sum, in, kRows * kSumsOfRow);
      first = first.empty() ? sums : first;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], first[i % kSumsOfRow]) << "sum " << i;
      }
    }
  }
}

template <typename T, int kVectors, typename Run>
void ExpectRowsHeld(const Run& run) {
  for (const int width : Widths<T, kVectors>()) {
    ExpectRowsPass<T, kVectors>(run, width);
    ExpectSumsStay<T, kVectors>(run, width);
  }
}

template <typename T, int kVectors, typename Run>
void ExpectParameterPasses(const Run& run) {
  for (const int width : Widths<T, kVectors>()) {
    const std::vector<T> in = Numbered<T>(width);  // and nothing behind it
    for (int offset = 0; offset < kElementsOfGranule<T>; ++offset) {
      SCOPED_TRACE(::testing::Message() << width << " elements, offset " << offset);
      const auto out = run(PassParameter<T, kVectors>{width, offset}, in, in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(static_cast<float>(out[i]), static_cast<float>(in[i])) << "element " << i;
      }
    }
  }
}

TEST_F(RowGranulesTest, RowsHaveTheirPlacesAndSumsAndAreWritten) {
  LaunchShape shape;
  shape.blocks = kRows;
  shape.threads = kBlockThreads;
  const auto run = [&](const auto& body, const auto& in, std::size_t outs) { return Run(body, in, outs, shape); };
  ExpectRowsHeld<__nv_bfloat16, 4>(run);
  ExpectRowsHeld<__nv_bfloat16, 8>(run);
  ExpectRowsHeld<float, 4>(run);
  ExpectRowsHeld<float, 8>(run);
}

TEST_F(RowGranulesTest, ParametersLieInTheRowsPlaces) {
  const auto run = [this](const auto& body, const auto& in, std::size_t outs) {
    return Run(body, in, outs, kBlockThreads);
  };
  ExpectParameterPasses<__nv_bfloat16, 4>(run);
  ExpectParameterPasses<__nv_bfloat16, 8>(run);
  ExpectParameterPasses<float, 4>(run);
  ExpectParameterPasses<float, 8>(run);
}

}  // namespace
}  // namespace kernelwire
