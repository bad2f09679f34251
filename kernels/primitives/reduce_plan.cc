#include "kernels/primitives/reduce_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "kernels/primitives/row_operator.h"

namespace kernelwire {
namespace {

/// The axes of `shape` that `axes` names, as bits; all of them when it was left out.
absl::StatusOr<std::uint32_t> ReadAxes(ReduceKind kind, const Attributes& attributes, const Shape& shape) {
  const std::uint32_t all = (1u << shape.rank()) - 1u;
  const auto given = attributes.GetIntList("axes");
  if (!given.has_value()) {
    return all;
  }
  std::uint32_t reduced = 0;
  for (const std::int64_t entry : *given) {
    KERNELWIRE_ASSIGN_OR_RETURN(const int axis, ResolveAxis("axes", entry, shape.rank()));
    const std::uint32_t bit = 1u << axis;
    if ((reduced & bit) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute 'axes': expected each axis once, got axis ", axis, " twice"));
    }
    reduced |= bit;
  }
  reduced &= all;  // the only axis of rank 0 is none
  if (kind == ReduceKind::kIndex && given->size() > 1 && reduced != all) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute 'axes': expected one axis, or all of them, got ", given->size(), " of ", shape.rank()));
  }
  return reduced;
}

Shape ResultShape(const Shape& shape, std::uint32_t reduced, bool keep_axes) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = (reduced >> axis & 1u) != 0;
    if (!gone || keep_axes) {
      result.Append(gone ? 1 : shape[axis]);
    }
  }
  return result;
}

/// Fills the piece of `params` from the shape and returns the number of pieces. See reduce_params.h.
std::int64_t CutIntoPieces(const Shape& shape, std::uint32_t reduced, ReduceParams* params) {
  std::int64_t pieces = 1;
  bool leading = true;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = (reduced >> axis & 1u) != 0;
    leading = leading && (!gone || shape[axis] == 1);
    if (leading) {
      pieces *= shape[axis];
    } else if (shape[axis] != 1) {
      const bool last_gone = params->rank % 2 == 1;
      if (params->rank > 0 && gone == last_gone) {
        params->extents[params->rank - 1] *= shape[axis];
      } else {
        params->extents[params->rank++] = shape[axis];
      }
    }
  }
  if (params->rank == 0) {
    params->extents[params->rank++] = 1;
  }
  return pieces;
}

/// An empty tensor: as many results as there are, each of nothing. The extents of what is left need no product.
std::int64_t CutNothing(const Shape& result, ReduceParams* params) {
  params->rank = 1;
  params->extents[0] = 0;
  return result.ElementCount().value_or(0);
}

void FillKey(const ReduceParams& params, BatchKey* key) {
  key->Append(static_cast<std::uint64_t>(params.x_type) | static_cast<std::uint64_t>(params.accumulator) << 8 |
              static_cast<std::uint64_t>(params.y_type) << 16 | static_cast<std::uint64_t>(params.checked) << 24);
  for (int axis = 0; axis < params.rank; ++axis) {
    key->Append(static_cast<std::uint64_t>(params.extents[axis]));
  }
}

}  // namespace

absl::StatusOr<Plan> PlanReduction(ReduceKind kind, const PlanRequest& request) {
  KERNELWIRE_ASSIGN_OR_RETURN(const std::uint32_t reduced,
                              ReadAxes(kind, *request.attributes, request.inputs[0]->shape));
  return PlanReductionOver(kind, request, reduced, request.attributes->GetBool("keepdims").value_or(false));
}

absl::StatusOr<Plan> PlanReductionOver(ReduceKind kind, const PlanRequest& request, std::uint32_t reduced,
                                       bool keep_axes) {
  const TensorDesc& x = *request.inputs[0];
  const int inputs = request.inputs[1].has_value() ? 2 : 1;
  KERNELWIRE_ASSIGN_OR_RETURN(const ReduceTypes types, ReadReduceTypes(kind, x.dtype, *request.attributes));
  Plan plan;
  KERNELWIRE_ASSIGN_OR_RETURN(plan.outputs[0],
                              PlanOutput("y", {types.output, ResultShape(x.shape, reduced, keep_axes)}));
  OutputPlan& y = plan.outputs[0];
  const std::int64_t results = y.desc.shape.ElementCount().value_or(0);
  const bool compares = kind == ReduceKind::kSelect || kind == ReduceKind::kIndex;
  const bool empty = x.shape.ElementCount().value_or(0) == 0;
  if (empty && results > 0 && compares) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 'x': expected at least one element for each result, got shape ", x.shape.ToString(),
                     ", which leaves none"));
  }

  ReduceParams params{};
  params.x_type = x.dtype;
  params.accumulator = compares ? DataType::kInvalid : types.accumulator;
  params.y_type = types.output;
  plan.rows = empty ? CutNothing(y.desc.shape, &params) : CutIntoPieces(x.shape, reduced, &params);
  const ReduceLayout layout = LayOutReduction(params);
  params.checked = MayNotFit(kind, x.dtype, types, layout.width, inputs);
  plan.work_bytes = inputs * static_cast<std::int64_t>(*x.ByteSize()) + static_cast<std::int64_t>(y.bytes);
  const ReduceLayout on_device = LayOutOnDevice(params);
  const std::int64_t totals = TotalsOf(on_device, PartsOf(on_device, x.dtype)).count;
  if (totals > 1) {
    plan.workspace_bytes = static_cast<std::size_t>((results * totals * kPartBytes + 255) / 256 * 256);
  }
  if (params.checked) {
    y.bytes += static_cast<std::size_t>(results);
  } else {
    const auto bytes = static_cast<std::int64_t>(SizeOf(x.dtype));
    plan.input_row_bytes[0] = layout.piece * bytes;
    plan.input_row_bytes[1] = inputs == 2 ? layout.piece * bytes : 0;
    y.row_bytes = layout.results * static_cast<std::int64_t>(SizeOf(types.output));
  }
  FillKey(params, &plan.key);
  plan.SetParams(params);
  return plan;
}

absl::Status FinishReduction(const Plan& plan, FinishedOutput* outputs) {
  const auto params = plan.Params<ReduceParams>();
  const FinishedOutput& y = outputs[0];
  if (!params.checked || y.data == nullptr) {
    return absl::OkStatus();
  }
  const auto* const begin = static_cast<const std::uint8_t*>(y.data) + *y.desc.ByteSize();
  const std::uint8_t* const end = begin + *y.desc.shape.ElementCount();
  const std::uint8_t* const found = std::find_if(begin, end, [](std::uint8_t misfit) { return misfit != kFits; });
  if (found == end) {
    return absl::OkStatus();
  }
  const std::string place = absl::StrCat("output 'y': element ", found - begin, " does not fit ");
  if ((*found & kMissesAccumulator) != 0) {
    return absl::OutOfRangeError(
        absl::StrCat(place, "the accumulator ", NameOf(params.accumulator),
                     params.accumulator == DataType::kInt32 ? "; ask for accumulator INT64" : ", the widest there is"));
  }
  return absl::OutOfRangeError(absl::StrCat(place, "its type ", NameOf(params.y_type), "; ask for output_type INT64"));
}

}  // namespace kernelwire
