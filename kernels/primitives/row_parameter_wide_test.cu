// Parameters of f32 beside other rows, one element for all, and none, by themselves: each thread has those of the
// elements that it holds, and only what is such a parameter is taken for one.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_parameter_wide.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {
namespace {

class WideParameterTest : public testing::DeviceBodyTest {};

constexpr float kAbsent = -3.0F;

/// The parameter that `word` says lies at the beginning of `in`, for each element of a row.
template <typename HeldRow, int kAtOnce>
struct ReadParameter {
  using In = float;
  using Out = float;
  std::int64_t word;
  int width;

  __device__ void operator()(const In* in, Out* out) const {
    const LaneGroup<32> group;
    WideParameter<HeldRow, float, kAtOnce> parameter(word, in, kAbsent);
    for (int v = 0; v < HeldRow::kVectors; ++v) {
      if (v % kAtOnce == 0) {
        parameter.Fetch(group, v, width);
      }
      float values[HeldRow::kLength];
      parameter.FetchedValues(v, values);
      for (int j = 0; j < HeldRow::kLength; ++j) {
        const int index = HeldRow::IndexOf(group, v) + j;
        if (index < width) {
          out[index] = values[j];
        }
      }
    }
  }
};

/// Which parameters, `from` bytes behind a 16-byte boundary, are taken for such.
template <typename HeldRow>
struct AskWhether {
  using In = float;
  using Out = int;
  int from;

  __device__ void operator()(const In* in, Out* out) const {
    using Parameter = WideParameter<HeldRow, float, 1>;
    const char* const data = reinterpret_cast<const char*>(in) + from;
    int place = 0;
    for (const auto kind : {RowParameterKind::kNone, RowParameterKind::kOne, RowParameterKind::kRow}) {
      for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
        out[place++] = Parameter::Suits(PackRowParameter({kind, dtype}), data) ? 1 : 0;
      }
    }
  }
};

using Words = RowWords<__nv_bfloat16, 6, 0>;
using Vectors = RowVectors<__nv_bfloat16, 4, true>;

template <typename HeldRow, int kAtOnce, typename Run>
void ExpectElements(const Run& run, std::mt19937* random, const std::vector<int>& widths) {
  for (const int width : widths) {
    SCOPED_TRACE(::testing::Message() << "width " << width);
    const std::vector<float> weights = testing::Awkward(random, width);  // nothing follows the last
    const std::int64_t word = PackRowParameter({RowParameterKind::kRow, DataType::kFp32});
    EXPECT_EQ(run(ReadParameter<HeldRow, kAtOnce>{word, width}, weights, weights.size(), 32U), weights);
  }
}

TEST_F(WideParameterTest, ARowHasItsElements) {
  const auto run = [&](const auto&... arguments) { return Run(arguments...); };
  ExpectElements<Words, 2>(run, &random_, {1, 2, 63, 64, 65, 127, 129, 255, 383, 384});
  ExpectElements<Words, 4>(run, &random_, {1, 191, 384});  // the last step asks for less
  ExpectElements<Vectors, 1>(run, &random_, {8, 256, 264, 1016, 1024});
  ExpectElements<Vectors, 2>(run, &random_, {8, 256, 264, 1016, 1024});
}

TEST_F(WideParameterTest, OneElementStandsForAll) {
  const std::int64_t word = PackRowParameter({RowParameterKind::kOne, DataType::kFp32});
  EXPECT_EQ(Run(ReadParameter<Words, 2>{word, 7}, std::vector<float>{2.5F}, 7, 32U), std::vector<float>(7, 2.5F));
  const __nv_bfloat16 narrow = __float2bfloat16(1.5F);
  std::vector<float> in(1);
  std::memcpy(in.data(), &narrow, sizeof(narrow));
  const std::int64_t of_rows_type = PackRowParameter({RowParameterKind::kOne, DataType::kBf16});
  EXPECT_EQ(Run(ReadParameter<Vectors, 1>{of_rows_type, 16}, in, 16, 32U), std::vector<float>(16, 1.5F));
}

TEST_F(WideParameterTest, NoneIsWhatItCountsAs) {
  EXPECT_EQ(Run(ReadParameter<Words, 2>{0, 9}, std::vector<float>(1), 9, 32U), std::vector<float>(9, kAbsent));
}

TEST_F(WideParameterTest, OthersAreNotTakenForSuch) {
  const std::vector<float> in(8);
  // None, one element, a row; of BF16 and of FP32 each.
  EXPECT_EQ(Run(AskWhether<Words>{0}, in, 6, 1U), (std::vector<int>{1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(Run(AskWhether<Words>{4}, in, 6, 1U), (std::vector<int>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(Run(AskWhether<RowWords<float, 4, 0>>{0}, in, 6, 1U), (std::vector<int>{1, 1, 1, 1, 0, 0}))
      << "rows of f32 beside rows of f32 are no wider";
}

}  // namespace
}  // namespace kernelwire
