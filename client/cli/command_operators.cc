// kernelwire operators: what the server has.
#include <iostream>

#include "client/cli/command.h"
#include "client/cli/model_text.h"
#include "client/cli/table.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {
namespace {

int RunOperators(const Arguments& arguments) {
  const client::Client client = ConnectTo(arguments);
  const auto index = client.RepositoryIndex(TimeoutOf(arguments));
  if (!index.ok()) {
    return Fail(index.status());
  }
  Table table({"operator", "version", "state", "inputs", "outputs"});
  for (const auto& model : index->models()) {
    const auto config = client.ModelConfig(model.name(), TimeoutOf(arguments));
    if (!config.ok()) {
      table.Add({model.name(), model.version(), model.state(), config.status().ToString(), ""});
      continue;
    }
    table.Add({model.name(), model.version(), model.state(), NamesOf(config->config().input()),
               NamesOf(config->config().output())});
  }
  std::cout << table.ToString();
  return kExitOk;
}

}  // namespace

Command OperatorsCommand() {
  return {"operators",
          "",
          "lists what the server can compute",
          "Lists the server's models, with the names of their inputs and outputs; a question mark means optional.\n",
          {},
          RunOperators};
}

}  // namespace kernelwire::cli
