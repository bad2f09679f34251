// What an operator says of itself. The catalogue, ModelMetadata, ModelConfig, the CLI's help and the support table are
// all made from this; validation of types and names needs nothing else.
#ifndef KERNELWIRE_KERNELS_CORE_SPEC_H_
#define KERNELWIRE_KERNELS_CORE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/attributes.h"
#include "kernels/core/dtype.h"

namespace kernelwire {

/// One input or output. `dims` is for metadata: -1 is a free extent; a free rank is written as one -1.
struct TensorSpec {
  std::string name;
  DataTypeSet dtypes;
  DataType listed_dtype = DataType::kFp32;  // the one that ModelMetadata names, which can name only one
  std::vector<std::int64_t> dims{-1};
  bool optional =
      false;  // inputs: may be left out. outputs: made only if listed (otherwise always, unless listed ones exclude it)
  std::string doc;  // one sentence for people: shape, unit, meaning
};

struct OperatorSpec {
  std::string name;     // "rms_norm": the model's name on the wire
  std::string summary;  // one sentence
  std::string formula;  // one line
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<AttributeSpec> attributes;
  std::vector<std::string> promises;  // determinism, accumulation, ties: one sentence each

  /// Index by name, or -1.
  int InputIndex(const std::string& input_name) const;
  int OutputIndex(const std::string& output_name) const;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_SPEC_H_
