// kernelwire run: one request, tensors from and to .npy files.
#include <iostream>
#include <map>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/npy.h"
#include "client/cli/parameter_text.h"
#include "client/cli/tensor_text.h"
#include "kernelwire/infer.h"

namespace kernelwire::cli {
namespace {

using client::Status;
using client::StatusCode;

constexpr std::size_t kPreviewElements = 8;

// Fills the request's inputs; `arrays` holds their memory.
Status AddInputs(const Arguments& arguments, std::vector<Array>* arrays, client::InferRequest* request) {
  const std::vector<std::string> texts = arguments.All("input");
  arrays->reserve(texts.size());
  for (const std::string& text : texts) {
    const auto named = SplitNamed(text);
    if (!named.has_value()) {
      return Status(StatusCode::kInvalidArgument, "--input: expected NAME=FILE, got '" + text + "'");
    }
    client::Result<Array> loaded = ReadNpyAs(named->second);
    if (!loaded.ok()) {
      return Status(loaded.status().code(), "--input " + named->first + ": " + loaded.status().message());
    }
    const Array& array = arrays->emplace_back(*std::move(loaded));
    request->inputs.push_back({named->first, {array.dtype, array.shape, array.bytes.data(), array.bytes.size(), {}}});
  }
  return Status();
}

Status WriteOrShow(client::InferReply& reply, const std::map<std::string, std::string>& files) {
  for (client::OutputTensor& output : reply.outputs) {
    std::cout << output.name() << ": " << client::NameOf(output.dtype()) << ' ' << client::ShapeText(output.shape());
    const auto file = files.find(output.name());
    if (file == files.end()) {
      std::cout << "\n  " << PreviewText(output.dtype(), output.data(), output.byte_size(), kPreviewElements) << '\n';
      continue;
    }
    Array array{output.dtype(), output.shape(), std::vector<std::uint8_t>(output.byte_size())};
    output.CopyTo(array.bytes.data());
    if (Status status = WriteNpy(file->second, array); !status.ok()) {
      return status;
    }
    std::cout << " -> " << file->second << '\n';
  }
  return Status();
}

int RunOneOperator(const Arguments& arguments) {
  client::InferRequest request;
  request.model = arguments.operands()[0];
  std::map<std::string, std::string> files;
  for (const std::string& text : arguments.All("output")) {
    const auto named = SplitNamed(text);
    if (!named.has_value()) {
      return FailUsage("--output: expected NAME=FILE, got '" + text + "'");
    }
    request.outputs.push_back(named->first);
    files.insert(*named);
  }
  if (Status status = AddAttributes(arguments, &request); !status.ok()) {
    return FailUsage(status.message());
  }
  std::vector<Array> arrays;
  if (Status status = AddInputs(arguments, &arrays, &request); !status.ok()) {
    return Fail(status);
  }
  client::Result<client::InferReply> reply = ConnectTo(arguments).Infer(request, TimeoutOf(arguments));
  if (!reply.ok()) {
    return Fail(reply.status());
  }
  const Status written = WriteOrShow(*reply, files);
  return written.ok() ? kExitOk : Fail(written);
}

}  // namespace

Command RunCommand() {
  return {
      "run",
      "OPERATOR",
      "computes an operator on tensors from .npy files",
      "Sends one request. Inputs come from NumPy's .npy files (f2 f4 f8 i1 u1 i4 i8 b1, C order); a type after the\n"
      "name, as in x=a.npy:BF16 or x=a.npy:FP16, converts f4 before sending. With --output the named outputs are\n"
      "asked for and written (BF16 as f4); without, the usual ones are shown in part.\n"
      "\n"
      "Attribute values: whole numbers, numbers, true and false are sent as such, everything else as text.\n"
      "\n"
      "  kernelwire run rms_norm --input x=x.npy:BF16 --input weight=w.npy --attribute epsilon=1e-6\n",
      {{"input", OptionKind::kText, "NAME=FILE[:TYPE]", "A tensor to send.", "", true},
       {"output", OptionKind::kText, "NAME=FILE", "An output to ask for, and where to write it.", "", true},
       AttributeOption()},
      RunOneOperator};
}

}  // namespace kernelwire::cli
