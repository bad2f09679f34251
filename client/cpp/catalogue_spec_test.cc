// The typed calls beside the specs of the operators: they can say everything that a spec has, in its words.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/recording_server.h"
#include "client/cpp/test_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/registry.h"
#include "kernelwire/operators.h"

namespace kernelwire::client {
namespace {

using ::testing::IsSubsetOf;
using ::testing::UnorderedElementsAreArray;

const std::vector<float> kOne = {1};
const TensorView kTensor = View(kOne, {1});

// An operator's function with every option and every input given. What it makes of the reply is of no concern here.
struct FullCall {
  const char* model;
  std::function<void(const Client&)> make;
};

NormOptions FullNormOptions() {
  NormOptions options;
  options.axis = -1;
  options.epsilon = 1e-6;
  options.output_type = DataType::kFp32;
  return options;
}

SoftmaxOptions FullSoftmaxOptions() {
  SoftmaxOptions options;
  options.axis = -1;
  options.algorithm = SoftmaxAlgorithm::kSafe;
  options.output_type = DataType::kFp32;
  return options;
}

ReductionOptions FullReductionOptions(DataType type) {
  ReductionOptions options;
  options.axes = {0, -1};
  options.keepdims = true;
  options.accumulator = type;
  options.output_type = type;
  return options;
}

NmsOptions FullNmsOptions() {
  NmsOptions options;
  options.iou_threshold = 0.7;
  options.score_threshold = 0.1;
  options.top_k = 10;
  options.max_output = 5;
  options.max_per_class = 2;
  options.box_coding = BoxCoding::kXywh;
  options.soft_nms = SoftNms::kLinear;
  options.sigma = 0.25;
  options.rotated = true;
  options.angle_unit = AngleUnit::kRadians;
  return options;
}

DetectionOptions FullDetectionOptions() {
  DetectionOptions options;
  options.layout = DetectionLayout::kYolov8;
  options.box_coding = BoxCoding::kXyxy;
  options.anchor_scales = {10, 10, 5, 5};
  options.score_activation = ScoreActivation::kSoftmax;
  options.class_agnostic = true;
  options.multi_label = true;
  options.classes = {0, 2};
  options.background_class = 1;
  options.score_threshold = 0.1;
  options.iou_threshold = 0.7;
  options.top_k = 10;
  options.max_per_class = 2;
  options.max_output = 5;
  options.letterbox = Letterbox{0.5, 0, 80.25};
  options.clip = ClipWindow{0, 0, 1280, 720.5};
  return options;
}

template <typename Function>
FullCall Norm(const char* model, Function function) {
  return {model, [function](const Client& client) { (void)function(client, FullNormOptions()); }};
}

template <typename Function>
FullCall Reduction(const char* model, Function function, DataType type = DataType::kFp64) {
  return {model, [function, type](const Client& client) {
            (void)function(client, kTensor, FullReductionOptions(type), kLong);
          }};
}

std::vector<FullCall> FullCalls() {
  const DetectionInputs all = {kTensor, kTensor, kTensor, kTensor, kTensor};
  return {
      Norm("rms_norm",
           [](const Client& client, auto options) { return RmsNorm(client, kTensor, kTensor, options, kLong); }),
      Norm("layer_norm",
           [](const Client& client, auto options) {
             return LayerNormWithStatistics(client, kTensor, kTensor, kTensor, options, kLong);
           }),
      Norm("layer_norm", [](const Client& client,
                            auto options) { return LayerNorm(client, kTensor, kTensor, kTensor, options, kLong); }),
      Norm("add_rms_norm", [](const Client& client,
                              auto options) { return AddRmsNorm(client, kTensor, kTensor, kTensor, options, kLong); }),
      {"softmax", [](const Client& client) { (void)Softmax(client, kTensor, FullSoftmaxOptions(), kLong); }},
      {"log_softmax", [](const Client& client) { (void)LogSoftmax(client, kTensor, FullSoftmaxOptions(), kLong); }},
      Reduction("sum", Sum),
      Reduction("prod", Prod),
      Reduction("mean", Mean),
      Reduction("logsumexp", Logsumexp),
      Reduction("l2_norm", L2Norm),
      Reduction("max", Max),
      Reduction("min", Min),
      Reduction("argmax", Argmax, DataType::kInt64),
      Reduction("argmin", Argmin, DataType::kInt64),
      {"dot",
       [](const Client& client) {
         (void)Dot(client, kTensor, kTensor, {DataType::kFp64, DataType::kFp64}, kLong);
       }},
      {"nms",
       [](const Client& client) {
         (void)Nms(client, {kTensor, kTensor, kTensor, kTensor}, FullNmsOptions(), kLong);
       }},
      {"detection_postprocess",
       [all](const Client& client) { (void)DetectionPostprocess(client, all, FullDetectionOptions(), kLong); }},
  };
}

std::vector<std::pair<std::string, AttributeValue>> AttributesOf(const inference::ModelInferRequest& request) {
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  for (const auto& [name, value] : request.parameters()) {
    switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        attributes.emplace_back(name, value.bool_param());
        break;
      case inference::InferParameter::kInt64Param:
        attributes.emplace_back(name, std::int64_t{value.int64_param()});
        break;
      case inference::InferParameter::kDoubleParam:
        attributes.emplace_back(name, value.double_param());
        break;
      default:
        attributes.emplace_back(name, value.string_param());
    }
  }
  return attributes;
}

template <typename Spec>
std::vector<std::string> NamesIn(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  std::transform(specs.begin(), specs.end(), std::back_inserter(names), [](const Spec& spec) { return spec.name; });
  return names;
}

TEST(TypedCalls, SayEverythingThatTheSpecHas) {
  RecordingServer fake;
  for (const FullCall& call : FullCalls()) {
    fake.request.Clear();
    call.make(fake.client);
    EXPECT_EQ(fake.request.model_name(), call.model);
    const Operator* const op = FindOperator(call.model);
    ASSERT_NE(op, nullptr) << call.model;
    EXPECT_THAT(fake.InputNames(), UnorderedElementsAreArray(NamesIn(op->spec.inputs))) << call.model;
    EXPECT_THAT(fake.OutputNames(), IsSubsetOf(NamesIn(op->spec.outputs))) << call.model;
    const auto attributes = AttributesOf(fake.request);
    std::vector<std::string> names;
    for (const auto& attribute : attributes) {
      names.push_back(attribute.first);
    }
    EXPECT_THAT(names, UnorderedElementsAreArray(NamesIn(op->spec.attributes))) << call.model;
    const auto parsed = Attributes::Parse(op->spec.attributes, attributes);
    EXPECT_TRUE(parsed.ok()) << call.model << ": " << parsed.status();
  }
}

// What `call` sends for the attribute, one value of the enumeration after the other, is what the spec lists.
template <typename Enum, typename Call>
void ExpectChoices(const char* model, const char* attribute, const std::vector<Enum>& values, const Call& call) {
  RecordingServer fake;
  std::vector<std::string> sent;
  for (const Enum value : values) {
    call(fake.client, value);
    sent.push_back(fake.Text(attribute));
  }
  const std::vector<AttributeSpec>& specs = FindOperator(model)->spec.attributes;
  const auto spec =
      std::find_if(specs.begin(), specs.end(), [attribute](const AttributeSpec& one) { return one.name == attribute; });
  ASSERT_NE(spec, specs.end()) << attribute;
  EXPECT_EQ(sent, spec->choices) << attribute;
}

TEST(TypedCalls, NameEveryChoice) {
  ExpectChoices<SoftmaxAlgorithm>("softmax", "algorithm",
                                  {SoftmaxAlgorithm::kAuto, SoftmaxAlgorithm::kSafe, SoftmaxAlgorithm::kOnline},
                                  [](const Client& client, SoftmaxAlgorithm algorithm) {
                                    SoftmaxOptions options;
                                    options.algorithm = algorithm;
                                    (void)Softmax(client, kTensor, options, kLong);
                                  });
  const auto nms = [](auto NmsOptions::*option) {
    return [option](const Client& client, auto value) {
      NmsOptions options;
      options.*option = value;
      (void)Nms(client, {kTensor, kTensor, {}, {}}, options, kLong);
    };
  };
  const std::vector<BoxCoding> codings = {BoxCoding::kXyxy, BoxCoding::kYxyx, BoxCoding::kXywh, BoxCoding::kCxcywh};
  ExpectChoices("nms", "box_coding", codings, nms(&NmsOptions::box_coding));
  ExpectChoices<SoftNms>("nms", "soft_nms", {SoftNms::kNone, SoftNms::kLinear, SoftNms::kGaussian},
                         nms(&NmsOptions::soft_nms));
  ExpectChoices<AngleUnit>("nms", "angle_unit", {AngleUnit::kDegrees, AngleUnit::kRadians},
                           nms(&NmsOptions::angle_unit));
  const auto detection = [](auto DetectionOptions::*option) {
    return [option](const Client& client, auto value) {
      DetectionOptions options;
      options.*option = value;
      (void)DetectionPostprocess(client, {}, options, kLong);
    };
  };
  ExpectChoices("detection_postprocess", "box_coding", codings, detection(&DetectionOptions::box_coding));
  ExpectChoices<DetectionLayout>("detection_postprocess", "layout",
                                 {DetectionLayout::kYolov5, DetectionLayout::kYolov8},
                                 detection(&DetectionOptions::layout));
  ExpectChoices<ScoreActivation>("detection_postprocess", "score_activation",
                                 {ScoreActivation::kNone, ScoreActivation::kSigmoid, ScoreActivation::kSoftmax},
                                 detection(&DetectionOptions::score_activation));
}

}  // namespace
}  // namespace kernelwire::client
