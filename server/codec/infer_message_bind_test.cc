// Checking requests against the catalogue: what is refused, with which code and in which words.
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/codec/infer_message.h"
#include "server/codec/testing/message_bytes.h"
#include "server/codec/testing/probe_operator.h"
#include "server/codec/testing/request_builder.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::AddInput;
using ::kernelwire::testing::OneSlice;
using ::kernelwire::testing::PlainRequest;
using ::kernelwire::testing::ProbeCatalog;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InferMessageBindTest : public ::testing::Test {
 protected:
  using Request = inference::ModelInferRequest;

  absl::Status Bind(const Request& request) {
    const absl::Status parsed = message_.Parse(OneSlice(request));
    return parsed.ok() ? message_.Bind(ProbeCatalog()) : parsed;
  }
  /// The plain request, changed.
  absl::Status BindChanged(const std::function<void(Request&)>& change) {
    Request request = PlainRequest();
    change(request);
    return Bind(request);
  }
  void ExpectRefused(const std::string& text, const std::function<void(Request&)>& change) {
    const absl::Status status = BindChanged(change);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_NE(message_.model(), nullptr);
    EXPECT_EQ(message_.id(), "request 1");
  }

  InferMessage message_;
};

TEST_F(InferMessageBindTest, APlainRequestIsPlanned) {
  ASSERT_TRUE(Bind(PlainRequest()).ok());
  EXPECT_EQ(message_.model()->name, "probe");
  EXPECT_EQ(message_.plan().rows, 4);
  EXPECT_EQ(message_.plan_request().wanted_outputs, 3u);
  EXPECT_THAT(message_.outputs(), ElementsAre(0, 1));
  EXPECT_EQ(message_.plan().outputs[0].bytes, 16u);
  EXPECT_FALSE(message_.plan().outputs[2].wanted);
  EXPECT_EQ(message_.priority(), 0u);
  EXPECT_EQ(message_.timeout_micros(), std::nullopt);
  std::string copy(16, '?');
  ASSERT_TRUE(message_.CopyInput(0, copy.data()).ok());
  EXPECT_EQ(copy, "0123456789abcdef");
  EXPECT_TRUE(message_.CopyInput(1, nullptr).ok());  // absent
}

TEST_F(InferMessageBindTest, ModelsAndVersions) {
  const auto code = [&](const char* name, const char* version) {
    return BindChanged([&](Request& request) {
             request.set_model_name(name);
             request.set_model_version(version);
           })
        .code();
  };
  EXPECT_EQ(code("probe", ""), absl::StatusCode::kOk);
  EXPECT_EQ(code("probe", "1"), absl::StatusCode::kOk);
  EXPECT_EQ(code("silent", "3"), absl::StatusCode::kOk);
  for (const auto& [name, version] : std::vector<std::pair<const char*, const char*>>{
           {"probe", "2"}, {"silent", "1"}, {"Probe", ""}, {"", ""}, {"", "1"}}) {
    EXPECT_EQ(code(name, version), absl::StatusCode::kNotFound) << name << " " << version;
    EXPECT_EQ(message_.model(), nullptr);
    EXPECT_EQ(message_.id(), "request 1");
  }
}

TEST_F(InferMessageBindTest, InputsAreFoundByName) {
  ExpectRefused("input 'w': not known to model 'probe', expected one of x, y, z",
                [](Request& request) { request.mutable_inputs(0)->set_name("w"); });
  ExpectRefused("input 'x': expected once, got it twice; the inputs are x, y, z",
                [](Request& request) { AddInput(&request, "x", "FP32", {1}); });
  ExpectRefused("input 'x': required", [](Request& request) { request.mutable_inputs(0)->set_name("y"); });
  ExpectRefused("input 'x': required", [](Request& request) {
    request.clear_inputs();
    request.clear_raw_input_contents();
  });
}

TEST_F(InferMessageBindTest, SurplusTensorsAreRefused) {
  const auto add_all = [](Request& request, int times) {
    request.clear_inputs();
    for (int i = 0; i < times; ++i) {
      AddInput(&request, "x", "FP32", {1});
    }
  };
  ExpectRefused("input 'x': expected once", [&](Request& request) { add_all(request, 7); });
  ExpectRefused("output 'copy': expected once", [&](Request& request) {
    for (int i = 0; i < 7; ++i) {
      request.add_outputs()->set_name("copy");
    }
  });
}

