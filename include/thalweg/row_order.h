// In which order a training comes to its rows.
#pragma once

#include <cstdint>

namespace thalweg {

enum class RowOrder : std::uint8_t {
  kFiles,   // As they stand.
  kBlocks,  // Parts of files in random order, the rows of each as they stand; not of packed files and pipes.
  kRows,    // Rows in random order, drawn from a pool of bounded size that such parts fill.
};

}  // namespace thalweg
