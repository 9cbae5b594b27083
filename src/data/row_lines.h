// What rows look like in their files, for who answers each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Of the rows of a batch.
struct RowLines {
  std::string text;                // Their lines, each with its '\n'; nothing unless they are kept.
  std::vector<std::size_t> ends;   // In `text`, one a row.
  std::vector<std::uint32_t> bad;  // Ascending: rows that could not be read, which have no entries.

  void clear() { text.clear(), ends.clear(), bad.clear(); }
  void add(std::string_view line) {
    text += line;
    ends.push_back(text.size());
  }
  // With its '\n'.
  std::string_view line(std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends[row - 1];
    return std::string_view(text).substr(begin, ends[row] - begin);
  }
};

}  // namespace thalweg
