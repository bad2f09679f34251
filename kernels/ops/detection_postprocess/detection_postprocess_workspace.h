// Scratch on the device of one image of detection_postprocess: that of ranking and suppression, and behind it the class
// of each candidate box (unless a candidate's number tells its class) and, with a limit by class, a counter a class.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_WORKSPACE_H_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_WORKSPACE_H_

#include <cstdint>

#include "kernels/ops/detection_postprocess/detection_postprocess.h"
#include "kernels/primitives/box_workspace.h"

namespace kernelwire::detection {

/// Boxes, or boxes times classes: what may become a candidate.
KERNELWIRE_HOST_DEVICE inline std::int64_t SlotsOfImage(std::int64_t boxes, const Params& params) {
  return params.multi_label ? boxes * params.classes : boxes;
}

KERNELWIRE_HOST_DEVICE inline bool CountsByClass(const Params& params) { return params.max_per_class != kNoLimit; }

struct WorkspaceParts {
  std::int64_t classes_at;  // one std::int32_t a box, or none
  std::int64_t counters_at;
  std::int64_t end;
};

KERNELWIRE_HOST_DEVICE inline WorkspaceParts PartsOf(std::int64_t slots, const Params& params) {
  constexpr std::int64_t kNumber = sizeof(std::int32_t);
  WorkspaceParts parts{};
  parts.classes_at = box::Workspace::Bytes(slots, sizeof(box::Corners));
  parts.counters_at = parts.classes_at + (params.multi_label ? 0 : slots * kNumber);
  parts.end = (parts.counters_at + (CountsByClass(params) ? params.classes * kNumber : 0) + 255) / 256 * 256;
  return parts;
}

inline std::int64_t WorkspaceBytesOfImage(std::int64_t slots, const Params& params) {
  return PartsOf(slots, params).end;
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_WORKSPACE_H_
