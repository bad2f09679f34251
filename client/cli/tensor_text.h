// Tensors for people to look at.
#ifndef KERNELWIRE_CLIENT_CLI_TENSOR_TEXT_H_
#define KERNELWIRE_CLIENT_CLI_TENSOR_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernelwire/tensor.h"

namespace kernelwire::cli {

/// One element as text; "?" for the FP8 types, whose codes are not decoded here. `bytes` need not be aligned.
std::string ElementText(client::DataType dtype, const std::uint8_t* bytes);

/// "0.1, 0.25, 3, ... (1021 more)": the first `most` elements.
std::string PreviewText(client::DataType dtype, const std::uint8_t* bytes, std::size_t byte_size, std::size_t most);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_TENSOR_TEXT_H_
