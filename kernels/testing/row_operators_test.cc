// What holds for every operator over rows, whatever it computes: a row's bits follow from the row alone. Not from the
// stride between rows, nor from whose memory the results are written to, nor from the run. (Company: company_test.cc.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"

namespace kernelwire::testing {
namespace {

using ::testing::HasSubstr;
using Bits = std::vector<std::vector<std::byte>>;  // of each output

/// An operator's tensors of rows; `parameters` inputs of a row's shape follow them.
struct RowOperator {
  const char* name;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
  std::size_t parameters;

  const Operator& op() const { return *FindOperator(name); }
};

struct Subject {
  const RowOperator* rows;
  DeviceRunner* device;
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.rows->name << subject.device->name(); }

const std::vector<RowOperator>& RowOperators() {
  static const auto* const all = new std::vector<RowOperator>{{"rms_norm", {0}, {0}, 1},
                                                              {"layer_norm", {0}, {0}, 2},
                                                              {"add_rms_norm", {0, 1}, {0, 1}, 1},
                                                              {"softmax", {0}, {0}, 0},
                                                              {"log_softmax", {0}, {0}, 0}};
  return *all;
}

std::vector<Subject> AllSubjects() {
  std::vector<Subject> subjects;
  for (const RowOperator& rows : RowOperators()) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
      subjects.push_back({&rows, device});
    }
  }
  return subjects;
}

OperatorCase MakeCase(const RowOperator& rows, DataType dtype, const Shape& shape, std::uint64_t seed) {
  OperatorCase test_case;
  test_case.name = "rows";
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    test_case.inputs.push_back(MakeTensor(dtype, shape, Values::kNormal, seed + i));
  }
  for (std::size_t i = 0; i < rows.parameters; ++i) {
    test_case.inputs.push_back(MakeTensor(dtype, {shape[1]}, Values::kUniform, seed + 10 + i));
  }
  return test_case;
}

Bits BitsOf(const std::vector<HostTensor>& outputs) {
  Bits bits;
  bits.reserve(outputs.size());
  for (const HostTensor& output : outputs) {
    bits.push_back(output.bytes);
  }
  return bits;
}

class RowOperatorsTest : public ::testing::TestWithParam<Subject> {
 protected:
  static const RowOperator& Rows() { return *GetParam().rows; }

  static Bits Run(const OperatorCase& test_case) {
    const auto outputs = GetParam().device->Run(Rows().op(), test_case);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? BitsOf(*outputs) : Bits();
  }

  static std::string PlanError(const OperatorCase& test_case) {
    const absl::Status status = PlanCase(Rows().op(), test_case).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
};

INSTANTIATE_TEST_SUITE_P(, RowOperatorsTest, ::testing::ValuesIn(AllSubjects()), [](const auto& suite) {
  return std::string(suite.param.rows->name) + "_" + suite.param.device->name();
});

/// Strides that keep rows aligned to vectors and ones that do not, another for each tensor; in one launch with dense
/// rows.
TEST_P(RowOperatorsTest, StridesDoNotChangeBits) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : WidthsFor(*GetParam().device, {1, 7, 100, 512, 4099, 34000, 70001}, {532483})) {
      const OperatorCase dense = MakeCase(Rows(), dtype, {width > 10000 ? 2 : 5, width}, 21);
      const Bits expected = Run(dense);
      for (const std::int64_t gap : {1, 8, 13}) {
        OperatorCase apart = dense;
        for (const std::size_t i : Rows().inputs) {
          apart.layout.input_row_strides[i] = width + gap + static_cast<std::int64_t>(i);
        }
        for (const std::size_t i : Rows().outputs) {
          apart.layout.output_row_strides[i] = width + 2 * gap + static_cast<std::int64_t>(i);
        }
        const auto together = GetParam().device->RunBatch(Rows().op(), {&dense, &apart, &dense});
        ASSERT_TRUE(together.ok()) << together.status();
        for (const std::vector<HostTensor>& outputs : *together) {
          EXPECT_TRUE(BitsOf(outputs) == expected) << NameOf(dtype) << ", width " << width << ", gap " << gap;
        }
      }
    }
  }
}

/// Tensors that begin at any element, each at another, in memory of their own and in place.
TEST_P(RowOperatorsTest, WhereTensorsBeginDoesNotChangeBits) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    const std::size_t size = SizeOf(dtype);
    for (const std::int64_t width :
         WidthsFor(*GetParam().device, {1, 7, 8, 24, 64, 100, 256, 384, 640, 1000, 1536, 3072, 4099, 34000, 70001},
                   {262144})) {
      const OperatorCase aligned = MakeCase(Rows(), dtype, {width > 10000 ? 2 : 5, width}, 26);
      const Bits expected = Run(aligned);
      for (std::size_t begin = 1; begin < 16 / size; begin = 2 * begin + 1) {
        OperatorCase apart = aligned;
        OperatorCase in_place = aligned;
        for (const std::size_t i : Rows().inputs) {
          apart.layout.input_offsets[i] = (begin + i) * size;
          in_place.layout.input_offsets[i] = (begin + i) * size;
        }
        for (const std::size_t i : Rows().outputs) {
          apart.layout.output_offsets[i] = i == 0 ? 0 : size;
          in_place.layout.output_in_input[i] = static_cast<int>(Rows().inputs[i]);
          in_place.layout.output_offsets[i] = in_place.layout.input_offsets[Rows().inputs[i]];
        }
        EXPECT_TRUE(Run(apart) == expected) << NameOf(dtype) << ", width " << width << ", from " << begin << " on";
        EXPECT_TRUE(Run(in_place) == expected) << NameOf(dtype) << ", width " << width << ", in place, from " << begin;
      }
    }
  }
}

