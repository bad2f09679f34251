// How requests are cut: every row once, every part in its slab, all slabs in the pool.
#include "server/batch/cut.h"

#include <algorithm>
#include <iostream>
#include <random>

#include "gtest/gtest.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeRequest;

/// A second input that every part needs whole, as a weight is.
void AddWeight(FakeRequest* request, std::size_t bytes) {
  request->plan_request.inputs[1] = TensorDesc{DataType::kUint8, Shape{static_cast<std::int64_t>(bytes)}};
  request->input_bytes[1] = bytes;
}

void ExpectEveryRowOnce(const Request& request, const Cut& cut) {
  std::int64_t next = 0;
  std::size_t next_input = 0;
  std::size_t next_output = 0;
  for (std::int64_t i = 0; i < cut.parts; ++i) {
    const RowRange rows = RowsOfPart(request, cut.parts, i);
    ASSERT_EQ(rows.first, next);
    ASSERT_GT(rows.count, 0);
    next += rows.count;
    ASSERT_LE(SlabBytes(request, rows), cut.slab_bytes);
    const Stretch input = InputStretch(request, 0, rows);
    const Stretch output = OutputStretch(request, 0, rows);
    ASSERT_EQ(input.offset, next_input);
    ASSERT_EQ(output.offset, next_output);
    next_input += input.bytes;
    next_output += output.bytes;
    const Stretch weight = InputStretch(request, 1, rows);
    ASSERT_EQ(weight.offset, 0u);
    ASSERT_EQ(weight.bytes, request.input_bytes[1]);
  }
  ASSERT_EQ(next, request.plan.rows);
  ASSERT_EQ(next_input, request.input_bytes[0]);
  ASSERT_EQ(next_output, request.plan.outputs[0].bytes);
}

TEST(Cut, RandomRequestsAreCoveredAndFit) {
  constexpr unsigned kSeed = 3;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  const auto draw = [&random](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  int cuts = 0;
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    SlabPool pool(MakeHostRegion(4096 * draw(1, 100)), 4096);
    const std::size_t row_bytes = draw(1, 3000);
    FakeRequest request(1, 1, row_bytes * draw(1, 300), row_bytes);
    if (draw(0, 1) == 1) {
      AddWeight(&request, draw(1, 5000));
    }
    const std::size_t wanted = std::size_t{1} << draw(10, 17);
    const std::optional<Cut> cut = CutFor(request, wanted, pool);
    const std::size_t whole = SlabBytes(request, AllRows(request));
    if (!cut.has_value()) {
      EXPECT_GT(whole, pool.largest());
      ++refused;
    } else if (cut->parts == 1) {
      EXPECT_EQ(cut->slab_bytes, whole);
    } else {
      EXPECT_GT(whole, wanted);
      EXPECT_LE(cut->parts, kMostParts);
      EXPECT_LE(static_cast<std::size_t>(cut->parts) * cut->slab_bytes, pool.total_bytes());
      EXPECT_EQ(pool.TakeAll(cut->slab_bytes, static_cast<std::size_t>(cut->parts)).size(),
                static_cast<std::size_t>(cut->parts));
      ++cuts;
    }
    if (cut.has_value()) {
      ExpectEveryRowOnce(request, *cut);
    }
  }
  EXPECT_GT(cuts, 1000);
  EXPECT_GT(refused, 100);
}

TEST(Cut, SmallRequestsAndSingleRowsStayWhole) {
  SlabPool pool(MakeHostRegion(1 << 20), 4096);
  EXPECT_EQ(CutFor(FakeRequest(1, 1, 1000, 10), 4096, pool)->parts, 1);
  EXPECT_EQ(CutFor(FakeRequest(1, 1, 100'000, 100'000), 4096, pool)->parts, 1);
  EXPECT_EQ(CutFor(FakeRequest(1, 1, 100'000), 4096, pool)->parts, 1);
  EXPECT_GT(CutFor(FakeRequest(1, 1, 100'000, 50'000), 4096, pool)->parts, 1);
}

// So scratch neither keeps a request whole nor is taken by each part anew.
TEST(Cut, PartsHaveTheirRowsShareOfTheScratch) {
  SlabPool pool(MakeHostRegion(1 << 20), 4096);
  FakeRequest request(1, 1, 10'000, 1000);
  request.plan.workspace_bytes = 256 * 250;
  EXPECT_EQ(WorkspaceBytes(request, AllRows(request)), 64'000u);
  EXPECT_EQ(WorkspaceBytes(request, {3, 2}), 12'800u);
  request.plan.workspace_bytes += 256;  // rounded up, so that no row has too little
  EXPECT_GE(WorkspaceBytes(request, {3, 2}), 2 * 6426u);
  EXPECT_EQ(WorkspaceBytes(request, {3, 2}) % kTensorAlignment, 0u);
  const std::optional<Cut> cut = CutFor(request, 32'768, pool);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->slab_bytes, 32'768u);
  EXPECT_EQ(cut->parts, 4);
}

TEST(Cut, NeedsRowsThatMakeUpTheirTensorsAndAnOwnerThatCanCopyThem) {
  SlabPool pool(MakeHostRegion(1 << 20), 4096);
  FakeRequest request(1, 1, 100'000, 1000);
  EXPECT_GT(CutFor(request, 16384, pool)->parts, 1);
  request.may_be_cut = false;
  EXPECT_EQ(CutFor(request, 16384, pool)->parts, 1);
  request.may_be_cut = true;
  request.plan.outputs[0].bytes += 8;  // what belongs to no row
  EXPECT_EQ(CutFor(request, 16384, pool)->parts, 1);
  request.plan.outputs[0].bytes -= 8;
  request.plan.outputs[1].wanted = true;  // of the request as a whole
  request.plan.outputs[1].bytes = 4;
  EXPECT_EQ(CutFor(request, 16384, pool)->parts, 1);
}

TEST(Cut, TheNumberOfPartsIsBounded) {
  SlabPool pool(MakeHostRegion(1 << 24), 4096);
  const std::optional<Cut> cut = CutFor(FakeRequest(1, 1, 4'000'000, 100), 4096, pool);
  ASSERT_TRUE(cut.has_value());
  EXPECT_GT(cut->parts, kMostParts / 2);
  EXPECT_LE(cut->parts, kMostParts);
}

}  // namespace
}  // namespace kernelwire
