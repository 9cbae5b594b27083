// A saved model that a training goes on with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_set.h"
#include "model/format/model_dir.h"
#include "model/model_kind.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

class WarmStart {
 public:
  // By TrainerOptions::init; null where that is empty. kModel: it is no model, or damaged.
  static Result<std::unique_ptr<WarmStart>> open(const TrainerOptions& options);

  // The options with what the model settles where they leave it open. kUsage where they say otherwise.
  Result<TrainerOptions> settle(TrainerOptions options) const;
  // How the rows' columns were read, of CSV; empty: it knows of none, but may have been told of some, see
  // says_all_columns().
  std::string known_columns() const;
  // By what values of features without columns were divided, as ReadOptions has it.
  std::string value_scales() const { return stored("value-scales"); }
  // Whether a training that was planned so can begin with the model's rows. kUsage says what differs.
  Status check(const TrainSpec& spec, const std::vector<TableSpec>& tables) const;

  // Whether features of such rows have the keys that the model knows them by. kUsage: not these.
  Status check_keys(const DataSet& data) const;
  // RowFormat::ids of what it learnt from; empty: it does not say.
  std::string ids() const { return stored("ids"); }

  // For people.
  std::string description() const;
  // What a training that begins otherwise differs in: its model's digest, and whether it takes weights alone.
  std::string identity() const;

  const ModelReader& model() const { return reader_; }
  bool with_state() const { return !weights_only_; }

 private:
  WarmStart(ModelReader reader, std::string columns, bool weights_only)
      : reader_(std::move(reader)), columns_(std::move(columns)), weights_only_(weights_only) {}
  std::string given() const;  // "--init DIR", as it was.
  std::string stored(const char* flag) const;
  Status differs(const std::string& what, const std::string& here, const std::string& there) const;
  Status settle_reading(TrainerOptions& options) const;
  Status settle_members_of(TrainerOptions& options) const;
  bool is_own_script(std::string_view model) const;
  Status settle_shape(TrainerOptions& options) const;
  Status settle_sizes(TrainerOptions& options) const;
  template <class Size>
  Status settle_size(const char* flag, std::optional<Size>& open, const Size& known) const;
  Result<const ModelKind*> kind(const TrainerOptions& options) const;
  // Whether the algorithm can begin with what the model has.
  Status check_algorithm(const TrainerOptions& options) const;
  Status settle_rules(TrainerOptions& options) const;
  Status check_table(const TableManifest& had, const TableSpec& wanted) const;

  ModelReader reader_;
  std::string columns_;
  bool weights_only_ = false;
};

}  // namespace thalweg
