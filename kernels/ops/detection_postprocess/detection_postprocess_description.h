// What detection_postprocess says of itself: its spec, and a small request with its right answer.
#ifndef KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_DESCRIPTION_H_
#define KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_DESCRIPTION_H_

#include <string>
#include <vector>

#include "kernels/core/operator.h"
#include "kernels/primitives/known_answer.h"

namespace kernelwire::detection {

inline void AddInputs(OperatorSpec* spec) {
  const DataTypeSet counts_type(DataType::kInt32);
  const auto add = [spec](const char* name, DataTypeSet types, DataType listed, const char* doc) {
    spec->inputs.push_back({name, types, listed, {-1}, true, doc});
  };
  add("predictions", kFloats16And32, DataType::kFp32,
      "What a detector puts out, read as layout says: [4+classes,n] or [n,5+classes], perhaps behind [images].");
  add("boxes", kFloats16And32, DataType::kFp32,
      "Instead of predictions: [n,4] or [n,classes,4], perhaps behind [images].");
  add("scores", kFloats16And32, DataType::kFp32, "Beside boxes: [n,classes], perhaps behind [images].");
  add("anchors", kFloats16And32, DataType::kFp32,
      "[n,4], centre and size, of all images: the boxes are deltas to them.");
  add("counts", counts_type, DataType::kInt32, "[images]: how many boxes of each image are real; absent: all.");
}

inline void AddOutputs(OperatorSpec* spec) {
  const DataTypeSet int32(DataType::kInt32);
  const DataTypeSet int64(DataType::kInt64);
  const DataTypeSet fp32(DataType::kFp32);
  const auto add = [spec](const char* name, DataTypeSet types, DataType listed, const char* doc) {
    spec->outputs.push_back({name, types, listed, {-1}, false, doc});
  };
  add("num_detections", int32, DataType::kInt32, "How many boxes were kept: [1], or [images,1].");
  add("boxes", fp32, DataType::kFp32, "Corners x1 y1 x2 y2 in the image, best first: [max_output,4], padded with 0.");
  add("scores", fp32, DataType::kFp32, "Their scores: [max_output], padded with 0.");
  add("classes", int32, DataType::kInt32, "Their classes: [max_output], padded with -1.");
  add("indices", int64, DataType::kInt64, "Which of the n boxes each one was: [max_output], padded with -1.");
}

inline AttributeSpec Attribute(const char* name, AttributeKind kind, const char* doc, const char* default_text) {
  AttributeSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.doc = doc;
  spec.default_text = default_text;
  return spec;
}

inline AttributeSpec Choice(const char* name, std::vector<std::string> choices, const char* doc,
                            const char* default_text) {
  AttributeSpec spec = Attribute(name, AttributeKind::kEnum, doc, default_text);
  spec.choices = std::move(choices);
  return spec;
}

inline AttributeSpec AtLeast(double least, AttributeSpec spec) {
  spec.min = least;
  return spec;
}

inline AttributeSpec Numbers(int length, AttributeSpec spec) {
  spec.length = length;
  return spec;
}

inline void AddAttributes(OperatorSpec* spec) {
  using Kind = AttributeKind;
  AttributeSpec iou =
      AtLeast(0, Attribute("iou_threshold", Kind::kDouble, "A box goes if its IoU with a kept one is greater.", "0.5"));
  iou.max = 1.0;
  AttributeSpec most =
      AtLeast(1, Attribute("max_output", Kind::kInt, "Boxes put out of an image: the rows of the outputs.", "300"));
  most.max = 1 << 30;
  AttributeSpec scales = AtLeast(0, Numbers(4, Attribute("anchor_scales", Kind::kDoubleList,
                                                         "Deltas are divided by these, beside anchors.", "1,1,1,1")));
  scales.min_exclusive = true;
  spec->attributes = {
      Choice("layout", {"yolov5", "yolov8"}, "How predictions lie: [n,5+classes] with objectness, or [4+classes,n].",
             "required with predictions"),
      Choice("box_coding", {"xyxy", "yxyx", "xywh", "cxcywh"}, "What the four numbers of a box are.",
             "xyxy, of predictions cxcywh"),
      scales,
      Choice("score_activation", {"none", "sigmoid", "softmax"}, "What makes scores of the numbers that came.", "none"),
      Attribute("class_agnostic", Kind::kBool, "Boxes of all classes suppress each other.", "false"),
      Attribute("multi_label", Kind::kBool,
                "A box counts for every class above the threshold, not for its best one alone.", "false"),
      AtLeast(0, Attribute("classes", Kind::kIntList, "Only these classes count.", "all")),
      AtLeast(0, Attribute("background_class", Kind::kInt, "A class that does not count.", "none")),
      Attribute("score_threshold", Kind::kDouble, "Only greater scores take part.", "0.25"),
      iou,
      AtLeast(1, Attribute("top_k", Kind::kInt, "Candidates of an image, by score, before suppression.", "none")),
      AtLeast(1, Attribute("max_per_class", Kind::kInt, "Kept boxes of a class in an image, by score.", "none")),
      most,
      Numbers(3, Attribute("letterbox", Kind::kDoubleList,
                           "scale,pad_x,pad_y: boxes are mapped back to the image, (x - pad) / scale.", "1,0,0")),
      Numbers(4, Attribute("clip", Kind::kDoubleList, "x1,y1,x2,y2: the window that boxes in the image are cut to.",
                           "none")),
  };
}

inline OperatorSpec MakeSpec() {
  OperatorSpec spec;
  spec.name = "detection_postprocess";
  spec.summary = "From what a detector puts out to final boxes: decoding, thresholds, exact greedy suppression.";
  spec.formula = "in score order, keep a candidate unless IoU(box, a kept box of its class) > iou_threshold";
  AddInputs(&spec);
  AddOutputs(&spec);
  AddAttributes(&spec);
  spec.promises = {
      "Equals the sequential greedy algorithm index for index, on every device and in every batch.",
      "Boxes come by score, then by index, then by class; a box's best class is the lowest of the best.",
      "Every candidate above the threshold takes part: there is no cap.",
      "Scores, decoding and IoU are FP32 with every operation rounded by itself, exponentials too: the same bits on "
      "host and GPU.",
  };
  return spec;
}

/// Four boxes of two classes in planes: the second overlaps the first by 81/119 and goes; the third does too but is of
/// the other class; the fourth is below the threshold.
inline KnownAnswer MakeKnownAnswer() {
  KnownAnswer answer;
  answer.inputs = {
      Fp32Tensor({6, 4}, {5,     6,    6,      45,      5,     6,    6,      45,
                          10,    10,   10,     10,      10,    10,   10,     10,  // centres and sizes
                          0.75f, 0.5f, 0.125f, 0.0625f, 0.25f, 0.0f, 0.875f, 0.125f}),
      {},
      {},
      {},
      {},
  };
  answer.attributes = {
      {"layout", std::string("yolov8")}, {"max_output", std::int64_t{3}}, {"letterbox", std::string("2,0,1")}};
  answer.outputs = {
      Int32Tensor({1}, {2}),
      Fp32Tensor({3, 4}, {0.5f, 0, 5.5f, 5, 0, -0.5f, 5, 4.5f, 0, 0, 0, 0}),
      Fp32Tensor({3}, {0.875f, 0.75f, 0}),
      Int32Tensor({3}, {1, 0, -1}),
      Int64Tensor({3}, {2, 0, -1}),
  };
  return answer;
}

}  // namespace kernelwire::detection

#endif  // KERNELWIRE_KERNELS_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_DESCRIPTION_H_
