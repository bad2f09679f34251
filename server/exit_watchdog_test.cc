#include "server/exit_watchdog.h"

#include <future>

#include "gtest/gtest.h"

namespace kernelwire {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class ExitWatchdogTest : public ::testing::Test {
 protected:
  std::promise<ExitCode> ended_;
  ExitWatchdog watchdog_{[this](ExitCode code) { ended_.set_value(code); }};
};

TEST_F(ExitWatchdogTest, TerminatesWhenTheTimeIsUp) {
  watchdog_.Arm(milliseconds(1), ExitCode::kForcedStop, "test");
  EXPECT_EQ(ended_.get_future().get(), ExitCode::kForcedStop);
  EXPECT_FALSE(watchdog_.Disarm());
}

TEST_F(ExitWatchdogTest, KeepsTheEarliestAlarm) {
  watchdog_.Arm(hours(1), ExitCode::kForcedStop, "late");
  watchdog_.Arm(milliseconds(1), ExitCode::kDeviceLost, "early");
  watchdog_.Arm(hours(2), ExitCode::kDeviceHung, "later");
  EXPECT_EQ(ended_.get_future().get(), ExitCode::kDeviceLost);
}

TEST_F(ExitWatchdogTest, DoesNothingOnceDisarmed) {
  watchdog_.Arm(hours(1), ExitCode::kForcedStop, "test");
  EXPECT_TRUE(watchdog_.Disarm());
  watchdog_.Arm(milliseconds(1), ExitCode::kOk, "armed anew");
  EXPECT_EQ(ended_.get_future().get(), ExitCode::kOk);
}

TEST_F(ExitWatchdogTest, FiresAtOnceInTheCallingThread) {
  watchdog_.Fire(ExitCode::kForcedStop, "test");
  EXPECT_EQ(ended_.get_future().get(), ExitCode::kForcedStop);
}

}  // namespace
}  // namespace kernelwire
