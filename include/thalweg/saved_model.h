// A saved model in memory, which scores rows and shows its weights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/loss.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"

namespace thalweg {

// What a table of a model is.
struct SavedTable {
  std::string name;
  std::uint32_t dim = 1;  // Floats of a row.
  std::uint64_t rows = 0;
};

// Immutable; any number of threads may use it at once.
class SavedModel {
 public:
  enum class Answer : std::uint8_t {
    kPrediction,  // A probability for logistic loss.
    kScore,       // What the prediction is made of, the log of the odds for logistic loss.
    // Of a model of classes, classes() numbers a row, one row after the other: the score of each class, or by
    // softmax its probability. kUsage for others.
    kClassScore,
    kClassProbability
  };
  // `more`: models of the application's own. Errors: kModel.
  static Result<SavedModel> load(const std::string& directory, const TrainParts& more = {});
  SavedModel(SavedModel&&) noexcept;
  SavedModel& operator=(SavedModel&&) noexcept;
  ~SavedModel();

  const std::string& model() const;  // "lr", "fm", ...
  Loss loss() const;
  std::uint32_t classes() const;  // 0: it is not one of classes.
  // How it was trained, as flags would say it; what it did on the rows it was trained on and held-out ones.
  const std::map<std::string, std::string>& options() const;
  const std::map<std::string, double>& metrics() const;
  std::uint64_t digest() const;

  // Calls `rows` with the answers for some rows at a time, in order; where that returns false, it ends with
  // kAborted. Labels need not be there. Columns and hashing are those that the model was trained with. `more`
  // knows rows in memory and formats. Up to `on_bad_row` rows that cannot be read are answered NaN in their
  // place. Errors: kUsage, kData naming file and line.
  Status score(const std::vector<std::string>& files, const TrainParts& more, Answer answer,
               const std::function<bool(std::span<const float> answers)>& rows,
               std::uint64_t on_bad_row = 0) const;

  std::vector<SavedTable> tables() const;
  // Calls `rows` with some keys of a table at a time, and their rows, dim floats each; of a dense table keys
  // are row numbers. Precondition: `table` is one of tables(). Errors: kModel, where the directory has
  // changed.
  Status weights(
      std::size_t table,
      const std::function<void(std::span<const Key> keys, std::span<const float> rows)>& rows) const;

 private:
  class Impl;
  explicit SavedModel(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace thalweg
