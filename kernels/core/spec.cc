#include "kernels/core/spec.h"

#include <cstddef>

namespace kernelwire {
namespace {

int IndexOf(const std::vector<TensorSpec>& tensors, const std::string& name) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

int OperatorSpec::InputIndex(const std::string& input_name) const { return IndexOf(inputs, input_name); }

int OperatorSpec::OutputIndex(const std::string& output_name) const { return IndexOf(outputs, output_name); }

}  // namespace kernelwire
