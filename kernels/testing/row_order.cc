#include "kernels/testing/row_order.h"

#include "kernels/testing/generators.h"

namespace kernelwire::testing {

std::vector<RowOrder> RowOrders() {
  std::vector<RowOrder> orders;
  for (const DataType dtype : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    orders.push_back({"rms_norm", 1, 1, dtype});
    orders.push_back({"layer_norm", 1, 2, dtype});
    orders.push_back({"add_rms_norm", 2, 1, dtype});
    orders.push_back({"softmax", 1, 0, dtype});
  }
  orders.push_back({"layer_norm", 1, 2, DataType::kFp64});
  return orders;
}

std::string NameOf(const RowOrder& order) { return std::string(order.op) + "_" + NameOf(order.dtype); }

HostTensor FirstRows(DataType dtype, std::int64_t rows, std::int64_t width, std::uint64_t seed) {
  const HostTensor drawn = MakeTensor(dtype, {100'003}, Values::kNormal, seed);
  HostTensor tensor;
  tensor.desc = TensorDesc{dtype, {rows, width}};
  const std::size_t bytes = *tensor.desc.ByteSize();
  tensor.bytes.reserve(bytes + drawn.bytes.size());
  while (tensor.bytes.size() < bytes) {
    tensor.bytes.insert(tensor.bytes.end(), drawn.bytes.begin(), drawn.bytes.end());
  }
  tensor.bytes.resize(bytes);
  return tensor;
}

std::vector<double> HugeValues(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? 1e30 : -3e30;
  }
  return values;
}

OperatorCase CaseOfRows(const RowOrder& order, std::int64_t rows, std::int64_t width, int parameters) {
  OperatorCase test_case;
  test_case.name = std::to_string(rows) + "_rows_of_" + std::to_string(width);
  for (int i = 0; i < order.row_inputs; ++i) {
    test_case.inputs.push_back(FirstRows(order.dtype, rows, width, kRowSeed + static_cast<std::uint64_t>(i)));
  }
  for (int i = 0; i < parameters; ++i) {
    test_case.inputs.push_back(
        MakeTensor(order.dtype, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
  }
  return test_case;
}

OperatorCase CaseOfRows(const RowOrder& order, std::int64_t rows, std::int64_t width) {
  return CaseOfRows(order, rows, width, order.parameters);
}

OperatorCase RowsAmong(const OperatorCase& all, const RowOrder& order, std::int64_t first, std::int64_t count) {
  OperatorCase some;
  some.name = all.name + "_from_" + std::to_string(first) + "_on";
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    const bool has_rows = i < static_cast<std::size_t>(order.row_inputs);
    some.inputs.push_back(has_rows ? PartOf(all.inputs[i], first, count) : all.inputs[i]);
  }
  return some;
}

}  // namespace kernelwire::testing
