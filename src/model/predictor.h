// A stored model in memory, for scoring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mix.h"
#include "model/format/model_dir.h"
#include "model/local_batch.h"
#include "model/model.h"
#include "model/model_kind.h"
#include "model/weight_lines.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

// Read-only rows of one table by placed key: keys ascending, found through an index by their high bits.
class FrozenTable {
 public:
  static Result<FrozenTable> load(const ModelReader& model, std::size_t table);
  // Fills dim floats for each key (ascending or not). A key that training never met reads as zeros, for
  // factors too: a random factor would only add noise. Returns how many were met.
  std::size_t read(std::span<const PlacedKey> keys, std::span<float> out) const;
  std::span<const float> rows() const { return rows_; }
  std::size_t dim() const { return dim_; }
  bool is_sparse() const { return is_sparse_; }

 private:
  void index_keys();

  std::size_t dim_ = 1;
  bool is_sparse_ = false;
  std::vector<PlacedKey> keys_;
  std::vector<float> rows_;
  std::vector<std::uint64_t> first_;  // first_[h]: position of the first key whose high bits are >= h.
  unsigned shift_ = 63;
};

// Immutable; any number of threads may score at once, each with its own Scratch.
class Predictor {
 public:
  // `more`: kinds of models beside the built-in ones. kModel when the directory's tables are not those of its
  // model.
  static Result<Predictor> load(const ModelReader& model, const ModelKinds& more = {});

  class Scratch {
   public:
    explicit Scratch(const Predictor& predictor);
    // Over all batches the keys that were looked up, and those of them that the model has.
    std::uint64_t keys() const { return keys_; }
    std::uint64_t known_keys() const { return known_keys_; }

   private:
    friend class Predictor;
    std::unique_ptr<Model> model_;
    LocalBatch batch_;
    KeyIndex index_;
    std::vector<std::vector<float>> rows_;
    std::uint64_t keys_ = 0, known_keys_ = 0;
  };

  // Raw scores of the rows, to be turned into predictions by predict(spec().loss, score). Consumes the batch
  // as LocalBatch::assign() does; its labels are kept in scratch only. Returns the sum of the rows' losses,
  // which may be left out where is_of_score(spec().loss). kData when the model cannot take the rows.
  Result<LossSum> score(Batch& batch, Scratch& scratch, std::vector<float>& scores) const;

  // Of the batch that was scored last, of a model of classes: the scores of each row's classes, and by
  // softmax their probabilities, one row after the other. kUsage: this model has none.
  Result<std::vector<float>> class_scores(Scratch& scratch) const;
  Result<std::vector<float>> class_probabilities(Scratch& scratch) const;

  // What a row's score is made of; nothing of a dense model.
  struct Terms {
    float bias = 0;
    std::vector<Key> keys{};       // Of each entry, as are
    std::vector<float> weights{};  // what the linear part has for it
    std::vector<float> values{};   // and what it is multiplied by.
    // Of models with more than a linear part: what this adds.
    std::optional<float> rest{};
  };
  // Of a row of the batch that was scored last, by `score`.
  Terms terms(const Scratch& scratch, std::size_t row, float score) const;

  // Of a model of bytes: the scores of each byte that may follow `text`, of which the last
  // ModelSpec::inputs bytes count. Precondition: there is one.
  std::vector<float> score_next_byte(std::string_view text, Scratch& scratch) const;

  const ModelSpec& spec() const { return spec_; }
  bool is_dense() const { return is_dense_; }

 private:
  // Of the scratch's batch.
  std::vector<std::span<const float>> rows_in(const Scratch& scratch) const;

  ModelSpec spec_;
  bool is_dense_ = false;
  std::vector<FrozenTable> tables_;
  std::optional<WeightLines> lines_;  // Of a linear model: what its second table has had.
};

}  // namespace thalweg