TEST_F(InferMessageBindTest, Datatypes) {
  for (const char* const name : {"BYTES", "fp32", "", "UINT16", "FP8"}) {
    ExpectRefused("input 'x': expected a datatype among BOOL, INT8",
                  [&](Request& request) { request.mutable_inputs(0)->set_datatype(name); });
  }
  ExpectRefused("input 'z': expected FP32, got FP16", [](Request& request) {
    AddInput(&request, "z", "FP16", {2});
    request.add_raw_input_contents("1234");
  });
}

TEST_F(InferMessageBindTest, Shapes) {
  ExpectRefused("input 'x': shape [2,3] of FP32 needs 24 bytes, got 16",
                [](Request& request) { request.mutable_inputs(0)->set_shape(1, 3); });
  ExpectRefused("input 'x': shape [] of FP32 needs 4 bytes, got 16",
                [](Request& request) { request.mutable_inputs(0)->clear_shape(); });
  ExpectRefused("input 'x': expected extents of at least 0, got shape [2,-2]",
                [](Request& request) { request.mutable_inputs(0)->set_shape(1, -2); });
  ExpectRefused("input 'x': expected a shape of at most 16 dimensions, got 17", [](Request& request) {
    for (int i = 0; i < 15; ++i) {
      request.mutable_inputs(0)->add_shape(1);
    }
  });
  ExpectRefused("input 'x': expected a shape whose bytes are at most 2^56", [](Request& request) {
    request.mutable_inputs(0)->set_shape(0, std::int64_t{1} << 62);
    request.mutable_inputs(0)->set_shape(1, 4);
  });
  ExpectRefused("input 'x': expected a shape whose bytes are at most 2^56", [](Request& request) {
    request.mutable_inputs(0)->add_shape(std::int64_t{1} << 59);  // elements fit, bytes do not
  });
}

