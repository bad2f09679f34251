// Which addresses are asked of an HTTP proxy: nobody listens at the one of this test, nor anywhere else, and a failure
// tells who was tried.
#include <cstdlib>
#include <string>

#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::client {
namespace {

using testing::HasSubstr;
using testing::Not;

class Proxy : public ::testing::Test {
 protected:
  // The variables that gRPC looks at first, whatever else is set where the test runs.
  void SetUp() override {
    setenv("grpc_proxy", "http://127.0.0.1:1", 1);
    setenv("no_grpc_proxy", "", 1);
  }
  void TearDown() override {
    unsetenv("grpc_proxy");
    unsetenv("no_grpc_proxy");
  }

  static std::string FailureAt(const std::string& address) {
    ClientOptions options;
    options.retry.max_attempts = 1;
    const Status status = Client::Connect(address, options).ServerLive(kLong).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << address;
    return status.message();
  }
};

TEST_F(Proxy, IsNotAskedForThisMachine) {
  for (const char* address : {"localhost:2", "LocalHost:2", "127.0.0.1:2", "127.1.2.3:2", "[::1]:2", "dns:localhost:2",
                              "dns:///127.0.0.1:2", "ipv4:127.0.0.1:2", "unix:/nowhere.sock"}) {
    EXPECT_THAT(FailureAt(address), Not(HasSubstr("127.0.0.1:1:"))) << address;
  }
}

TEST_F(Proxy, IsAskedForOthers) {
  for (const char* address :
       {"192.0.2.1:2", "server.invalid:2", "localhost.invalid:2", "127.0.0.1.invalid:2", "dns:///server.invalid:2"}) {
    EXPECT_THAT(FailureAt(address), HasSubstr("127.0.0.1:1:")) << address;
  }
}

}  // namespace
}  // namespace kernelwire::client
