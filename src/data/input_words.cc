#include "data/input_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/reader/column_items.h"

namespace thalweg {

Status as_input(const Status& status) {
  return status.code() == Code::kIo ? Status(Code::kData, status.message()) : status;
}

std::string empty_files(const std::vector<std::string>& empty) {
  if (empty.empty()) return {};
  return empty.size() == 1
             ? fmt::format("{} has no rows", empty.front())
             : fmt::format("{} files have no rows, the first being {}", empty.size(), empty.front());
}

std::string shared_files(const std::vector<std::string>& trained, const std::vector<std::string>& held_out) {
  const auto shared = std::find_first_of(held_out.begin(), held_out.end(), trained.begin(), trained.end());
  if (shared == held_out.end()) return {};
  return fmt::format("{} is both trained on and held out: the held-out numbers do not tell of new rows",
                     *shared);
}

std::vector<std::string> odd_columns(const DataSet& data) {
  std::vector<std::string> sentences;
  for (const Column& c : data.columns().list) {
    if (c.odd_cell.empty()) continue;
    sentences.push_back(fmt::format(
        "{}: each cell of column \"{}\" is a category, because of \"{}\" in line {}; write numbers plainly, "
        "such as 1234.5, or say --columns {}:cat if categories are meant",
        data.paths().front(), c.name, c.odd_cell, c.odd_line, quoted_column_name(c.name)));
  }
  return sentences;
}

}  // namespace thalweg
