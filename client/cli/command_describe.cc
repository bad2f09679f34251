// kernelwire describe: one operator, as the server documents it.
#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/model_text.h"
#include "client/cli/table.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {
namespace {

// "TYPE_FP32" without its prefix.
std::string TypeText(inference::DataType type) { return inference::DataType_Name(type).substr(5); }

void PrintTensors(const inference::ModelConfig& config) {
  Table table({"tensor", "", "type", "shape"});
  for (const auto& input : config.input()) {
    table.Add({input.name(), input.optional() ? "input, optional" : "input", TypeText(input.data_type()),
               DimsText(input.dims())});
  }
  for (const auto& output : config.output()) {
    table.Add({output.name(), "output", TypeText(output.data_type()), DimsText(output.dims())});
  }
  std::cout << '\n' << table.ToString() << "Types are the ones listed to clients; others may be taken as well.\n";
}

void PrintAttributes(const inference::ModelConfig& config) {
  std::vector<std::pair<std::string, std::string>> attributes;
  for (const auto& [name, value] : config.parameters()) {
    attributes.emplace_back(name, value.string_value());
  }
  if (attributes.empty()) {
    return;
  }
  std::sort(attributes.begin(), attributes.end());
  Table table({"attribute", ""});
  for (const auto& [name, text] : attributes) {
    table.Add({name, text});
  }
  std::cout << '\n' << table.ToString();
}

int RunDescribe(const Arguments& arguments) {
  const client::Client client = ConnectTo(arguments);
  const std::string& name = arguments.operands()[0];
  const auto metadata = client.ModelMetadata(name, TimeoutOf(arguments));
  if (!metadata.ok()) {
    return Fail(metadata.status());
  }
  const auto config = client.ModelConfig(name, TimeoutOf(arguments));
  if (!config.ok()) {
    return Fail(config.status());
  }
  std::cout << metadata->name() << ", version";
  for (const std::string& version : metadata->versions()) {
    std::cout << ' ' << version;
  }
  std::cout << ", on " << metadata->platform() << '\n';
  PrintTensors(config->config());
  PrintAttributes(config->config());
  return kExitOk;
}

}  // namespace

Command DescribeCommand() {
  return {
      "describe",
      "OPERATOR",
      "shows an operator's inputs, outputs and attributes",
      "Prints what the server says of an operator: its tensors with types and shapes (-1 is a size of your choice,\n"
      "[...] any shape), and its attributes with their defaults.\n",
      {},
      RunDescribe};
}

}  // namespace kernelwire::cli
