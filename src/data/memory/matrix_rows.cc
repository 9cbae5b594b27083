#include "data/memory/matrix_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "data/reader/entry_errors.h"
#include "data/scale/zeros_that_count.h"

namespace thalweg {
namespace {

template <class T>
T number_at(const void* values, std::ptrdiff_t byte) {
  T value;
  std::memcpy(&value, static_cast<const char*>(values) + byte, sizeof value);
  return value;
}

// What parsers of both kinds of matrices do with a row's label, weight and entries.
class MatrixParser : public MemoryParser {
 public:
  bool with_fields() const final { return !targets_.fields.empty(); }

 protected:
  MatrixParser(const ReadOptions& options, const MatrixTargets& targets)
      : MemoryParser(options), targets_(targets), labelled_(options.labels_needed), zeros_(options) {}

  bool take_row(std::uint64_t row, BatchWriter& out, RowError& error) final {
    float label = labelled_ && !targets_.labels.empty() ? targets_.labels[row] : 0.0f;
    const float weight = labelled_ && !targets_.weights.empty() ? targets_.weights[row] : 1.0f;
    if (labelled_ && !check_label(label, error)) return false;
    if (!(weight >= 0 && std::isfinite(weight))) {
      return fail_saw(error, fmt::format("{}", weight), "a weight of at least 0");
    }
    if (!take_entries(row, out, error)) return false;
    out.end_row(label, weight);
    return true;
  }
  virtual bool take_entries(std::uint64_t row, BatchWriter& out, RowError& error) = 0;

  bool add(std::uint64_t column, double number, BatchWriter& out, RowError& error) const {
    const auto value = static_cast<float>(number);
    if (value == 0.0f && !zeros_.contain(rules_.key(column))) return true;
    if (!std::isfinite(value)) {
      return fail_saw(error, fmt::format("{}", number), fmt::format("a finite value of feature {}", column));
    }
    const std::uint32_t field = targets_.fields.empty() ? 0 : targets_.fields[column];
    return out.add_value(rules_.key(column), value, field) || fail_saw(error, "more", kFullExpected);
  }

 private:
  const MatrixTargets targets_;
  const bool labelled_;
  const ZerosThatCount zeros_;
};

template <class Value>
class DenseParser final : public MatrixParser {
 public:
  DenseParser(const ReadOptions& options, const DenseMatrix& matrix, const MatrixTargets& targets)
      : MatrixParser(options, targets), matrix_(matrix) {}

 private:
  bool take_entries(std::uint64_t row, BatchWriter& out, RowError& error) override {
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * matrix_.row_bytes;
    for (std::uint64_t column = 0; column < matrix_.columns; ++column, at += matrix_.column_bytes) {
      if (!add(column, number_at<Value>(matrix_.values, at), out, error)) return false;
    }
    return true;
  }

  const DenseMatrix matrix_;
};

template <class Index, class Value>
class SparseParser final : public MatrixParser {
 public:
  SparseParser(const ReadOptions& options, const SparseMatrix& matrix, const MatrixTargets& targets)
      : MatrixParser(options, targets), matrix_(matrix) {}

 private:
  bool take_entries(std::uint64_t row, BatchWriter& out, RowError& error) override {
    const auto* indices = static_cast<const Index*>(matrix_.indices);
    const auto* values = static_cast<const Value*>(matrix_.values);
    for (std::int64_t at = matrix_.begins[row]; at < matrix_.begins[row + 1]; ++at) {
      const auto column = static_cast<std::uint64_t>(indices[at]);
      if (column >= matrix_.columns) {
        return fail_saw(error, fmt::format("{}", indices[at]),
                        fmt::format("a column below {}", matrix_.columns));
      }
      if (!add(column, values[at], out, error)) return false;
    }
    return true;
  }

  const SparseMatrix matrix_;
};

template <class Matrix>
class MatrixRows final : public MemoryRows {
 public:
  MatrixRows(std::uint64_t rows, const Matrix& matrix, const MatrixTargets& targets,
             std::shared_ptr<const void> owner)
      : rows_(rows), matrix_(matrix), targets_(targets), owner_(std::move(owner)) {}

  std::uint64_t rows() const override { return rows_; }
  std::unique_ptr<RowParser> parser(const ReadOptions& options, const Columns&) const override {
    return make(options, matrix_);
  }

 private:
  std::unique_ptr<RowParser> make(const ReadOptions& options, const DenseMatrix& matrix) const {
    if (matrix.doubles) return std::make_unique<DenseParser<double>>(options, matrix, targets_);
    return std::make_unique<DenseParser<float>>(options, matrix, targets_);
  }
  std::unique_ptr<RowParser> make(const ReadOptions& options, const SparseMatrix& matrix) const {
    return matrix.doubles ? make_sparse<double>(options, matrix) : make_sparse<float>(options, matrix);
  }
  template <class Value>
  std::unique_ptr<RowParser> make_sparse(const ReadOptions& options, const SparseMatrix& matrix) const {
    if (matrix.wide_indices)
      return std::make_unique<SparseParser<std::int64_t, Value>>(options, matrix, targets_);
    return std::make_unique<SparseParser<std::int32_t, Value>>(options, matrix, targets_);
  }

  const std::uint64_t rows_;
  const Matrix matrix_;
  const MatrixTargets targets_;
  const std::shared_ptr<const void> owner_;
};

template <class Matrix>
Result<std::shared_ptr<const MemoryRows>> rows_of_matrix(std::uint64_t rows, const Matrix& matrix,
                                                         const MatrixTargets& targets,
                                                         std::shared_ptr<const void> owner) {
  const auto differs = [](const char* what, std::size_t found, std::uint64_t expected) {
    return Status(Code::kUsage, fmt::format("{} {}, expected {}", found, what, expected));
  };
  if (!targets.labels.empty() && targets.labels.size() != rows) {
    return differs("labels", targets.labels.size(), rows);
  }
  if (!targets.weights.empty() && targets.weights.size() != rows) {
    return differs("weights of rows", targets.weights.size(), rows);
  }
  if (!targets.fields.empty() && targets.fields.size() != matrix.columns) {
    return differs("fields of columns", targets.fields.size(), matrix.columns);
  }
  return std::shared_ptr<const MemoryRows>(
      std::make_shared<MatrixRows<Matrix>>(rows, matrix, targets, std::move(owner)));
}

}  // namespace

Result<std::shared_ptr<const MemoryRows>> dense_rows(const DenseMatrix& matrix, const MatrixTargets& targets,
                                                     std::shared_ptr<const void> owner) {
  return rows_of_matrix(matrix.rows, matrix, targets, std::move(owner));
}

Result<std::shared_ptr<const MemoryRows>> sparse_rows(const SparseMatrix& matrix,
                                                      const MatrixTargets& targets,
                                                      std::shared_ptr<const void> owner) {
  const auto& begins = matrix.begins;
  bool ascend = !begins.empty() && begins.front() >= 0;
  for (std::size_t r = 1; r < begins.size() && ascend; ++r) ascend = begins[r - 1] <= begins[r];
  if (!ascend || static_cast<std::uint64_t>(begins.back()) > matrix.entries) {
    return Status(Code::kUsage,
                  fmt::format("a sparse matrix whose rows do not lie one behind the other among its {} "
                              "entries",
                              matrix.entries));
  }
  return rows_of_matrix(begins.size() - 1, matrix, targets, std::move(owner));
}

}  // namespace thalweg
