#include "server/rpc/health.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kernelwire {
namespace {

TEST(HealthStateTest, BeginsAliveAndNotReady) {
  const HealthState health;
  EXPECT_FALSE(health.ready());
  EXPECT_TRUE(health.live());
  EXPECT_EQ(health.Get("readiness"), Health::kNotServing);
  EXPECT_EQ(health.Get("inference.GRPCInferenceService"), Health::kNotServing);
  EXPECT_EQ(health.Get("gpu/0"), std::nullopt);
}

TEST(HealthStateTest, ReadinessHasThreeNames) {
  HealthState health;
  health.SetReady(true);
  for (const std::string name : {"", "readiness", "inference.GRPCInferenceService"}) {
    EXPECT_EQ(health.Get(name), Health::kServing) << name;
  }
  health.SetReady(false);
  EXPECT_EQ(health.Get(""), Health::kNotServing);
  EXPECT_TRUE(health.live());
}

TEST(HealthStateTest, TellsOfChangesOnly) {
  HealthState health;
  int told = 0;
  health.SetListener([&] {
    ++told;
    health.Get("");  // allowed from the listener
  });
  health.SetReady(true);
  health.SetReady(true);
  EXPECT_EQ(told, 1);
  health.Set("gpu/0", Health::kUnknown);
  health.Set("gpu/0", Health::kUnknown);
  EXPECT_EQ(told, 2);
  health.Set("gpu/0", Health::kServing);
  EXPECT_EQ(told, 3);
  health.SetListener({});
  health.SetReady(false);
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace kernelwire
