#include "kernels/core/plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace kernelwire {
namespace {

BatchKey KeyOf(std::initializer_list<std::uint64_t> words) {
  BatchKey key;
  for (const std::uint64_t word : words) {
    key.Append(word);
  }
  return key;
}

TEST(BatchKeyTest, EqualWordsInEqualOrderAreEqual) {
  EXPECT_EQ(KeyOf({1, 2, 3}), KeyOf({1, 2, 3}));
  EXPECT_FALSE(KeyOf({1, 2, 3}) == KeyOf({3, 2, 1}));
  EXPECT_EQ(KeyOf({1, 2, 3}).Hash(), KeyOf({1, 2, 3}).Hash());
}

TEST(BatchKeyTest, TrailingZerosCount) {
  EXPECT_FALSE(KeyOf({1}) == KeyOf({1, 0}));
  EXPECT_FALSE(KeyOf({}) == KeyOf({0}));
  EXPECT_NE(KeyOf({1}).Hash(), KeyOf({1, 0}).Hash());
}

TEST(BatchKeyTest, PrependPutsInFront) {
  BatchKey key = KeyOf({2, 3});
  key.Prepend(1);
  EXPECT_EQ(key, KeyOf({1, 2, 3}));
}

TEST(BatchKeyTest, DoublesAreToldApartByTheirBits) {
  const auto key_of = [](double value) {
    BatchKey key;
    key.AppendDouble(value);
    return key;
  };
  EXPECT_EQ(key_of(1e-5), key_of(1e-5));
  EXPECT_FALSE(key_of(1e-5) == key_of(1.0000000000000001e-4));
  EXPECT_FALSE(key_of(0.0) == key_of(-0.0));
}

TEST(BatchKeyTest, HashesOfNeighbouringKeysDiffer) {
  std::set<std::size_t> hashes;
  constexpr std::uint64_t kSide = 64;
  for (std::uint64_t a = 0; a < kSide; ++a) {
    for (std::uint64_t b = 0; b < kSide; ++b) {
      hashes.insert(KeyOf({a, b}).Hash());
    }
  }
  EXPECT_EQ(hashes.size(), kSide * kSide);
}

TEST(BatchKeyDeathTest, AWordTooManyEndsTheProcess) {
  BatchKey key;
  for (std::size_t i = 0; i < BatchKey::kWords; ++i) {
    key.Append(i);
  }
  EXPECT_DEATH(key.Append(0), "batch key");
  EXPECT_DEATH(key.Prepend(0), "batch key");
}

TEST(PlanTest, ParamsComeBackAsTheyWere) {
  struct Params {
    float epsilon;
    std::int64_t width;
  };
  Plan plan;
  plan.SetParams(Params{0.5f, 7});
  EXPECT_EQ(plan.Params<Params>().epsilon, 0.5f);
  EXPECT_EQ(plan.Params<Params>().width, 7);
}

}  // namespace
}  // namespace kernelwire
