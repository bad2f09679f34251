// What nms says of itself: its spec, and a small request with its right answer.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_DESCRIPTION_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_DESCRIPTION_H_

#include "kernels/core/operator.h"
#include "kernels/primitives/known_answer.h"

namespace kernelwire::nms {

inline OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "nms";
  spec.summary = "Exact greedy non-maximum suppression, by class and by image.";
  spec.formula = "in score order, keep a box unless IoU(box, a kept box of its class) > iou_threshold";
  const DataTypeSet class_types(DataType::kInt32, DataType::kInt64);
  const DataTypeSet counts_type(DataType::kInt32);
  const DataTypeSet indices_type(DataType::kInt64);
  const DataTypeSet scores_type(DataType::kFp32);
  spec.inputs = {
      {"boxes",
       kFloats16And32,
       DataType::kFp32,
       {-1},
       false,
       "[n,4] or [images,n,4], read as box_coding says; rotated: 5 instead of 4."},
      {"scores",
       kFloats16And32,
       DataType::kFp32,
       {-1},
       false,
       "[n] or [images,n]; of another type than boxes if wished."},
      {"classes",
       class_types,
       DataType::kInt32,
       {-1},
       true,
       "Shape of scores, within -2^31 to 2^31-1; absent: one class."},
      {"counts",
       counts_type,
       DataType::kInt32,
       {-1},
       true,
       "[images]: how many boxes of each image are real; absent: all."},
  };
  spec.outputs = {
      {"indices",
       indices_type,
       DataType::kInt64,
       {-1},
       false,
       "Kept boxes in score order: [kept], or [images,most kept] padded with -1."},
      {"count", counts_type, DataType::kInt32, {-1}, false, "How many boxes were kept: [1], or [images]."},
      {"scores",
       scores_type,
       DataType::kFp32,
       {-1},
       false,
       "Scores of the kept boxes: shape of indices, padded with 0."},
  };
  AttributeSpec iou{"iou_threshold", AttributeKind::kDouble, "A box goes if its IoU with a kept one is greater.",
                    "0.5"};
  iou.min = 0.0;
  iou.max = 1.0;
  AttributeSpec score{"score_threshold", AttributeKind::kDouble, "Only boxes of a greater score take part.", "none"};
  AttributeSpec top_k{"top_k", AttributeKind::kInt, "Candidates of an image, by score, before suppression.", "none"};
  AttributeSpec most{"max_output", AttributeKind::kInt, "Kept boxes of an image, by score.", "none"};
  AttributeSpec per_class{"max_per_class", AttributeKind::kInt, "Kept boxes of a class in an image, by score.", "none"};
  top_k.min = most.min = per_class.min = 1;
  AttributeSpec coding{"box_coding", AttributeKind::kEnum, "What the four numbers of a box are.", "xyxy"};
  coding.choices = {"xyxy", "yxyx", "xywh", "cxcywh"};
  AttributeSpec soft{"soft_nms", AttributeKind::kEnum, "Lowers the scores of overlapping boxes instead.", "none"};
  soft.choices = {"none", "linear", "gaussian"};
  AttributeSpec sigma{"sigma", AttributeKind::kDouble, "Width of the gaussian of soft_nms.", "0.5"};
  sigma.min = 0.0;
  sigma.min_exclusive = true;
  AttributeSpec rotated{"rotated", AttributeKind::kBool, "Boxes are centre x y, width, height and angle.", "false"};
  AttributeSpec unit{"angle_unit", AttributeKind::kEnum, "Of rotated boxes.", "degrees"};
  unit.choices = {"degrees", "radians"};
  spec.attributes = {iou, score, top_k, most, per_class, coding, soft, sigma, rotated, unit};
  spec.promises = {
      "Equals the sequential greedy algorithm index for index, on every device and in every batch.",
      "Boxes of equal score are taken in the order of their indices.",
      "IoU is computed in FP32 with every operation rounded by itself, and compared as strictly greater.",
  };
  return spec;
}

/// Five boxes: the second overlaps the first by 81/119 and goes; the third does as well but is of another class; the
/// fourth shares half of its area with the first (IoU 1/3); the fifth is below the score threshold.
inline KnownAnswer MakeKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {
      Fp32Tensor({5, 4}, {0, 0, 10, 10, 1, 1, 11, 11, 1, 1, 11, 11, 5, 0, 15, 10, 40, 40, 50, 50}),
      Fp32Tensor({5}, {0.75f, 0.5f, 0.875f, 0.625f, 0.125f}),
      Int32Tensor({5}, {3, 3, -1, 3, 3}),
      KnownAnswer::Tensor{},
  };
  answer.attributes = {{"iou_threshold", 0.5}, {"score_threshold", 0.25}};
  answer.outputs = {
      Int64Tensor({3}, {2, 0, 3}),
      Int32Tensor({1}, {3}),
      Fp32Tensor({3}, {0.875f, 0.75f, 0.625f}),
  };
  return answer;
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_DESCRIPTION_H_
