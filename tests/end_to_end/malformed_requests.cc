#include "tests/end_to_end/malformed_requests.h"

#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "tests/end_to_end/wire_case.h"

namespace kernelwire::testing {
namespace {

using inference::ModelInferRequest;
constexpr auto kNotFound = grpc::StatusCode::NOT_FOUND;
constexpr auto kUnimplemented = grpc::StatusCode::UNIMPLEMENTED;
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

/// Collects changed copies of one good request.
class Changes {
 public:
  Changes(std::string prefix, ModelInferRequest good, std::vector<MalformedRequest>* all)
      : prefix_(std::move(prefix)), good_(std::move(good)), all_(all) {}

  void Add(const std::string& name, const std::string& mentions, const std::function<void(ModelInferRequest&)>& change,
           grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    MalformedRequest made;
    made.name = absl::StrCat(prefix_, "_", name);
    made.request = good_;
    change(made.request);
    made.code = code;
    made.mentions = mentions;
    all_->push_back(std::move(made));
  }
  void AddParameter(const std::string& name, const std::string& key,
                    const std::function<void(inference::InferParameter&)>& set) {
    Add(absl::StrCat("parameter_", key, "_", name), key,
        [&](ModelInferRequest& request) { set((*request.mutable_parameters())[key]); });
  }
  const ModelInferRequest& good() const { return good_; }

