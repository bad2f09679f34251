// Rows of text in aligned columns.
#ifndef KERNELWIRE_CLIENT_CLI_TABLE_H_
#define KERNELWIRE_CLIENT_CLI_TABLE_H_

#include <string>
#include <vector>

namespace kernelwire::cli {

class Table {
 public:
  /// A column whose title begins with '>' is aligned to the right.
  explicit Table(const std::vector<std::string>& titles);

  /// Requires: as many cells as there are titles.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Two spaces between columns, none at the end of a line.
  std::string ToString() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // the first one holds the titles
};

/// `value` with `decimals` digits after the point.
std::string Fixed(double value, int decimals);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_TABLE_H_
