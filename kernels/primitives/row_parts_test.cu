// Blocks that share long rows by way of a workspace, by themselves: totals that some leave and others merge, many more
// blocks than run at a time, and tickets that are as before when all are done.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_parts.cuh"

namespace kernelwire {
namespace {

using testing::Plus;

class RowPartsTest : public testing::DeviceBodyTest {};

/// `in` has a total for each part of each row. `out` has places for these, for what each range's block makes of its
/// row's, and for tickets, in this order.
struct ShareRows {
  using In = double;
  using Out = double;
  StreamedParts parts;
  StreamedRows rows;

  __host__ __device__ std::size_t Results() const {
    return static_cast<std::size_t>((rows.first + rows.count) * parts.count);
  }
  __host__ __device__ std::size_t Tickets() const {
    return Results() + static_cast<std::size_t>(rows.count) * static_cast<std::size_t>(RangesOfRow(parts));
  }

  __device__ void operator()(const double* in, double* out) const {
    const std::int64_t elements = parts.bytes / std::int64_t{sizeof(double)};
    SegmentTable table{};
    table.count = 1;
    table.only.workspace = out;
    BlockGroup group(1);
    const auto body = [&](std::int64_t index, const RowPart& range, StreamPass pass) {
      const PartTotals<double> totals(table, reinterpret_cast<std::uint32_t*>(out + Tickets()), parts, rows, index);
      if (pass == StreamPass::kTotals) {
        ForEachPart<double>(parts, range, [&](const RowPart& part) {
          totals.Put(part, part.first == part.index * elements ? in[index * parts.count + part.index] : 0.0);
        });
        totals.Arrive();
        return;
      }
      totals.Await();
      const double sum = totals.Merge(group, 0.0, Plus{});
      totals.Depart();
      if (threadIdx.x == 0) {
        out[Results() +
            static_cast<std::size_t>((index - rows.first) * RangesOfRow(parts) + range.index / parts.together)] = sum;
      }
    };
    ForEachRange<double, true>(parts, rows, parts.count * elements, body);
  }
};

TEST_F(RowPartsTest, EachRangeMergesAllTotalsOfItsRow) {
  constexpr std::int64_t kFirst = 3;  // row of the operator's that is the launch's first
  for (const int parts_of_row : {2, 65, 130}) {
    for (const int together : {1, 2, 4}) {
      for (const std::int64_t count : {1, 2, 40}) {
        SCOPED_TRACE(::testing::Message()
                     << count << " rows of " << parts_of_row << " parts, " << together << " together");
        const StreamedParts parts{16384, parts_of_row, together, 256};
        const ShareRows body{parts, StreamedRows::InParts(parts, kFirst, count)};
        std::vector<double> in(static_cast<std::size_t>((kFirst + count) * parts_of_row));
        std::generate(in.begin(), in.end(), [&] { return static_cast<double>(random_() % 1000); });
        const auto of_row = static_cast<std::size_t>(RangesOfRow(parts));
        LaunchShape shape;
        shape.blocks = static_cast<std::int64_t>(2 * of_row) * count;
        shape.threads = 256;
        const std::size_t tickets = static_cast<std::size_t>(count + 1) / 2;  // two in a double's place
        const auto out = Run(body, in, body.Tickets() + tickets, shape);
        for (std::size_t i = 0; i < of_row * static_cast<std::size_t>(count); ++i) {
          const auto* const row = &in[(kFirst + i / of_row) * static_cast<std::size_t>(parts_of_row)];
          double sum = 0.0;
          std::for_each(row, row + parts_of_row, [&](double total) { sum += total; });
          ASSERT_EQ(out[body.Results() + i], sum) << "row " << i / of_row << ", range " << i % of_row;
        }
        for (std::size_t i = 0; i < tickets; ++i) {
          ASSERT_EQ(out[body.Tickets() + i], 0.0) << "tickets " << 2 * i << " and " << 2 * i + 1;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
