#include "kernels/core/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "kernels/core/tensor.h"

namespace kernelwire {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTwoTo62 = std::int64_t{1} << 62;

TEST(CheckedMultiplyTest, RefusesExactlyWhatDoesNotFit) {
  EXPECT_EQ(CheckedMultiply(0, kMax), 0);
  EXPECT_EQ(CheckedMultiply(kMax, 0), 0);
  EXPECT_EQ(CheckedMultiply(kMax, 1), kMax);
  EXPECT_EQ(CheckedMultiply(kMax / 2, 2), kMax - 1);
  EXPECT_EQ(CheckedMultiply(kTwoTo62, 2), std::nullopt);
  EXPECT_EQ(CheckedMultiply(kMax, kMax), std::nullopt);
  EXPECT_EQ(CheckedMultiply(3037000499, 3037000499), 9223372030926249001);
  EXPECT_EQ(CheckedMultiply(3037000500, 3037000500), std::nullopt);
}

TEST(ShapeTest, RankZeroIsOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.ElementCount(), 1);
  EXPECT_EQ(scalar.ToString(), "[]");
  EXPECT_EQ(scalar.begin(), scalar.end());
}

TEST(ShapeTest, CountsAllAxesOrARange) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.ElementCount(), 24);
  EXPECT_EQ(shape.ElementCount(0, 0), 1);
  EXPECT_EQ(shape.ElementCount(1, 3), 12);
  EXPECT_EQ(shape.ToString(), "[2,3,4]");
}

TEST(ShapeTest, NegativeExtentsAndOverflowHaveNoCount) {
  EXPECT_EQ((Shape{2, -1}).ElementCount(), std::nullopt);
  EXPECT_EQ((Shape{0, -1}).ElementCount(), std::nullopt);
  EXPECT_EQ((Shape{kTwoTo62, 2}).ElementCount(), std::nullopt);
  EXPECT_EQ((Shape{kMax, 1, 1}).ElementCount(), kMax);
}

TEST(ShapeTest, AnExtentOfZeroDoesNotExcuseTheOthers) {
  EXPECT_EQ((Shape{0, 5}).ElementCount(), 0);
  for (const Shape& shape : {Shape{0, kTwoTo62, 4}, Shape{kTwoTo62, 0, 4}, Shape{kTwoTo62, 4, 0}}) {
    EXPECT_EQ(shape.ElementCount(), std::nullopt) << shape.ToString();
  }
}

TEST(ShapeTest, AppendsUpToItsLargestRank) {
  Shape shape;
  for (int i = 0; i < Shape::kMaxRank; ++i) {
    EXPECT_TRUE(shape.Append(1));
  }
  const Shape full = shape;
  EXPECT_FALSE(shape.Append(7));
  EXPECT_EQ(shape, full);
  EXPECT_EQ(shape.rank(), Shape::kMaxRank);
}

TEST(ShapeTest, EqualMeansSameRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_NE(Shape(), (Shape{1}));
}

TEST(TensorDescTest, CountsBytesUpToInt64) {
  EXPECT_EQ((TensorDesc{DataType::kFp16, Shape{3, 5}}).ByteSize(), 30u);
  EXPECT_EQ((TensorDesc{DataType::kFp64, Shape()}).ByteSize(), 8u);
  EXPECT_EQ((TensorDesc{DataType::kFp32, Shape{4, 0}}).ByteSize(), 0u);
  EXPECT_EQ((TensorDesc{DataType::kInt8, Shape{kMax}}).ByteSize(), static_cast<std::size_t>(kMax));
  EXPECT_EQ((TensorDesc{DataType::kFp16, Shape{kTwoTo62}}).ByteSize(), std::nullopt);
  EXPECT_EQ((TensorDesc{DataType::kFp16, Shape{0, kTwoTo62}}).ByteSize(), std::nullopt);
  EXPECT_EQ((TensorDesc{DataType::kInt8, Shape{-1}}).ByteSize(), std::nullopt);
}

}  // namespace
}  // namespace kernelwire
