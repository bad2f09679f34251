// What tests of held rows share: rows go from memory to where they are held and back, each from where it begins to
// where it is to lie, and nothing else is written.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PASSING_TEST_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PASSING_TEST_CUH_

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire::testing {

/// The bits of an element.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 2, unsigned short,
                                  std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;

template <int kLanes>
__device__ LaneGroup<kLanes> GroupOf(LaneGroup<kLanes>* /*tag*/) {
  return {};
}
__device__ inline BlockGroup GroupOf(BlockGroup* /*tag*/) { return BlockGroup(1); }

/// Sets *wrong if what this thread holds of a row of `width` elements is not element_at(index), the bits of each, or,
/// beyond, FillMinusInfinity.
template <typename Group, typename Held, typename Bits, typename ElementAt>
__device__ __forceinline__ void Check(const Group& group, const Held& held, int width, Bits* wrong,
                                      const ElementAt& element_at) {
  using T = typename Held::Element;
  const T fill = FillMinusInfinity::Value<T>();
  for (int v = 0; v < Held::kVectors; ++v) {
    const typename Held::Unit vector = held.vectors[v];
    for (int j = 0; j < Held::kLength; ++j) {
      const int index = Held::IndexOf(group, v) + j;
      Bits found = 0;
      memcpy(&found, reinterpret_cast<const char*>(&vector) + j * sizeof(T), sizeof(T));
      Bits expected = 0;
      memcpy(&expected, &fill, sizeof(T));
      if (found != (index < width ? element_at(index) : expected)) {
        *wrong = 1;
      }
    }
  }
}

/// Rows of one tensor, or two, which begin with elements `begin` and `begin_of_b` of what a body reads, and where it
/// writes them.
template <typename T>
struct RowsToCombine {
  using In = BitsOf<T>;
  using Out = In;
  int rows;
  int width;
  int begin;
  int begin_of_b;
  int to;
  int outs;  // behind these, a place that stays zero if what is held is what should be

  __device__ __forceinline__ RowSource<T> RowAt(const In* tensor, int row) const {
    constexpr int kReach = kElementsOfGranule<T> - 1;
    return {reinterpret_cast<const T*>(tensor) + row * width, width, row * width >= kReach,
            (rows - 1 - row) * width >= kReach};
  }
  /// The bits of an element of row `row`, the exclusive or of both rows' if there are kInputs.
  template <int kInputs>
  __device__ __forceinline__ auto BitsAt(const In* in, int row) const {
    return [a = in + begin + row * width, b = in + begin_of_b + row * width](int index) {
      return static_cast<In>(kInputs == 2 ? a[index] ^ b[index] : a[index]);
    };
  }
};

struct ExclusiveOr {
  template <typename Unit>
  __device__ __forceinline__ Unit operator()(const Unit& a, const Unit& b) const {
    Unit both;
    for (std::size_t w = 0; w < sizeof(Unit) / 4; ++w) {
      both.words[w] = a.words[w] ^ b.words[w];
    }
    return both;
  }
};

/// The rows of a tensor that begins with element `begin` of `in` go to where element `to` of `out` is. Behind all of
/// these `out` has a place that stays zero if what is held is what should be. A block has a row, and then one of those
/// that are left.
template <typename T, typename Shape, RowAccess kAccess>
struct PassRows {
  using Group = typename Shape::Group;
  using Held = typename Shape::template Held<T, kAccess, 1>;
  using In = BitsOf<T>;
  using Out = BitsOf<T>;
  int rows;
  int width;
  int begin;
  int to;
  int ins;     // elements of `in`
  int outs;    // of `out`, before that place
  bool other;  // the other way: lanes of other rows do not come along, or a block's results are of long code

  __device__ void operator()(const In* in, Out* out) const {
    Group group = GroupOf(static_cast<Group*>(nullptr));
    const HeldSpace<T, Shape, kAccess, 1> space;
    Held held;
    if constexpr (Shape::kOfBlocks) {
      for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
        Pass(group, space, held, row, in, out);
      }
    } else {
      const int row = static_cast<int>(threadIdx.x) / Group::kLanes;
      constexpr int kRowsOfWarp = 32 / Group::kLanes;
      group.Begin(!other && row / kRowsOfWarp * kRowsOfWarp + kRowsOfWarp <= rows);
      if (row < rows) {
        Pass(group, space, held, row, in, out);
      }
    }
  }

  template <typename Space>
  __device__ void Pass(Group& group, const Space& space, Held& held, int row, const In* in, Out* out) const {
    const int first = begin + row * width;
    const RowSource<T> source{reinterpret_cast<const T*>(in) + first, width, row > 0, first + width < ins};
    held.template Begin<FillMinusInfinity>(group, source, space.In(0));
    held.template Finish<FillMinusInfinity>(group, source, space.In(0));
    Check(group, held, width, out + outs, [&](int index) { return in[first + index]; });
    T* const y = reinterpret_cast<T*>(out) + to + row * width;
    if (Shape::kOfBlocks && other) {  // see RowWords::Store
      Held::Store(group, y, width, space.Out(), [&](int v, int /*index*/, auto...) { return held.vectors[v]; });
    } else {
      Held::Store(group, y, width, space.Out(), [&](int v, int /*index*/) { return held.vectors[v]; });
    }
  }
};

/// Elements that are all unlike.
template <typename Bits>
std::vector<Bits> Numbered(int count) {
  std::vector<Bits> bits(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<Bits>(i * 7919 + 1);
  }
  return bits;
}

/// Rows of a block of `threads` threads, or of a block each, from and to each of `places` neighbouring elements. `run`:
/// DeviceBodyTest::Run.
template <typename T, typename Shape, RowAccess kAccess = RowAccess::kShifted, typename Run>
void ExpectRowsPass(const Run& run, int places, int rows, int width, LaunchShape shape) {
  using Bits = BitsOf<T>;
  shape.shared_bytes = HeldSpace<T, Shape, kAccess, 1>::BytesOfBlock(shape.threads);
  for (int begin = 0; begin < places; ++begin) {
    for (int to = 0; to < places; ++to) {
      for (const bool other : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " rows of " << width << " elements of " << sizeof(T) << " bytes, from " << begin
                     << " to " << to << (other ? ", the other way" : ""));
        const int count = rows * width;
        const int outs = count + to + 1;
        const std::vector<Bits> in = Numbered<Bits>(begin + count);  // nothing follows the last row
        const auto out = run(PassRows<T, Shape, kAccess>{rows, width, begin, to, begin + count, outs, other}, in,
                             static_cast<std::size_t>(outs) + 1, shape);
        EXPECT_EQ(out[static_cast<std::size_t>(outs)], 0) << "what is held";
        for (int i = 0; i < outs; ++i) {
          const bool written = i >= to && i < to + count;
          ASSERT_EQ(out[static_cast<std::size_t>(i)], written ? in[static_cast<std::size_t>(i - to + begin)] : Bits{0})
              << "place " << i;
        }
      }
    }
  }
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_PASSING_TEST_CUH_
