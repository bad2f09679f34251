#include "kernels/testing/case.h"

#include "kernels/testing/guarded_buffer.h"

namespace kernelwire::testing {

bool SameBits(const HostTensor& a, const HostTensor& b) {
  return a.desc.dtype == b.desc.dtype && a.desc.shape == b.desc.shape && a.bytes.size() == b.bytes.size() &&
         SameBytes(a.bytes.data(), b.bytes.data(), a.bytes.size());
}

HostTensor PartOf(const HostTensor& x, std::int64_t first, std::int64_t count) {
  Shape shape = x.desc.shape;
  const auto row_bytes = static_cast<std::int64_t>(x.bytes.size()) / shape[0];
  shape[0] = count;
  const auto begin = x.bytes.begin() + first * row_bytes;
  return {{x.desc.dtype, shape}, {begin, begin + count * row_bytes}};
}

const AttributeValue* FindAttribute(const OperatorCase& test_case, const std::string& name) {
  for (const auto& [key, value] : test_case.attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

const std::vector<OperatorCases>& AllOperatorCases() {
#define KERNELWIRE_OPERATOR(name, Function) Function##Cases(),
  static const std::vector<OperatorCases>* const all = new std::vector<OperatorCases>{
#include "kernels/operators.def"
  };
#undef KERNELWIRE_OPERATOR
  return *all;
}

}  // namespace kernelwire::testing
