// What a measurement sends: tensors from files, or random ones.
#ifndef KERNELWIRE_CLIENT_CLI_BENCH_INPUT_H_
#define KERNELWIRE_CLIENT_CLI_BENCH_INPUT_H_

#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "client/cli/npy.h"
#include "kernelwire/client.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

/// An input by name, with its elements.
struct NamedArray {
  std::string name;
  Array array;
};

/// --input, --shape, --dtype and --seed, for the command's table.
std::vector<Option> BenchInputOptions();

/// Whether those options make sense, as far as that can be told without a file and a server. Errors: INVALID_ARGUMENT
/// naming the option, what was expected and what came.
client::Status CheckBenchInputs(const Arguments& arguments);

/// The inputs that --input gives, NAME=TYPE:SHAPE (random elements) or NAME=FILE.npy[:TYPE]; without it the operator's
/// required ones, which the server is asked for, random elements of --dtype and --shape, save that `scores` has one
/// element for each of `boxes`. Requires: an operand, the operator. Errors: those of Client::ModelConfig, of ReadNpy
/// and of CheckBenchInputs.
client::Result<std::vector<NamedArray>> BenchInputs(const client::Client& client, const Arguments& arguments);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_BENCH_INPUT_H_