TEST_F(InferMessageBindTest, EmptyTensorsHaveEmptyEntries) {
  for (const bool typed : {false, true}) {
    const absl::Status status = BindChanged([&](Request& request) {
      request.mutable_inputs(0)->set_shape(0, 0);
      request.set_raw_input_contents(0, "");
      if (typed) {
        request.clear_raw_input_contents();
        request.mutable_inputs(0)->mutable_contents();
      }
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(message_.input_bytes(0), 0u);
    EXPECT_EQ(message_.plan().outputs[0].bytes, 0u);
    EXPECT_TRUE(message_.CopyInput(0, nullptr).ok());
  }
  ExpectRefused("shape [0,2] of FP32 needs 0 bytes, got 16",
                [](Request& request) { request.mutable_inputs(0)->set_shape(0, 0); });
}

TEST_F(InferMessageBindTest, RawEntriesGoToInputsWithoutContentsInOrder) {
  const absl::Status status = BindChanged([](Request& request) {
    request.clear_inputs();
    request.clear_raw_input_contents();
    AddInput(&request, "z", "FP32", {1});
    AddInput(&request, "y", "INT32", {2})->mutable_contents()->add_int_contents(5);
    request.mutable_inputs(1)->mutable_contents()->add_int_contents(-6);
    AddInput(&request, "x", "UINT8", {2});
    request.add_raw_input_contents("zzzz");
    request.add_raw_input_contents("xx");
  });
  ASSERT_TRUE(status.ok()) << status;
  std::string x(2, '?');
  std::string z(4, '?');
  std::int32_t y[2] = {};
  ASSERT_TRUE(message_.CopyInput(0, x.data()).ok());
  ASSERT_TRUE(message_.CopyInput(1, y).ok());
  ASSERT_TRUE(message_.CopyInput(2, z.data()).ok());
  EXPECT_EQ(x, "xx");
  EXPECT_EQ(z, "zzzz");
  EXPECT_THAT(y, ElementsAre(5, -6));
}

TEST_F(InferMessageBindTest, RawEntriesAreCounted) {
  ExpectRefused("raw_input_contents: expected 1 entries, one for each input without contents, got 0",
                [](Request& request) { request.clear_raw_input_contents(); });
  ExpectRefused("expected 1 entries, one for each input without contents, got 2",
                [](Request& request) { request.add_raw_input_contents(""); });
  ExpectRefused("expected 0 entries, one for each input without contents, got 1",
                [](Request& request) { request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1); });
}

TEST_F(InferMessageBindTest, RequestedOutputsGiveTheOrder) {
  ASSERT_TRUE(BindChanged([](Request& request) {
                request.add_outputs()->set_name("wide");
                request.add_outputs()->set_name("copy");
              }).ok());
  EXPECT_THAT(message_.outputs(), ElementsAre(2, 0));
  EXPECT_EQ(message_.plan_request().wanted_outputs, 5u);
  ExpectRefused("output 'gone': not known to model 'probe', expected one of copy, count, wide",
                [](Request& request) { request.add_outputs()->set_name("gone"); });
  ExpectRefused("output 'wide': expected once, got it twice", [](Request& request) {
    request.add_outputs()->set_name("wide");
    request.add_outputs()->set_name("wide");
  });
}

TEST_F(InferMessageBindTest, Fp8TravelsAsUint8) {
  const auto type_of = [&](const char* datatype, const char* own, const char* common) {
    const absl::Status status = BindChanged([&](Request& request) {
      request.mutable_inputs(0)->set_datatype(datatype);
      request.mutable_inputs(0)->set_shape(1, datatype == std::string("FP32") ? 2 : 8);
      if (*own != '\0') {
        (*request.mutable_inputs(0)->mutable_parameters())["fp8"].set_string_param(own);
      }
      if (*common != '\0') {
        (*request.mutable_parameters())["fp8"].set_string_param(common);
      }
    });
    return status.ok() ? message_.plan_request().inputs[0]->dtype : DataType::kInvalid;
  };
  EXPECT_EQ(type_of("UINT8", "", ""), DataType::kUint8);
  EXPECT_EQ(type_of("UINT8", "e4m3", ""), DataType::kFp8E4m3);
  EXPECT_EQ(type_of("UINT8", "", "e5m2"), DataType::kFp8E5m2);
  EXPECT_EQ(type_of("UINT8", "e4m3", "e5m2"), DataType::kFp8E4m3);
  EXPECT_EQ(type_of("FP8_E4M3", "", ""), DataType::kFp8E4m3);
  EXPECT_EQ(type_of("FP8_E5M2", "", ""), DataType::kFp8E5m2);
  EXPECT_EQ(type_of("FP8_E5M2", "", "e4m3"), DataType::kFp8E5m2);
  EXPECT_EQ(type_of("FP8_E5M2", "e5m2", ""), DataType::kFp8E5m2);
  EXPECT_EQ(type_of("FP32", "", "e4m3"), DataType::kFp32);
  EXPECT_EQ(type_of("FP32", "e4m3", ""), DataType::kFp32);
  EXPECT_EQ(type_of("FP8_E5M2", "e4m3", ""), DataType::kInvalid);
  EXPECT_EQ(type_of("UINT8", "E4M3", ""), DataType::kInvalid);
  EXPECT_EQ(type_of("UINT8", "", "e3m4"), DataType::kInvalid);
  EXPECT_EQ(type_of("FP32", "", "e3m4"), DataType::kInvalid);
}

TEST_F(InferMessageBindTest, SharedMemoryIsNotServed) {
  for (const char* const name : {"shared_memory_region", "shared_memory_offset", "shared_memory_byte_size"}) {
    absl::Status status = BindChanged([&](Request& request) {
      (*request.mutable_inputs(0)->mutable_parameters())[name].set_string_param("region");
      (*request.mutable_inputs(0)->mutable_parameters())["a"].set_bool_param(true);
      request.clear_raw_input_contents();
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("input 'x': parameter '") + name));
    status = BindChanged([&](Request& request) {
      auto* const output = request.add_outputs();
      output->set_name("copy");
      (*output->mutable_parameters())[name].set_int64_param(1);
      (*output->mutable_parameters())["a"].set_bool_param(true);
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), HasSubstr("output 'copy'"));
  }
}

TEST_F(InferMessageBindTest, UnknownParametersOfTensorsAreRefused) {
  ExpectRefused("input 'x': unknown parameter 'scale'", [](Request& request) {
    (*request.mutable_inputs(0)->mutable_parameters())["scale"].set_double_param(1);
  });
  for (const char* const name : {"classification", "binary_data"}) {
    ExpectRefused(std::string("output 'copy': unknown parameter '") + name, [&](Request& request) {
      auto* const output = request.add_outputs();
      output->set_name("copy");
      (*output->mutable_parameters())[name].set_int64_param(3);
    });
  }
}

TEST_F(InferMessageBindTest, NoTextOfTheClientMakesAMessageLong) {
  const std::string huge = std::string(20000, 'n') + "\n";
  const std::vector<std::function<void(Request&)>> changes = {
      [&](Request& request) { request.set_model_name(huge); },
      [&](Request& request) { request.set_model_version(huge); },
      [&](Request& request) { request.mutable_inputs(0)->set_name(huge); },
      [&](Request& request) { request.mutable_inputs(0)->set_datatype(huge); },
      [&](Request& request) { request.add_outputs()->set_name(huge); },
      [&](Request& request) { (*request.mutable_parameters())[huge].set_bool_param(true); },
      [&](Request& request) { (*request.mutable_parameters())[huge]; },
      [&](Request& request) { (*request.mutable_parameters())["mode"].set_string_param(huge); },
      [&](Request& request) { (*request.mutable_parameters())["priority"].set_string_param(huge); },
      [&](Request& request) { (*request.mutable_inputs(0)->mutable_parameters())[huge].set_bool_param(true); },
      [&](Request& request) { (*request.mutable_inputs(0)->mutable_parameters())["fp8"].set_string_param(huge); },
      [&](Request& request) { (*request.mutable_parameters())["fp8"].set_string_param(huge); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const absl::Status status = BindChanged(changes[i]);
    EXPECT_FALSE(status.ok()) << i;
    EXPECT_LT(status.message().size(), 400u) << i << ": " << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << i;
  }
}

TEST_F(InferMessageBindTest, TheMessagesBytesGoWithItsInputs) {
  std::string bytes = PlainRequest().SerializeAsString();
  bool gone = false;
  {
    const grpc::Slice slice(
        bytes.data(), bytes.size(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &gone);
    ASSERT_TRUE(message_.Parse(grpc::ByteBuffer(&slice, 1)).ok());
  }
  ASSERT_TRUE(message_.Bind(ProbeCatalog()).ok());
  std::string copy(16, '?');
  ASSERT_TRUE(message_.CopyInput(0, copy.data()).ok());
  EXPECT_FALSE(gone);
  message_.LetGoOfInputs();
  EXPECT_TRUE(gone);
  EXPECT_EQ(message_.id(), "request 1");
  EXPECT_THAT(message_.outputs(), ElementsAre(0, 1));
}

TEST_F(InferMessageBindTest, AMessageIsReusedAfterAnyEnd) {
  EXPECT_FALSE(BindChanged([](Request& request) { request.add_outputs()->set_name("gone"); }).ok());
  EXPECT_TRUE(Bind(PlainRequest()).ok());
  EXPECT_TRUE(BindChanged([](Request& request) {
                AddInput(&request, "y", "INT8", {1});
                request.add_raw_input_contents("1");
                (*request.mutable_parameters())["timeout"].set_int64_param(5);
                (*request.mutable_parameters())["axis"].set_int64_param(5);
              }).ok());
  EXPECT_EQ(message_.input_bytes(1), 1u);
  EXPECT_EQ(message_.timeout_micros(), 5);
  EXPECT_TRUE(Bind(PlainRequest()).ok());
  EXPECT_EQ(message_.input_bytes(1), 0u);
  EXPECT_EQ(message_.timeout_micros(), std::nullopt);
  EXPECT_EQ(message_.plan_request().attributes->GetInt("axis"), std::nullopt);
  EXPECT_THAT(message_.outputs(), ElementsAre(0, 1));
  message_.Clear();
  EXPECT_EQ(message_.model(), nullptr);
  EXPECT_EQ(message_.id(), "");
}

}  // namespace
}  // namespace kernelwire
