#include "kernels/registry.h"

namespace kernelwire {

// Every operator's folder defines its description (<op>_spec.cc, which also attaches the host path) and, in a build
// with CUDA, its launch (<op>_cuda.cu).
#define KERNELWIRE_OPERATOR(name, Function) \
  Operator Make##Function();                \
  int Launch##Function##Cuda(const Launch& launch, CUstream_st* stream);
#include "kernels/operators.def"
#undef KERNELWIRE_OPERATOR

namespace {

std::vector<Operator> MakeAll() {
  std::vector<Operator> operators;
#ifdef KERNELWIRE_WITH_CUDA
#define KERNELWIRE_OPERATOR(name, Function) \
  operators.push_back(Make##Function());    \
  operators.back().launch_cuda = &Launch##Function##Cuda;
#else
#define KERNELWIRE_OPERATOR(name, Function) operators.push_back(Make##Function());
#endif
#include "kernels/operators.def"
#undef KERNELWIRE_OPERATOR
  return operators;
}

}  // namespace

const std::vector<Operator>& AllOperators() {
  static const std::vector<Operator>* const operators = new std::vector<Operator>(MakeAll());
  return *operators;
}

const Operator* FindOperator(std::string_view name) {
  for (const Operator& op : AllOperators()) {
    if (op.spec.name == name) {
      return &op;
    }
  }
  return nullptr;
}

bool BuiltWithCuda() {
#ifdef KERNELWIRE_WITH_CUDA
  return true;
#else
  return false;
#endif
}

}  // namespace kernelwire
