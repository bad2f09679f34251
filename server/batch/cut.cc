#include "server/batch/cut.h"

#include <algorithm>

#include "kernels/core/segment.h"

namespace kernelwire {
namespace {

/// Requires: the request is not cut, or the tensor's bytes are exactly those of its rows (see CanBeCut).
Stretch StretchOf(const Request& request, std::size_t bytes, std::int64_t row_bytes, const RowRange& rows) {
  if (row_bytes == 0 || rows.count == request.plan.rows) {
    return {0, bytes};
  }
  return {static_cast<std::size_t>(rows.first * row_bytes), static_cast<std::size_t>(rows.count * row_bytes)};
}

bool CanBeCut(const Request& request) {
  const Plan& plan = request.plan;
  const auto agrees = [&plan](std::int64_t row_bytes, std::size_t bytes) {
    return row_bytes == 0 || (bytes % static_cast<std::size_t>(row_bytes) == 0 &&
                              bytes / static_cast<std::size_t>(row_bytes) == static_cast<std::size_t>(plan.rows));
  };
  bool possible = request.may_be_cut && plan.rows > 1;
  for (std::size_t i = 0; i < kMaxInputs; ++i) {
    possible = possible &&
               (!request.plan_request.inputs[i].has_value() || agrees(plan.input_row_bytes[i], request.input_bytes[i]));
  }
  for (const OutputPlan& output : plan.outputs) {
    possible = possible && (!output.wanted || (output.row_bytes > 0 && agrees(output.row_bytes, output.bytes)));
  }
  return possible;
}

/// The most rows that fit into a slab; 0 when not even one does.
std::int64_t RowsThatFit(const Request& request, std::size_t slab_bytes) {
  std::int64_t fit = 0;
  std::int64_t too_many = request.plan.rows + 1;
  while (too_many - fit > 1) {
    const std::int64_t middle = fit + (too_many - fit) / 2;
    (SlabBytes(request, {0, middle}) <= slab_bytes ? fit : too_many) = middle;
  }
  return fit;
}

}  // namespace

Stretch InputStretch(const Request& request, std::size_t input, const RowRange& rows) {
  return StretchOf(request, request.input_bytes[input], request.plan.input_row_bytes[input], rows);
}

Stretch OutputStretch(const Request& request, std::size_t output, const RowRange& rows) {
  const OutputPlan& planned = request.plan.outputs[output];
  return StretchOf(request, planned.bytes, planned.row_bytes, rows);
}

std::size_t WorkspaceBytes(const Request& request, const RowRange& rows) {
  const std::size_t all = request.plan.workspace_bytes;
  if (rows.count == request.plan.rows) {
    return AlignUp(all);
  }
  const auto of_request = static_cast<std::size_t>(request.plan.rows);
  const std::size_t share = all / of_request + (all % of_request == 0 ? 0 : 1);
  return AlignUp(share * static_cast<std::size_t>(rows.count));
}

std::size_t TensorBytes(const Request& request, const RowRange& rows) {
  std::size_t bytes = WorkspaceBytes(request, rows);
  for (std::size_t i = 0; i < kMaxInputs; ++i) {
    bytes += request.plan_request.inputs[i].has_value() ? AlignUp(InputStretch(request, i, rows).bytes) : 0;
  }
  for (std::size_t i = 0; i < kMaxOutputs; ++i) {
    bytes += request.plan.outputs[i].wanted ? AlignUp(OutputStretch(request, i, rows).bytes) : 0;
  }
  return bytes;
}

std::size_t SlabBytes(const Request& request, const RowRange& rows) {
  return TensorBytes(request, rows) + AlignUp(sizeof(Segment));
}

RowRange AllRows(const Request& request) { return {0, request.plan.rows}; }

RowRange RowsOfPart(const Request& request, std::int64_t parts, std::int64_t index) {
  const std::int64_t each = request.plan.rows / parts;
  const std::int64_t longer = request.plan.rows % parts;  // the first ones have a row more
  return {index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

std::optional<Cut> CutFor(const Request& request, std::size_t wanted, const SlabPool& pool) {
  const std::size_t whole = SlabBytes(request, AllRows(request));
  if (whole > wanted && CanBeCut(request)) {
    for (std::size_t slab = pool.BlockBytesFor(std::min(wanted, pool.largest())); slab <= pool.largest(); slab *= 2) {
      const std::int64_t rows = RowsThatFit(request, slab);
      if (rows == request.plan.rows) {
        break;  // larger ones would hold it whole, too
      }
      const std::int64_t parts = rows == 0 ? kMostParts + 1 : (request.plan.rows - 1) / rows + 1;
      if (parts <= kMostParts && static_cast<std::size_t>(parts) <= pool.total_bytes() / slab) {
        return Cut{parts, slab};
      }
    }
  }
  return whole <= pool.largest() ? std::optional<Cut>(Cut{1, whole}) : std::nullopt;
}

}  // namespace kernelwire
