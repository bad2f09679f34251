#include "client/cli/table.h"

#include <algorithm>
#include <cstdio>

namespace kernelwire::cli {

Table::Table(const std::vector<std::string>& titles) : rows_(1) {
  for (const std::string& title : titles) {
    right_.push_back(!title.empty() && title.front() == '>');
    rows_[0].push_back(right_.back() ? title.substr(1) : title);
  }
}

std::string Table::ToString() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - row[column].size(), ' ');
      line += (column == 0 ? "" : "  ") + (right_[column] ? padding + row[column] : row[column] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Fixed(double value, int decimals) {
  char text[512];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace kernelwire::cli
