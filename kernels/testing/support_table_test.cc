// The support table of kernels/README.md is what the specs say. When they differ, the test prints the table to paste.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "kernels/registry.h"

namespace kernelwire {
namespace {

constexpr char kBegin[] = "<!-- support table: made from the specs, checked by a test -->\n";
constexpr char kEnd[] = "<!-- end of the support table -->\n";

std::string Tensors(const std::vector<TensorSpec>& tensors) {
  std::string text;
  for (const TensorSpec& tensor : tensors) {
    text += (text.empty() ? "" : "<br>") + std::string("`") + tensor.name + "`" +
            (tensor.optional ? " (optional)" : "") + ": " + tensor.dtypes.ToString();
  }
  return text;
}

std::string SupportTable() {
  std::string table = "| operator | inputs | outputs | attributes |\n|---|---|---|---|\n";
  for (const Operator& op : AllOperators()) {
    std::string attributes;
    for (const AttributeSpec& attribute : op.spec.attributes) {
      attributes += (attributes.empty() ? "`" : "<br>`") + attribute.name + "` " + attribute.default_text;
    }
    table += "| [" + op.spec.name + "](ops/" + op.spec.name + "/README.md) | " + Tensors(op.spec.inputs) + " | " +
             Tensors(op.spec.outputs) + " | " + attributes + " |\n";
  }
  return table;
}

TEST(SupportTable, IsWhatTheSpecsSay) {
  const char* root = std::getenv("KERNELWIRE_SOURCE");
  std::ifstream file(std::string(root != nullptr ? root : KERNELWIRE_SOURCE) + "/kernels/README.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str();
  const std::size_t begin = readme.find(kBegin);
  const std::size_t end = readme.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const std::string table = readme.substr(begin + sizeof(kBegin) - 1, end - begin - (sizeof(kBegin) - 1));
  EXPECT_EQ(table, SupportTable()) << "paste into kernels/README.md:\n" << SupportTable();
}

}  // namespace
}  // namespace kernelwire
