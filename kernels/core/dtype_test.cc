#include "kernels/core/dtype.h"

#include <gtest/gtest.h>

#include <vector>

namespace kernelwire {
namespace {

const std::vector<DataType>& AllTypes() {
  static const std::vector<DataType> types{DataType::kBool,  DataType::kInt8,    DataType::kUint8,  DataType::kInt32,
                                           DataType::kInt64, DataType::kFp16,    DataType::kBf16,   DataType::kFp32,
                                           DataType::kFp64,  DataType::kFp8E4m3, DataType::kFp8E5m2};
  return types;
}

TEST(DataTypeTest, EveryNameLeadsBackToItsType) {
  for (const DataType type : AllTypes()) {
    EXPECT_EQ(DataTypeFromName(NameOf(type)), type) << NameOf(type);
    EXPECT_GT(SizeOf(type), 0u) << NameOf(type);
  }
}

TEST(DataTypeTest, NamesAreTheProtocols) {
  EXPECT_STREQ(NameOf(DataType::kBool), "BOOL");
  EXPECT_STREQ(NameOf(DataType::kFp16), "FP16");
  EXPECT_STREQ(NameOf(DataType::kBf16), "BF16");
  EXPECT_STREQ(NameOf(DataType::kFp64), "FP64");
  EXPECT_STREQ(NameOf(DataType::kFp8E4m3), "FP8_E4M3");
}

TEST(DataTypeTest, UnknownNamesAndTypesThatAreNotOursHaveNoType) {
  for (const char* const name : {"", "fp32", "FP32 ", "FLOAT", "BYTES", "UINT16", "INT16", "UINT32", "INVALID"}) {
    EXPECT_EQ(DataTypeFromName(name), std::nullopt) << name;
  }
}

TEST(DataTypeTest, InvalidHasNoSizeAndIsInNoSet) {
  EXPECT_EQ(SizeOf(DataType::kInvalid), 0u);
  EXPECT_STREQ(NameOf(DataType::kInvalid), "INVALID");
  EXPECT_FALSE(kFloats.Contains(DataType::kInvalid));
}

TEST(DataTypeSetTest, HoldsWhatItWasMadeOf) {
  constexpr DataTypeSet set{DataType::kInt64, DataType::kFp16};
  for (const DataType type : AllTypes()) {
    EXPECT_EQ(set.Contains(type), type == DataType::kInt64 || type == DataType::kFp16) << NameOf(type);
  }
  EXPECT_EQ(set.ToString(), "INT64, FP16");
  EXPECT_EQ(DataTypeSet().ToString(), "");
  EXPECT_EQ(kFloats16And32.ToString(), "FP16, BF16, FP32");
}

}  // namespace
}  // namespace kernelwire
