#include "server/exec/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/exec/cuda_device.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;

DeviceInfo Gpu(int index, const std::string& name, int major, int minor) {
  DeviceInfo gpu;
  gpu.index = index;
  gpu.name = name;
  gpu.major = major;
  gpu.minor = minor;
  return gpu;
}

const std::vector<DeviceInfo> kFour = {Gpu(0, "H200", 9, 0), Gpu(1, "H100", 9, 0), Gpu(2, "A100", 8, 0),
                                       Gpu(3, "V100", 7, 0)};

std::vector<int> IndicesOf(const std::vector<DeviceInfo>& gpus) {
  std::vector<int> indices;
  for (const DeviceInfo& gpu : gpus) {
    indices.push_back(gpu.index);
  }
  return indices;
}

TEST(CheckDevicesTest, TakesAllOrThoseThatAreNamedInTheirOrder) {
  const std::vector<DeviceInfo> alike(kFour.begin(), kFour.begin() + 2);
  for (const char* all : {"", "all"}) {
    EXPECT_EQ(IndicesOf(CheckDevices(all, alike).value()), (std::vector<int>{0, 1})) << all;
  }
  EXPECT_EQ(IndicesOf(CheckDevices("1", kFour).value()), (std::vector<int>{1}));
  EXPECT_EQ(IndicesOf(CheckDevices("1,0", kFour).value()), (std::vector<int>{1, 0}));
  EXPECT_EQ(IndicesOf(CheckDevices("2", kFour).value()), (std::vector<int>{2}));
}

TEST(CheckDevicesTest, RefusesWhatIsNoList) {
  for (const char* wanted : {",", "0,", ",0", "a", "-1", "+1", " 0", "0 1", "0;1", "99999999999", "0x1", "ALL"}) {
    const absl::Status status = CheckDevices(wanted, kFour).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wanted;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--devices")) << wanted;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("got \"") + wanted + "\"")) << wanted;
  }
  EXPECT_EQ(CheckDevices("0,1,0", kFour).status(),
            absl::InvalidArgumentError("flag --devices: expected each GPU once, got 0 twice in \"0,1,0\""));
}

TEST(CheckDevicesTest, NamesTheGpusThereAreWhenOneIsNot) {
  const absl::Status status = CheckDevices("0,7", kFour).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 (H100, compute capability 9.0)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("got 7"));
}

TEST(CheckDevicesTest, RefusesUnlikeAndOldOnes) {
  const absl::Status unlike = CheckDevices("0,2", kFour).status();
  EXPECT_EQ(unlike.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unlike.message()), HasSubstr("0 (H200, compute capability 9.0) and 2 (A100"));
  EXPECT_EQ(CheckDevices("all", kFour).status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status old = CheckDevices("3", kFour).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(old.message()), HasSubstr("expected compute capability 7.5 or newer"));
}

TEST(CheckDevicesTest, SaysSoWhenThereIsNone) {
  EXPECT_EQ(CheckDevices("", {}).status(), absl::FailedPreconditionError("flag --devices: expected a GPU, got none"));
  EXPECT_EQ(CheckDevices("0,1", {}).status(),
            absl::FailedPreconditionError("flag --devices: expected GPUs 0,1, got none"));
}

TEST(ListCudaDevicesTest, ListsThemOrSaysWhyThereAreNone) {
  const absl::StatusOr<std::vector<DeviceInfo>> present = ListCudaDevices();
  if (present.ok()) {
    EXPECT_FALSE(present->empty());
    EXPECT_TRUE(CheckDevices("0", *present).ok());
  } else {
    EXPECT_EQ(present.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(MakeCudaDevice({}).status(), present.status());
  }
}

}  // namespace
}  // namespace kernelwire
