// Which kernels the rows of a launch may take, and what they read first: what a kernel is told of its launch must hold
// for all of it.
#include "kernels/primitives/row_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/core/launch.h"
#include "kernels/core/segment.h"
#include "kernels/device/early_reads.h"

namespace kernelwire {
namespace {

using ::testing::ElementsAre;

constexpr int kUnwanted = 1;  // an output
constexpr RowPlaces kPlaces{{{false, 0, kRowStrideX}, {true, 0, kRowStrideY}}, {{1, kRowWeight}}, {kUnwanted}};

/// x, a weight and y of a request on granules, its rows one after another.
Segment UsualSegment(std::int64_t width) {
  alignas(kGranuleBytes) static std::byte memory[3 * kGranuleBytes];
  Segment segment{};
  segment.inputs[0] = memory;
  segment.inputs[1] = memory + kGranuleBytes;
  segment.outputs[0] = memory + 2 * kGranuleBytes;
  segment.rows = 5;
  segment.extents[kRowStrideX] = width;
  segment.extents[kRowStrideY] = width;
  segment.extents[kRowWeight] = PackRowParameter({RowParameterKind::kRow, DataType::kBf16});
  return segment;
}

Launch LaunchOf(const std::vector<Segment>& segments) {
  Launch launch;
  launch.segments = segments.data();
  launch.segment_count = static_cast<int>(segments.size());
  for (const Segment& segment : segments) {
    launch.total_rows += segment.rows;
  }
  return launch;
}

RowAccess AccessOfSegments(const std::vector<Segment>& segments, std::int64_t width) {
  return AccessOf(LaunchOf(segments), DataType::kBf16, width, kPlaces);
}

TEST(RowAccessTest, TheUsualLaunchIsDenseInVectorsAndTiledInHalves) {
  EXPECT_EQ(AccessOfSegments({UsualSegment(64)}, 64), RowAccess::kDense);
  EXPECT_EQ(AccessOfSegments({UsualSegment(100)}, 100), RowAccess::kTiled);
  EXPECT_EQ(AccessOfSegments({UsualSegment(102)}, 102), RowAccess::kOdd);
  EXPECT_EQ(AccessOfSegments({UsualSegment(7)}, 7), RowAccess::kOdd);
}

TEST(RowAccessTest, WhatIsUnusualOfALaunchIsSeen) {
  const auto half_a_granule_on = [](const void* at) { return static_cast<const std::byte*>(at) + kGranuleBytes / 2; };
  const std::pair<const char*, std::function<void(Segment&)>> kChanges[] = {
      {"x apart", [](Segment& segment) { segment.extents[kRowStrideX] += 8; }},
      {"y apart", [](Segment& segment) { segment.extents[kRowStrideY] += 8; }},
      {"no weight", [](Segment& segment) { segment.extents[kRowWeight] = 0; }},
      {"a weight for all",
       [](Segment& segment) {
         segment.extents[kRowWeight] = PackRowParameter({RowParameterKind::kOne, DataType::kBf16});
       }},
      {"a weight of another type",
       [](Segment& segment) {
         segment.extents[kRowWeight] = PackRowParameter({RowParameterKind::kRow, DataType::kFp32});
       }},
      {"another output", [](Segment& segment) { segment.outputs[kUnwanted] = segment.outputs[0]; }},
      {"too many rows", [](Segment& segment) { segment.rows = std::int64_t{1} << 31; }},
  };
  for (const auto& [name, change] : kChanges) {
    for (const std::int64_t width : {64, 100}) {
      Segment segment = UsualSegment(width);
      change(segment);
      EXPECT_EQ(AccessOfSegments({segment}, width), width == 64 ? RowAccess::kPlain : RowAccess::kShifted)
          << name << ", width " << width;
    }
  }
  Segment begins_in_a_granule = UsualSegment(100);
  begins_in_a_granule.inputs[0] = half_a_granule_on(begins_in_a_granule.inputs[0]);
  EXPECT_EQ(AccessOfSegments({begins_in_a_granule}, 100), RowAccess::kShifted);
  Segment weight_begins_in_a_granule = UsualSegment(100);
  weight_begins_in_a_granule.inputs[1] = half_a_granule_on(weight_begins_in_a_granule.inputs[1]);
  EXPECT_EQ(AccessOfSegments({weight_begins_in_a_granule}, 100), RowAccess::kShifted);
}

TEST(RowAccessTest, WholeVectorsMayBeginAnywhereInAnElseUsualLaunch) {
  const auto an_element_on = [](auto* at) {
    return static_cast<std::remove_pointer_t<decltype(at)>*>(
        static_cast<void*>(const_cast<std::byte*>(static_cast<const std::byte*>(at)) + SizeOf(DataType::kBf16)));
  };
  for (const bool output : {false, true}) {
    const auto misaligned = [&](std::int64_t width) {
      Segment segment = UsualSegment(width);
      if (output) {
        segment.outputs[0] = an_element_on(segment.outputs[0]);
      } else {
        segment.inputs[0] = an_element_on(segment.inputs[0]);
      }
      return segment;
    };
    EXPECT_EQ(AccessOfSegments({misaligned(64)}, 64), RowAccess::kMisaligned);
    EXPECT_EQ(AccessOfSegments({misaligned(100)}, 100), RowAccess::kShifted) << "halves of vectors";
    EXPECT_EQ(AccessOfSegments({misaligned(7)}, 7), RowAccess::kShifted);
    EXPECT_EQ(AccessOfSegments({misaligned(64), UsualSegment(64)}, 64), RowAccess::kShifted) << "two requests";
    Segment apart = misaligned(64);
    apart.extents[kRowStrideX] += 8;
    EXPECT_EQ(AccessOfSegments({apart}, 64), RowAccess::kShifted) << "rows apart";
  }
  Segment weight = UsualSegment(64);
  weight.inputs[1] = an_element_on(weight.inputs[1]);
  EXPECT_EQ(AccessOfSegments({weight}, 64), RowAccess::kShifted) << "a weight that begins anywhere";
}

TEST(RowAccessTest, SeveralRequestsAreNotTheUsualLaunch) {
  EXPECT_EQ(AccessOfSegments({UsualSegment(64), UsualSegment(64)}, 64), RowAccess::kPlain);
  EXPECT_EQ(AccessOfSegments({UsualSegment(100), UsualSegment(100)}, 100), RowAccess::kShifted);
}

TEST(RowAccessTest, RowsThatFollowEachOtherAndParametersAreReadEarly) {
  constexpr std::int64_t kWidth = 100;  // 5 rows of it are 1000 bytes
  Segment segment = UsualSegment(kWidth);
  const EarlyReads both = EarlyReadsOf(LaunchOf({segment}), DataType::kBf16, kWidth, kPlaces);
  EXPECT_THAT(both.data, ElementsAre(segment.inputs[1], segment.inputs[0], nullptr));
  EXPECT_THAT(both.lines, ElementsAre(2, 8, 0));

  segment.extents[kRowWeight] = PackRowParameter({RowParameterKind::kRow, DataType::kFp32});
  EXPECT_THAT(EarlyReadsOf(LaunchOf({segment}), DataType::kBf16, kWidth, kPlaces).lines, ElementsAre(4, 8, 0));
  segment.extents[kRowStrideX] += 8;
  EXPECT_THAT(EarlyReadsOf(LaunchOf({segment}), DataType::kBf16, kWidth, kPlaces).lines, ElementsAre(4, 0, 0));
  segment.extents[kRowWeight] = PackRowParameter({RowParameterKind::kOne, DataType::kBf16});
  EXPECT_THAT(EarlyReadsOf(LaunchOf({segment}), DataType::kBf16, kWidth, kPlaces).lines, ElementsAre(0, 0, 0));

  const std::vector<Segment> several = {UsualSegment(kWidth), UsualSegment(kWidth)};
  EXPECT_THAT(EarlyReadsOf(LaunchOf(several), DataType::kBf16, kWidth, kPlaces).lines, ElementsAre(0, 0, 0));
}

TEST(RowAccessTest, OfLongTensorsTheBeginningIsReadEarly) {
  constexpr std::int64_t kMost = EarlyReads::kMostBytes / EarlyReads::kLineBytes;
  Segment segment = UsualSegment(64);
  segment.rows = std::int64_t{1} << 40;
  EXPECT_THAT(EarlyReadsOf(LaunchOf({segment}), DataType::kBf16, 64, kPlaces).lines, ElementsAre(1, kMost - 1, 0));
  const std::int64_t width = std::int64_t{1} << 20;
  EXPECT_THAT(EarlyReadsOf(LaunchOf({UsualSegment(width)}), DataType::kBf16, width, kPlaces).lines,
              ElementsAre(kMost / 4, kMost * 3 / 4, 0));
  EXPECT_THAT(EarlyReadsOf(LaunchOf({UsualSegment(4 * width)}), DataType::kBf16, 4 * width, kPlaces).lines,
              ElementsAre(0, 0, 0));
}

TEST(RowAccessTest, TensorsThatAreThereBeginAlikeOrNot) {
  alignas(kGranuleBytes) static std::byte memory[4 * kGranuleBytes];
  EXPECT_TRUE(BeginAlike({memory + 2, memory + 18, nullptr}));
  EXPECT_TRUE(BeginAlike({memory, memory + 32, memory + 16}));
  EXPECT_FALSE(BeginAlike({memory + 2, memory + 18, memory + 4}));
  EXPECT_FALSE(BeginAlike({memory, memory + 2, nullptr}));
}

}  // namespace
}  // namespace kernelwire