/// Results in the memory of what they are computed from, dense and strided.
TEST_P(RowOperatorsTest, InPlaceDoesNotChangeBits) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : WidthsFor(*GetParam().device, {1, 100, 333, 2500, 9001, 40000, 70001}, {532483})) {
      const OperatorCase apart = MakeCase(Rows(), dtype, {width > 10000 ? 2 : 5, width}, 22);
      const Bits expected = Run(apart);
      for (const std::int64_t stride : {std::int64_t{0}, width + 3}) {
        OperatorCase in_place = apart;
        for (std::size_t i = 0; i < Rows().outputs.size(); ++i) {
          in_place.layout.output_in_input[Rows().outputs[i]] = static_cast<int>(Rows().inputs[i]);
          in_place.layout.input_row_strides[Rows().inputs[i]] = stride;
          in_place.layout.output_row_strides[Rows().outputs[i]] = stride;
        }
        EXPECT_TRUE(Run(in_place) == expected) << NameOf(dtype) << ", width " << width << ", stride " << stride;
      }
    }
  }
}

TEST_P(RowOperatorsTest, AHundredRunsGiveTheSameBits) {
  for (const std::int64_t width : WidthsFor(*GetParam().device, {33, 3001, 66000}, {270001})) {
    const OperatorCase test_case = MakeCase(Rows(), DataType::kFp32, {3, width}, 23);
    const Bits expected = Run(test_case);
    for (int run = 0; run < 50; ++run) {  // each of them runs twice
      ASSERT_TRUE(Run(test_case) == expected) << "width " << width << ", run " << run;
    }
  }
}

TEST_P(RowOperatorsTest, StridesThatCannotBeAreRefused) {
  const OperatorCase dense = MakeCase(Rows(), DataType::kFp32, {3, 8}, 24);
  OperatorCase narrow = dense;
  narrow.layout.input_row_strides[0] = 7;
  EXPECT_THAT(PlanError(narrow), HasSubstr("expected a row stride of at least 8, a row's width, got 7"));
  OperatorCase narrow_output = dense;
  narrow_output.layout.output_row_strides[0] = 7;
  EXPECT_THAT(PlanError(narrow_output), HasSubstr("output 'y': expected a row stride of at least 8"));
  OperatorCase negative = dense;
  negative.layout.input_row_strides[0] = -8;
  EXPECT_THAT(PlanError(negative), HasSubstr("got a row stride of -8"));
  OperatorCase endless = dense;
  endless.layout.input_row_strides[0] = std::int64_t{1} << 60;
  EXPECT_THAT(PlanError(endless), HasSubstr("3 rows with a row stride of 1152921504606846976"));
  for (std::size_t i = 0; i < Rows().parameters; ++i) {
    OperatorCase parameter = dense;
    parameter.layout.input_row_strides[Rows().inputs.size() + i] = 9;
    EXPECT_THAT(PlanError(parameter), HasSubstr("expected no row stride"));
  }
}

/// Their bytes are counted in 63 bits, and not all that is made of them.
TEST_P(RowOperatorsTest, AnEmptyTensorMayHaveRowsOfAnyWidth) {
  for (const std::int64_t width : {std::int64_t{1} << 40, (std::int64_t{1} << 59) + 1, (std::int64_t{1} << 60) - 1}) {
    OperatorCase empty;
    empty.name = "empty";
    HostTensor x;
    x.desc = TensorDesc{DataType::kFp64, {0, width}};
    empty.inputs.assign(Rows().inputs.size(), x);
    const auto planned = PlanCase(Rows().op(), empty);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ((*planned)->plan.workspace_bytes, 0U) << width;
  }
}

/// A request is cut between rows only where rows follow each other.
TEST_P(RowOperatorsTest, DenseRowsMayBeCut) {
  const OperatorCase dense = MakeCase(Rows(), DataType::kBf16, {3, 8}, 25);
  const Plan plan = PlanCase(Rows().op(), dense).value()->plan;
  for (const std::size_t i : Rows().inputs) {
    EXPECT_EQ(plan.input_row_bytes[i], 16) << i;
  }
  for (const std::size_t i : Rows().outputs) {
    EXPECT_EQ(plan.outputs[i].row_bytes, 16) << i;
  }
  for (std::size_t i = 0; i < Rows().parameters; ++i) {
    EXPECT_EQ(plan.input_row_bytes[Rows().inputs.size() + i], 0);
  }
  OperatorCase apart = dense;
  apart.layout.input_row_strides[0] = 9;
  const Plan apart_plan = PlanCase(Rows().op(), apart).value()->plan;
  EXPECT_EQ(apart_plan.input_row_bytes[0], 0);
  EXPECT_EQ(apart_plan.outputs[0].row_bytes, 0);
  EXPECT_TRUE(apart_plan.key == plan.key);
}

}  // namespace
}  // namespace kernelwire::testing