 private:
  const std::string prefix_;
  const ModelInferRequest good_;
  std::vector<MalformedRequest>* const all_;
};

void Models(Changes& changes) {
  const auto name = [&](const std::string& what, const std::string& model) {
    changes.Add(
        what, "model", [&](ModelInferRequest& request) { request.set_model_name(model); }, kNotFound);
  };
  name("model_empty", "");
  name("model_unknown", "no_such_model");
  name("model_upper_case", "SOFTMAX");
  name("model_huge", std::string(300'000, 'm'));
  name("model_control", "\x01\n\r\t");
  name("model_with_nul", std::string("soft\0max", 8));
  for (const char* version : {"2", "0", "-1", "one", "1.0", " 1"}) {
    changes.Add(
        absl::StrCat("version_", version), "version",
        [&](ModelInferRequest& request) { request.set_model_version(version); }, kNotFound);
  }
}

void Inputs(Changes& changes) {
  const std::string first = changes.good().inputs(0).name();
  changes.Add("no_inputs", first, [](ModelInferRequest& request) {
    request.clear_inputs();
    request.clear_raw_input_contents();
  });
  for (int i = 0; i < changes.good().inputs_size(); ++i) {
    const std::string name = changes.good().inputs(i).name();
    changes.Add(absl::StrCat("rename_", name), "input",
                [i](ModelInferRequest& request) { request.mutable_inputs(i)->set_name("stranger"); });
    changes.Add(absl::StrCat("empty_name_", name), "input",
                [i](ModelInferRequest& request) { request.mutable_inputs(i)->clear_name(); });
    for (const char* type : {"", "fp32", "FP99", "BYTES", "BOOL", "UINT16", "TYPE_FP32", "FP32 "}) {
      changes.Add(absl::StrCat("type_", type, "_of_", name), name,
                  [&](ModelInferRequest& request) { request.mutable_inputs(i)->set_datatype(type); });
    }
    changes.Add(absl::StrCat("negative_extent_of_", name), name,
                [i](ModelInferRequest& request) { request.mutable_inputs(i)->add_shape(-1); });
    changes.Add(absl::StrCat("most_negative_extent_of_", name), name, [i](ModelInferRequest& request) {
      request.mutable_inputs(i)->add_shape(std::numeric_limits<std::int64_t>::min());
    });
    changes.Add(absl::StrCat("overflowing_shape_of_", name), name, [i](ModelInferRequest& request) {
      request.mutable_inputs(i)->add_shape(kHuge);
      request.mutable_inputs(i)->add_shape(kHuge);
    });
    changes.Add(absl::StrCat("overflowing_bytes_of_", name), name, [i](ModelInferRequest& request) {
      request.mutable_inputs(i)->clear_shape();
      request.mutable_inputs(i)->add_shape(kHuge);
    });
    changes.Add(absl::StrCat("rank_of_", name), name, [i](ModelInferRequest& request) {
      for (int k = 0; k < 1000; ++k) {
        request.mutable_inputs(i)->add_shape(1);
      }
    });
    changes.Add(absl::StrCat("one_more_row_of_", name), name, [i](ModelInferRequest& request) {
      request.mutable_inputs(i)->set_shape(0, request.inputs(i).shape(0) + 1);
    });
    changes.Add(absl::StrCat("byte_too_many_of_", name), name,
                [i](ModelInferRequest& request) { request.mutable_raw_input_contents(i)->push_back('x'); });
    changes.Add(absl::StrCat("byte_too_few_of_", name), name,
                [i](ModelInferRequest& request) { request.mutable_raw_input_contents(i)->pop_back(); });
    changes.Add(absl::StrCat("no_bytes_of_", name), name,
                [i](ModelInferRequest& request) { request.mutable_raw_input_contents(i)->clear(); });
    changes.Add(absl::StrCat("unknown_parameter_of_", name), "stranger", [i](ModelInferRequest& request) {
      (*request.mutable_inputs(i)->mutable_parameters())["stranger"].set_int64_param(1);
    });
    changes.Add(
        absl::StrCat("shared_memory_of_", name), "shared memory",
        [i](ModelInferRequest& request) {
          (*request.mutable_inputs(i)->mutable_parameters())["shared_memory_region"].set_string_param("r");
        },
        kUnimplemented);
    changes.Add(absl::StrCat("duplicate_", name), name, [i](ModelInferRequest& request) {
      *request.add_inputs() = request.inputs(i);
      request.add_raw_input_contents(request.raw_input_contents(i));
    });
  }
}

void Contents(Changes& changes) {
  const std::string first = changes.good().inputs(0).name();
  changes.Add("raw_missing", "raw_input_contents",
              [](ModelInferRequest& request) { request.mutable_raw_input_contents()->RemoveLast(); });
  changes.Add("raw_too_many", "raw_input_contents",
              [](ModelInferRequest& request) { request.add_raw_input_contents("1234"); });
  changes.Add("raw_far_too_many", "raw_input_contents", [](ModelInferRequest& request) {
    for (int i = 0; i < 100'000; ++i) {
      request.add_raw_input_contents("");
    }
  });
  const auto typed = [&](const std::string& name, const std::function<void(inference::InferTensorContents&)>& fill) {
    changes.Add(absl::StrCat("typed_", name), first, [&](ModelInferRequest& request) {
      request.mutable_raw_input_contents()->DeleteSubrange(0, 1);
      fill(*request.mutable_inputs(0)->mutable_contents());
    });
  };
  typed("nothing", [](auto&) {});
  typed("too_few", [](auto& contents) { contents.add_fp32_contents(1); });
  typed("wrong_field", [](auto& contents) { contents.add_int64_contents(1); });
  typed("bytes_field", [](auto& contents) { contents.add_bytes_contents("abc"); });
  typed("two_fields", [](auto& contents) {
    contents.add_fp32_contents(1);
    contents.add_fp64_contents(1);
  });
  changes.Add("fp16_cannot_be_typed", first, [](ModelInferRequest& request) {
    request.mutable_raw_input_contents()->DeleteSubrange(0, 1);
    request.mutable_inputs(0)->set_datatype("FP16");
    request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  });
}

void Outputs(Changes& changes) {
  const std::string first = FindOperator(changes.good().model_name())->spec.outputs[0].name;
  changes.Add("unknown_output", "stranger",
              [](ModelInferRequest& request) { request.add_outputs()->set_name("stranger"); });
  changes.Add("nameless_output", "output", [](ModelInferRequest& request) { request.add_outputs(); });
  changes.Add("output_twice", first, [&](ModelInferRequest& request) {
    request.add_outputs()->set_name(first);
    request.add_outputs()->set_name(first);
  });
  changes.Add("very_many_outputs", "output", [&](ModelInferRequest& request) {
    for (int i = 0; i < 100'000; ++i) {
      request.add_outputs()->set_name(first);
    }
  });
  changes.Add("classification", "classification", [&](ModelInferRequest& request) {
    auto* output = request.add_outputs();
    output->set_name(first);
    (*output->mutable_parameters())["classification"].set_int64_param(3);
  });
  changes.Add(
      "output_in_shared_memory", "shared memory",
      [&](ModelInferRequest& request) {
        auto* output = request.add_outputs();
        output->set_name(first);
        (*output->mutable_parameters())["shared_memory_region"].set_string_param("r");
      },
      kUnimplemented);
}

void Parameters(Changes& changes) {
  changes.AddParameter("unknown", "strange_parameter", [](auto& p) { p.set_int64_param(1); });
  changes.AddParameter("without_value", "priority", [](auto&) {});
  changes.AddParameter("negative", "priority", [](auto& p) { p.set_int64_param(-1); });
  changes.AddParameter("text", "priority", [](auto& p) { p.set_string_param("high"); });
  changes.AddParameter("negative", "timeout", [](auto& p) { p.set_int64_param(-5); });
  changes.AddParameter("real", "timeout", [](auto& p) { p.set_double_param(0.5); });
  for (const AttributeSpec& attribute : FindOperator(changes.good().model_name())->spec.attributes) {
    const std::string& key = attribute.name;
    changes.AddParameter("without_value", key, [](auto&) {});
    if (attribute.kind != AttributeKind::kBool) {
      changes.AddParameter("bool", key, [](auto& p) { p.set_bool_param(true); });
    }
    changes.AddParameter("nan", key, [](auto& p) { p.set_double_param(std::numeric_limits<double>::quiet_NaN()); });
    changes.AddParameter("infinite", key,
                         [](auto& p) { p.set_double_param(-std::numeric_limits<double>::infinity()); });
    changes.AddParameter("nonsense", key, [](auto& p) { p.set_string_param("no such thing"); });
    changes.AddParameter("huge_text", key, [](auto& p) { p.set_string_param(std::string(100'000, '7')); });
    changes.AddParameter("uint64", key, [](auto& p) { p.set_uint64_param(1); });
    if (attribute.kind == AttributeKind::kInt) {
      changes.AddParameter("out_of_range", key,
                           [](auto& p) { p.set_int64_param(std::numeric_limits<std::int64_t>::min()); });
    }
  }
}

}  // namespace

std::vector<MalformedRequest> MalformedRequests() {
  std::vector<MalformedRequest> all;
  for (const OperatorCases& cases : AllOperatorCases()) {
    const Operator* op = FindOperator(cases.name);
    for (const OperatorCase& one : cases.cases) {
      const bool plain = !one.inputs.empty() && one.inputs[0].desc.dtype == DataType::kFp32 &&
                         one.inputs[0].desc.shape.rank() > 0 &&
                         one.inputs[0].desc.shape.ElementCount().value_or(0) > 4 && one.attributes.empty();
      if (!plain) {
        continue;
      }
      Changes changes(cases.name, ToWire(op->spec, one, Form::kRaw), &all);
      Models(changes);
      Inputs(changes);
      Contents(changes);
      Outputs(changes);
      Parameters(changes);
      break;
    }
  }
  return all;
}

}  // namespace kernelwire::testing
