// Rows from all over the data, to look at before any is read in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/input_files.h"
#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kSampleBytes = std::size_t{1} << 20;
inline constexpr std::uint64_t kSampleRows = 8192;  // Of a table in memory.

// Without the byte order mark and the header, and blank lines before that, that a file may begin with.
std::string_view rows_of_begin(std::string_view text, bool header);

// Whole lines without headers and as much padding behind them as a block has: of at most about kSampleBytes,
// and of more where these hold few rows. Of plain files, evenly from all of them; of packed ones, the first
// file's begin; of a pipe, its head. A function of the files alone.
Result<std::string> sample_rows(const std::vector<InputFile>& files, bool header, const ReadOptions& options);

}  // namespace thalweg
