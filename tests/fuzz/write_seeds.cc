// Writes the files that the fuzzers start from: write_seeds FOLDER makes FOLDER/decode and FOLDER/plan.
//
// decode: good requests to every operator and to the probe, raw, typed and mixed, uncut and cut in small pieces, and
// two that are refused late. plan: every operator with every type at rank 2, plain and with an attribute.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/unknown_field_set.h"
#include "kernels/registry.h"
#include "server/codec/testing/request_builder.h"

namespace kernelwire::fuzz {
namespace {

using Request = inference::ModelInferRequest;
using testing::AddInput;

constexpr std::size_t kTypes = static_cast<std::size_t>(DataType::kFp8E5m2) + 1;

Request RequestTo(const std::string& model) {
  Request request;
  request.set_model_name(model);
  request.set_id("1");
  return request;
}

/// Raw, of `bytes` bytes.
void AddRaw(Request* request, const std::string& name, const std::string& datatype,
            const std::vector<std::int64_t>& shape, std::size_t bytes) {
  AddInput(request, name, datatype, shape);
  request->add_raw_input_contents(std::string(bytes, '\x3f'));
}

std::vector<Request> OperatorRequests() {
  std::vector<Request> requests;
  requests.push_back(RequestTo("rms_norm"));
  AddRaw(&requests.back(), "x", "FP16", {2, 3}, 12);
  AddRaw(&requests.back(), "weight", "FP32", {3}, 12);
  (*requests.back().mutable_parameters())["epsilon"].set_double_param(1e-6);
  requests.push_back(RequestTo("softmax"));
  AddRaw(&requests.back(), "x", "FP32", {2, 2}, 16);
  (*requests.back().mutable_parameters())["axis"].set_string_param("all");
  (*requests.back().mutable_parameters())["timeout"].set_int64_param(1000);
  requests.push_back(RequestTo("nms"));
  AddRaw(&requests.back(), "boxes", "FP32", {3, 4}, 48);
  AddRaw(&requests.back(), "scores", "FP32", {3}, 12);
  (*requests.back().mutable_parameters())["iou_threshold"].set_double_param(0.5);
  requests.back().add_outputs()->set_name("count");
  return requests;
}

std::vector<Request> ProbeRequests() {
  std::vector<Request> requests = {testing::PlainRequest()};
  const std::vector<std::pair<const char*, std::size_t>> types = {
      {"BOOL", 1}, {"INT8", 1}, {"UINT8", 1}, {"INT32", 4}, {"INT64", 8},
      {"FP16", 2}, {"BF16", 2}, {"FP32", 4},  {"FP64", 8},  {"FP8_E4M3", 1}};
  for (const auto& [name, bytes] : types) {
    requests.push_back(RequestTo("probe"));
    AddRaw(&requests.back(), "x", name, {2, 1}, 2 * bytes);
    // The same type again with two typed values; FP16 and BF16 have no list, and are refused late.
    auto* const contents = AddInput(&requests.back(), "y", name, {2})->mutable_contents();
    const std::string type = name;
    for (int i = 0; i < 2; ++i) {
      if (type == "BOOL") {
        contents->add_bool_contents(i == 1);
      } else if (type == "INT8" || type == "INT32") {
        contents->add_int_contents(-i);
      } else if (type == "INT64") {
        contents->add_int64_contents(-i);
      } else if (type == "FP32") {
        contents->add_fp32_contents(1.0f);
      } else if (type == "FP64") {
        contents->add_fp64_contents(1.0);
      } else {
        contents->add_uint_contents(200);
      }
    }
  }
  // Numbers in fields of one value, which no serializer writes of itself, after a packed one.
  for (const auto& [name, list] : {std::pair<const char*, int>{"INT8", 2}, {"UINT8", 4}}) {
    requests.push_back(RequestTo("probe"));
    AddRaw(&requests.back(), "x", name, {2, 1}, 2);
    auto* const contents = AddInput(&requests.back(), "y", name, {4})->mutable_contents();
    google::protobuf::UnknownFieldSet* const fields = contents->GetReflection()->MutableUnknownFields(contents);
    fields->AddLengthDelimited(list, std::string("\x01"));
    for (const unsigned value : {2u, 100u, 3u}) {
      fields->AddVarint(list, value);
    }
  }
  requests.push_back(RequestTo("probe"));
  AddRaw(&requests.back(), "x", "UINT8", {0, 5}, 0);
  (*requests.back().mutable_inputs(0)->mutable_parameters())["fp8"].set_string_param("e4m3");
  (*requests.back().mutable_parameters())["fp8"].set_string_param("e5m2");
  (*requests.back().mutable_parameters())["mode"].set_string_param("fast");
  (*requests.back().mutable_parameters())["priority"].set_uint64_param(1);
  requests.back().add_outputs()->set_name("wide");
  requests.back().add_outputs()->set_name("copy");
  return requests;
}

class SeedFolder {
 public:
  explicit SeedFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }
  void Write(const std::string& bytes) { std::ofstream(folder_ / std::to_string(count_++), std::ios::binary) << bytes; }

 private:
  const std::filesystem::path folder_;
  int count_ = 0;
};

void WriteDecodeSeeds(const std::filesystem::path& folder) {
  SeedFolder seeds(folder);
  std::vector<Request> requests = OperatorRequests();
  for (Request& request : ProbeRequests()) {
    requests.push_back(std::move(request));
  }
  for (const Request& request : requests) {
    const std::string bytes = request.SerializeAsString();
    seeds.Write(std::string(1, '\0') + bytes);
    seeds.Write("\x05\x01\x02\x03\x0b\x1d" + bytes);  // five cuts: after 1, 3, 6, 17 and 46 bytes
  }
}

/// As plan_fuzzer.cc reads it.
void WritePlanSeeds(const std::filesystem::path& folder) {
  SeedFolder seeds(folder);
  for (std::size_t op = 0; op < AllOperators().size() + 1; ++op) {
    const std::size_t inputs = op < AllOperators().size() ? AllOperators()[op].spec.inputs.size() : 3;
    for (std::size_t dtype = 1; dtype < kTypes; ++dtype) {
      for (const bool all_inputs : {false, true}) {
        std::string bytes(1, static_cast<char>(op));
        for (std::size_t input = 0; input < inputs; ++input) {
          const bool given = input == 0 || all_inputs;
          bytes += given ? std::string{static_cast<char>(dtype), 2, 3, 4} : std::string(1, '\0');
        }
        seeds.Write(bytes);
        seeds.Write(bytes + std::string{1, 0, 0, 1, 0});  // one attribute, the first, the integer 1
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  kernelwire::fuzz::WriteDecodeSeeds(folder / "decode");
  kernelwire::fuzz::WritePlanSeeds(folder / "plan");
  return 0;
}
