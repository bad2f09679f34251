// Mean and variance on the device, by themselves: of rows that lanes or a block hold, and merged from those of parts.
// Compared with two passes in f64 on the host.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {
namespace {

/// What two passes give, and how far elements lie from the mean at most.
struct Expected {
  double mean;
  double variance;
  double most;

  explicit Expected(const std::vector<float>& row)
      : mean(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size())), variance(0.0), most(0.0) {
    for (const float x : row) {
      const double off = static_cast<double>(x) - mean;
      variance += off * off / static_cast<double>(row.size());
      most = std::max(most, std::abs(off));
    }
  }
};

class RowMomentsTest : public testing::DeviceBodyTest {
 protected:
  std::vector<float> Row(std::size_t width, float mean, float deviation) {
    std::normal_distribution<float> normal;
    std::vector<float> row(width);
    std::generate(row.begin(), row.end(), [&] { return mean + deviation * normal(random_); });
    return row;
  }
};

/// Every thread says what it has found: mean, variance.
template <typename Group, typename T = float>
struct HeldMoments {
  using In = T;
  using Out = double;
  using Held = RowVectors<T, 4, true>;
  int width;

  __device__ void operator()(const T* in, double* out) const {
    Group group = Begin(static_cast<Group*>(nullptr));
    const RowSource<T> row{in, width, false, false};
    Held held;
    held.template Begin<FillZero>(group, row, nullptr);
    RowBeginning<T, true> beginning;
    beginning.Load(in, width);
    const auto of = static_cast<float>(width);
    const auto moments = MomentsOf<float>(group, held, beginning, width, [of](float sum) { return sum / of; });
    const MeanAndVariance found = MeanAndVariance::Of(moments);
    out[2 * threadIdx.x] = found.mean;
    out[2 * threadIdx.x + 1] = found.variance;
  }

 private:
  static __device__ BlockGroup Begin(BlockGroup* /*tag*/) { return BlockGroup(1); }
  template <int kLanes>
  static __device__ LaneGroup<kLanes> Begin(LaneGroup<kLanes>* /*tag*/) {
    LaneGroup<kLanes> group;
    group.Begin(true);
    return group;
  }
};

TEST_F(RowMomentsTest, HeldRowsKeepTheirDigitsHoweverFarFromZero) {
  const auto expect = [&](const std::vector<float>& row, const std::vector<double>& out, const std::string& what) {
    const Expected expected(row);
    for (std::size_t i = 0; i < out.size(); i += 2) {
      ASSERT_NEAR(out[i], expected.mean, 0x1p-20 * expected.most) << what << ", thread " << i / 2;
      ASSERT_NEAR(out[i + 1], expected.variance, 0x1p-19 * expected.variance) << what << ", thread " << i / 2;
    }
  };
  for (const auto& [mean, deviation] : {std::pair{0.0F, 1.0F}, {1e4F, 1e-2F}, {-3.0F, 1e3F}, {7.5F, 0.0F}}) {
    for (const int width : {512, 480, 500}) {  // of lanes; four times that of a block
      const std::string what =
          std::to_string(mean) + " +- " + std::to_string(deviation) + " x " + std::to_string(width);
      const auto of_lanes = Row(static_cast<std::size_t>(width), mean, deviation);
      expect(of_lanes, Run(HeldMoments<LaneGroup<32>>{width}, of_lanes, 64, 32), what + ", lanes");
      const auto of_block = Row(4 * static_cast<std::size_t>(width), mean, deviation);
      expect(of_block, Run(HeldMoments<BlockGroup>{4 * width}, of_block, 256, 128), what + ", block");
    }
  }
}

/// Of 16 bits, far from zero for their deviation: the mean is one of f32's, which squares are taken from.
TEST_F(RowMomentsTest, ShortRowsOf16BitsKeepTheirDigitsAndEqualElementsHaveNoVariance) {
  using Moments = HeldMoments<LaneGroup<8>, __half>;
  for (const std::size_t width : {200, 232, 256}) {  // a multiple of 8 in more than three quarters of what lanes hold
    for (const auto& [mean, deviation] : {std::pair{0.0F, 1.0F}, {1500.0F, 0.5F}, {-3e4F, 20.0F}, {1000.5F, 0.0F}}) {
      std::vector<float> row = Row(width, mean, deviation);
      std::vector<__half> halves(width);
      for (std::size_t i = 0; i < width; ++i) {
        halves[i] = __float2half(row[i]);
        row[i] = __half2float(halves[i]);
      }
      const Expected expected(row);
      const auto out = Run(Moments{static_cast<int>(width)}, halves, 16, 8);
      for (std::size_t i = 0; i < out.size(); i += 2) {
        ASSERT_NEAR(out[i], expected.mean, 0x1p-20 * expected.most) << mean << " x " << width << ", thread " << i / 2;
        ASSERT_NEAR(out[i + 1], expected.variance, 0x1p-19 * expected.variance)
            << mean << " x " << width << ", thread " << i / 2;
      }
    }
  }
}

/// A row whose beginning says nothing of the rest: squares about its mean would cancel.
TEST_F(RowMomentsTest, ABeginningFarOffIsReplaced) {
  auto row = Row(2048, 1.0F, 1e-3F);
  std::fill(row.begin(), row.begin() + 16, 1e4F);
  const Expected of_row(row);
  const auto out = Run(HeldMoments<BlockGroup>{2048}, row, 256, 128);
  EXPECT_NEAR(out[0], of_row.mean, 0x1p-20 * of_row.most);
  EXPECT_NEAR(out[1], of_row.variance, 0x1p-19 * of_row.variance);
}

/// Mean, variance and count of a part for each thread; all of them together.
struct MergeParts {
  using In = double;
  using Out = double;
  int width;

  __device__ void operator()(const double* in, double* out) const {
    BlockGroup group(1);
    const double* const own = in + 3 * threadIdx.x;
    const RowParts<Deviations<double>, 1> share{{MeanAndVariance{own[0], own[1]}.From(in[0], own[2])}};
    const auto of_row = MeanAndVariance::Of(TotalOf(group, share), in[0], width);
    out[2 * threadIdx.x] = of_row.mean;
    out[2 * threadIdx.x + 1] = of_row.variance;
  }
};

TEST_F(RowMomentsTest, PartsOfUnlikeLengthsMerge) {
  constexpr std::size_t kParts = 64;
  std::vector<float> row;
  std::vector<double> parts;
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = Row(1 + random_() % 300, 1e4F + static_cast<float>(i), 1e-2F);
    const Expected of_part(part);
    parts.insert(parts.end(), {of_part.mean, of_part.variance, static_cast<double>(part.size())});
    row.insert(row.end(), part.begin(), part.end());
  }
  const Expected of_row(row);
  const auto out = Run(MergeParts{static_cast<int>(row.size())}, parts, 2 * kParts, kParts);
  for (std::size_t i = 0; i < out.size(); i += 2) {
    ASSERT_NEAR(out[i], of_row.mean, 1e-12 * of_row.mean) << "thread " << i / 2;
    ASSERT_NEAR(out[i + 1], of_row.variance, 1e-10 * of_row.variance) << "thread " << i / 2;
  }
}

}  // namespace
}  // namespace kernelwire
