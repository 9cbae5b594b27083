// Matrices of a program, dense or sparse, as training rows: the features are the columns' numbers, from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "data/memory/memory_rows.h"
#include "thalweg/status.h"

namespace thalweg {

// What is known of the rows beside their entries.
struct MatrixTargets {
  std::span<const float> labels = {};          // One a row, or none.
  std::span<const float> weights = {};         // One a row; none: each is 1.
  std::span<const std::uint32_t> fields = {};  // One a column; none: entries have no fields.
};

// `values` are doubles or floats; a row's entries that are 0 are passed over.
struct DenseMatrix {
  std::uint64_t rows = 0, columns = 0;
  const void* values = nullptr;
  bool doubles = false;
  std::ptrdiff_t row_bytes = 0, column_bytes = 0;  // From one to the next.
};

// Entries of row r are at begins[r] up to begins[r + 1].
struct SparseMatrix {
  std::uint64_t columns = 0;
  std::span<const std::int64_t> begins;
  std::uint64_t entries = 0;
  const void* indices = nullptr;
  bool wide_indices = false;  // Of 64 bits, not of 32.
  const void* values = nullptr;
  bool doubles = false;
};

// `owner` keeps all that is pointed to. kUsage for parts that do not fit each other.
Result<std::shared_ptr<const MemoryRows>> dense_rows(const DenseMatrix& matrix, const MatrixTargets& targets,
                                                     std::shared_ptr<const void> owner);
Result<std::shared_ptr<const MemoryRows>> sparse_rows(const SparseMatrix& matrix,
                                                      const MatrixTargets& targets,
                                                      std::shared_ptr<const void> owner);

}  // namespace thalweg
