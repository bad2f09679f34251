// 16-bit floats to and from FP32, for files and for printing.
#ifndef KERNELWIRE_CLIENT_CLI_NARROW_FLOAT_H_
#define KERNELWIRE_CLIENT_CLI_NARROW_FLOAT_H_

#include <cstdint>

namespace kernelwire::cli {

/// Exact.
float FloatFromFp16(std::uint16_t bits);
float FloatFromBf16(std::uint16_t bits);

/// Rounded to nearest, ties to even; beyond the range infinity; a NaN stays one.
std::uint16_t Fp16FromFloat(float value);
std::uint16_t Bf16FromFloat(float value);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_NARROW_FLOAT_H_
