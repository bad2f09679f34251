#include "kernels/testing/case.h"

namespace kernelwire::testing {

const AttributeValue* FindAttribute(const OperatorCase& test_case, const std::string& name) {
  for (const auto& [key, value] : test_case.attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

// Every operator's folder defines its cases (<op>_cases.cc).
#define KERNELWIRE_OPERATOR(name, Function) OperatorCases Function##Cases();
#include "kernels/operators.def"
#undef KERNELWIRE_OPERATOR

const std::vector<OperatorCases>& AllOperatorCases() {
#define KERNELWIRE_OPERATOR(name, Function) Function##Cases(),
  static const std::vector<OperatorCases>* const all = new std::vector<OperatorCases>{
#include "kernels/operators.def"
  };
#undef KERNELWIRE_OPERATOR
  return *all;
}

}  // namespace kernelwire::testing
