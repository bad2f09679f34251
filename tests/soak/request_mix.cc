#include "tests/soak/request_mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "grpcpp/support/slice.h"
#include "open_inference.pb.h"

namespace kernelwire::soak {
namespace {

using inference::ModelInferRequest;

constexpr int kGoodRequests = 600;
constexpr double kSmallestLog2 = 6;  // 64 bytes
constexpr double kLargestLog2 = 18;  // 256 KiB
// A suppression takes the square of its boxes: larger ones would make this a test of nms.
constexpr std::int64_t kMostBoxes = 512;

PreparedRequest Prepare(const std::string& bytes, std::string outcome) {
  const grpc::Slice slice(bytes);
  return {grpc::ByteBuffer(&slice, 1), std::move(outcome)};
}

void AddInput(const std::string& name, const std::vector<std::int64_t>& shape, std::mt19937_64& random,
              ModelInferRequest* request) {
  auto* input = request->add_inputs();
  input->set_name(name);
  input->set_datatype("FP32");
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    input->add_shape(size);
    elements *= size;
  }
  std::vector<float> values(static_cast<std::size_t>(elements));
  std::generate(values.begin(), values.end(), [&random] { return static_cast<float>(random() % 1000) / 10; });
  request->add_raw_input_contents(values.data(), values.size() * sizeof(float));
}

ModelInferRequest MakeGood(int index, std::mt19937_64& random) {
  // The fourth power makes most of them small: half are below 112 bytes, an eighth above 6 KiB.
  const double u = static_cast<double>(random() >> 11) * 0x1p-53;
  const auto floats =
      static_cast<std::int64_t>(std::exp2(kSmallestLog2 + (kLargestLog2 - kSmallestLog2) * std::pow(u, 4)) / 4);
  ModelInferRequest request;
  request.set_id(std::to_string(index));
  switch (index % 3) {
    case 0:
      request.set_model_name("rms_norm");
      AddInput("x", {std::max<std::int64_t>(1, floats / 1024), std::min<std::int64_t>(floats, 1024)}, random, &request);
      if (index % 2 == 0) {
        AddInput("weight", {std::min<std::int64_t>(floats, 1024)}, random, &request);
      }
      break;
    case 1:
      request.set_model_name("softmax");
      AddInput("x", {std::max<std::int64_t>(1, floats / 512), std::min<std::int64_t>(floats, 512)}, random, &request);
      break;
    default: {
      const std::int64_t boxes = std::clamp<std::int64_t>(floats / 5, 1, kMostBoxes);
      request.set_model_name("nms");
      AddInput("boxes", {boxes, 4}, random, &request);
      AddInput("scores", {boxes}, random, &request);
    }
  }
  return request;
}

std::vector<PreparedRequest> MakeMalformed(const ModelInferRequest& good) {
  std::vector<PreparedRequest> all;
  const auto add = [&](const std::string& outcome, auto change) {
    ModelInferRequest request = good;
    change(request);
    all.push_back(Prepare(request.SerializeAsString(), outcome));
  };
  add("NOT_FOUND", [](ModelInferRequest& request) { request.set_model_name("no_such_model"); });
  add("NOT_FOUND", [](ModelInferRequest& request) { request.set_model_version("7"); });
  const std::string invalid = "INVALID_ARGUMENT";
  add(invalid, [](ModelInferRequest& request) { request.mutable_inputs(0)->set_datatype("BOOL"); });
  add(invalid, [](ModelInferRequest& request) { request.mutable_inputs(0)->set_name("stranger"); });
  add(invalid, [](ModelInferRequest& request) { request.mutable_inputs(0)->set_shape(0, 1 << 20); });
  add(invalid, [](ModelInferRequest& request) { request.mutable_raw_input_contents(0)->pop_back(); });
  add(invalid, [](ModelInferRequest& request) { request.clear_raw_input_contents(); });
  add(invalid, [](ModelInferRequest& request) { (*request.mutable_parameters())["colour"].set_string_param("red"); });
  all.push_back(Prepare("\xff\xff\xff these bytes are no message", invalid));
  return all;
}

}  // namespace

RequestMix::RequestMix(std::uint64_t seed) : random_(seed) {
  for (int i = 0; i < kGoodRequests; ++i) {
    const ModelInferRequest request = MakeGood(i, random_);
    good_.push_back(Prepare(request.SerializeAsString(), "OK"));
    if (i < 3) {  // one of each operator
      for (PreparedRequest& malformed : MakeMalformed(request)) {
        malformed_.push_back(std::move(malformed));
      }
    }
  }
}

Draw RequestMix::Next() {
  const std::uint64_t lot = Uniform(100);
  if (lot == 0) {
    return {&malformed_[Uniform(malformed_.size())], Ending::kNormal};
  }
  const Ending ending = lot == 1 ? Ending::kCancelled : lot == 2 ? Ending::kTinyDeadline : Ending::kNormal;
  return {NextGood(), ending};
}

const PreparedRequest* RequestMix::NextOfStream() { return Next().request; }

const PreparedRequest* RequestMix::NextGood() { return &good_[Uniform(good_.size())]; }

std::uint64_t RequestMix::Uniform(std::uint64_t bound) { return random_() % bound; }

}  // namespace kernelwire::soak
