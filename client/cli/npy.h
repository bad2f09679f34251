// NumPy's .npy files, for the types that kernelwire takes.
//
// Read: format versions 1, 2 and 3; f2 f4 f8 i1 i4 i8 u1 b1, little-endian, C order. Written: version 1. Source: the
// format's description in NumPy's documentation ("numpy.lib.format").
#ifndef KERNELWIRE_CLIENT_CLI_NPY_H_
#define KERNELWIRE_CLIENT_CLI_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernelwire/status.h"
#include "kernelwire/tensor.h"

namespace kernelwire::cli {

/// An array in memory, row-major. `bytes` has what dtype and shape say.
struct Array {
  client::DataType dtype = client::DataType::kFp32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

/// The array in the content of a file. Errors: INVALID_ARGUMENT that says what was expected and what came: other types
/// and orders, damaged headers, a wrong number of bytes.
client::Result<Array> ParseNpy(const std::string& content);
/// The content of a file. BF16 becomes f4 (NumPy has no such type; the values are the same); FP8 becomes u1.
std::string FormatNpy(const Array& array);

/// The same for files by name; the message begins with it. Errors: also NOT_FOUND and UNKNOWN from the file system.
client::Result<Array> ReadNpy(const std::string& path);
/// "a.npy", or "a.npy:BF16" to convert what was read. Errors: also those of ConvertTo.
client::Result<Array> ReadNpyAs(const std::string& path_and_type);
client::Status WriteNpy(const std::string& path, const Array& array);

/// Converts FP32 to FP16 or BF16, rounded to nearest even. Same type: nothing to do. Errors: INVALID_ARGUMENT for
/// others.
client::Result<Array> ConvertTo(client::DataType dtype, Array array);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_NPY_H_
