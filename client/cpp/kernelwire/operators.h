// Typed calls for the operators, one function each. Options left out keep the server's defaults; what each one means
// stands in the operator's README and in `kernelwire describe OPERATOR`. Every operator, also one that has no function
// here, can be called by Client::Infer.
//
// Thread-safe. Errors: those of Client::Infer.
#ifndef KERNELWIRE_CLIENT_OPERATORS_H_
#define KERNELWIRE_CLIENT_OPERATORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

struct RmsNormOptions {
  std::optional<std::int64_t> axis;     // normalise from this axis on; -1
  std::optional<double> epsilon;        // >= 0; 1e-5
  std::optional<DataType> output_type;  // a float type; the input's
};

/// y = x / sqrt(mean(x^2) + epsilon) * weight, of x's shape. `x`: FP16, BF16, FP32, FP64. `weight`: absent, of one
/// element, or of the normalised shape, of any of these types.
Result<OutputTensor> RmsNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                             const RmsNormOptions& options, Timeout timeout);

enum class SoftmaxAlgorithm { kAuto, kSafe, kOnline };

struct SoftmaxOptions {
  std::optional<std::int64_t> axis;  // -1
  bool all_axes = false;             // over the whole tensor; then `axis` is ignored
  std::optional<SoftmaxAlgorithm> algorithm;
  std::optional<DataType> output_type;  // a float type; the input's
};

/// y = exp(x - max) / sum(exp(x - max)), of x's shape. `x`: FP16, BF16, FP32, FP64.
Result<OutputTensor> Softmax(const Client& client, const TensorView& x, const SoftmaxOptions& options, Timeout timeout);

enum class BoxCoding { kXyxy, kYxyx, kXywh, kCxcywh };
enum class SoftNms { kNone, kLinear, kGaussian };
enum class AngleUnit { kDegrees, kRadians };

struct NmsOptions {
  std::optional<double> iou_threshold;    // a box goes when its IoU with a kept one is greater; 0.5
  std::optional<double> score_threshold;  // only greater scores take part; none
  std::optional<std::int64_t> top_k;      // candidates by score; no limit
  std::optional<std::int64_t> max_output;
  std::optional<std::int64_t> max_per_class;
  std::optional<BoxCoding> box_coding;  // corners x1 y1 x2 y2
  std::optional<SoftNms> soft_nms;
  std::optional<double> sigma;  // of the gaussian; 0.5
  bool rotated = false;         // boxes are [.., n, 5]: cx, cy, w, h, angle
  std::optional<AngleUnit> angle_unit;
};

struct NmsInputs {
  TensorView boxes;                   // [n, 4] or [images, n, 4] (5 instead of 4 when rotated): FP16, BF16, FP32
  TensorView scores;                  // [n] or [images, n]: the same type
  std::optional<TensorView> classes;  // [n] or [images, n]: INT32 or INT64; boxes of different classes never meet
  std::optional<TensorView> counts;   // [images], INT32: how many boxes of each image are real
};

/// What is left of one image, in the order of falling scores; both vectors have one entry a kept box.
struct NmsKept {
  std::vector<std::int64_t> indices;  // into the image's boxes
  std::vector<float> scores;          // with soft-NMS, the decayed ones
};

/// One entry an image; one entry where the boxes have no image dimension.
Result<std::vector<NmsKept>> Nms(const Client& client, const NmsInputs& inputs, const NmsOptions& options,
                                 Timeout timeout);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_OPERATORS_H_
