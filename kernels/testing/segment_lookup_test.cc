// Which request of a launch a row belongs to, from wherever it is looked for first.
#include "kernels/primitives/segment_lookup.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace kernelwire::testing {
namespace {

std::vector<Segment> SegmentsOfRows(const std::vector<std::int64_t>& rows) {
  std::vector<Segment> segments(rows.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    segments[i].rows = rows[i];
    segments[i].first_row = first;
    first += rows[i];
  }
  return segments;
}

void ExpectFoundFromEveryGuess(const std::vector<std::int64_t>& rows) {
  const std::vector<Segment> segments = SegmentsOfRows(rows);
  const int count = static_cast<int>(segments.size());
  std::int64_t row = 0;
  for (int owner = 0; owner < count; ++owner) {
    for (std::int64_t i = 0; i < rows[static_cast<std::size_t>(owner)]; ++i, ++row) {
      ASSERT_EQ(FindSegment(segments.data(), count, row), owner) << "row " << row;
      for (int guess = 0; guess < count; ++guess) {
        ASSERT_EQ(FindSegment(segments.data(), count, row, guess), owner) << "row " << row << " from " << guess;
      }
    }
  }
}

TEST(SegmentLookupTest, FindsTheRequestOfARowFromEveryGuess) {
  ExpectFoundFromEveryGuess({5});
  ExpectFoundFromEveryGuess({4, 4, 4, 4});
  ExpectFoundFromEveryGuess({1, 100, 1, 2});
}

TEST(SegmentLookupTest, PassesOverRequestsWithoutRows) {
  ExpectFoundFromEveryGuess({0, 3});
  ExpectFoundFromEveryGuess({3, 0, 0, 2, 0});
  constexpr unsigned kSeed = 20261125;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int draw = 0; draw < 50; ++draw) {
    std::vector<std::int64_t> rows(1 + random() % 20);
    for (std::int64_t& each : rows) {
      each = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 9);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFoundFromEveryGuess(rows)) << "draw " << draw;
  }
}

}  // namespace
}  // namespace kernelwire::testing
