#include "model/predictor.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/place_keys.h"

namespace thalweg {
namespace {

Result<WeightLines> load_lines(const ModelReader& model, std::size_t table) {
  WeightLines lines(model.manifest().tables[table].rows);
  std::vector<PlacedKey> placed;
  const Status status = model.scan(table, false, [&](const StoredRows& block) {
    placed.resize(block.keys.size());
    place_keys(block.keys, placed.data());
    lines.append(placed, block.rows);
    return ok_status();
  });
  if (!status.ok()) return status;
  return lines;
}

}  // namespace

Result<FrozenTable> FrozenTable::load(const ModelReader& model, std::size_t table) {
  const TableManifest& manifest = model.manifest().tables[table];
  const bool sparse = manifest.spec.kind == TableSpec::Kind::kSparse;
  FrozenTable out;
  out.dim_ = manifest.spec.dim;
  out.is_sparse_ = sparse;
  out.keys_.reserve(sparse ? manifest.rows : 0);
  out.rows_.reserve(manifest.rows * out.dim_);
  const Status status = model.scan(table, false, [&](const StoredRows& block) {
    if (sparse) {
      for (const Key key : block.keys) out.keys_.push_back(place(key));
    }
    out.rows_.insert(out.rows_.end(), block.rows.begin(), block.rows.end());
    return ok_status();
  });
  if (!status.ok()) return status;
  out.index_keys();
  return out;
}

// One or two keys for each index entry, so that a lookup is one step to the index and one or two to the keys.
void FrozenTable::index_keys() {
  const unsigned bits = std::max(2u, static_cast<unsigned>(std::bit_width(keys_.size()))) - 1;
  shift_ = 64 - bits;
  first_.assign((std::size_t{1} << bits) + 1, 0);
  for (const PlacedKey key : keys_) ++first_[(key >> shift_) + 1];
  for (std::size_t h = 1; h < first_.size(); ++h) first_[h] += first_[h - 1];
}

std::size_t FrozenTable::read(std::span<const PlacedKey> keys, std::span<float> out) const {
  THALWEG_CHECK(out.size() == keys.size() * dim_, "dim floats a key");
  std::size_t met = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t high = keys[i] >> shift_;
    std::uint64_t at = first_[high];
    const std::uint64_t end = first_[high + 1];
    while (at < end && keys_[at] < keys[i]) ++at;
    float* const row = out.data() + i * dim_;
    if (at < end && keys_[at] == keys[i]) {
      std::memcpy(row, rows_.data() + at * dim_, dim_ * sizeof(float));
      ++met;
    } else {
      std::fill_n(row, dim_, 0.0f);
    }
  }
  return met;
}

Result<Predictor> Predictor::load(const ModelReader& model, const ModelKinds& more) {
  Predictor out;
  out.spec_ = model.manifest().model;
  out.spec_.kinds = more;
  const Result<std::unique_ptr<Model>> made = make_model(out.spec_);
  if (!made) return Status(Code::kModel, model.path() + ": " + made.status().message());
  const auto kind = find_kind(out.spec_);
  out.is_dense_ = kind.ok() && (*kind)->dense != nullptr;
  const std::vector<TableManifest>& stored = model.manifest().tables;
  const std::vector<TableSpec> tables = (*made)->tables();
  const bool linear = !out.is_dense_ && tables.size() == 2 && tables[1].dim == 1;
  for (const TableSpec& wanted : tables) {
    const auto found = std::find_if(stored.begin(), stored.end(), [&](const TableManifest& table) {
      return table.spec.name == wanted.name && table.spec.dim == wanted.dim &&
             table.spec.kind == wanted.kind &&
             (wanted.kind == TableSpec::Kind::kSparse || table.rows == wanted.rows);
    });
    if (found == stored.end()) {
      return Status(Code::kModel, fmt::format("{}: table {} of model {} is missing or of another shape",
                                              model.path(), wanted.name, out.spec_.name));
    }
    const auto at = static_cast<std::size_t>(found - stored.begin());
    if (linear && &wanted == &tables[1]) {
      Result<WeightLines> lines = load_lines(model, at);
      if (!lines) return lines.status();
      out.lines_ = std::move(*lines);
      continue;
    }
    Result<FrozenTable> table = FrozenTable::load(model, at);
    if (!table) return table.status();
    out.tables_.push_back(std::move(*table));
  }
  return out;
}

Predictor::Scratch::Scratch(const Predictor& predictor) {
  Result<std::unique_ptr<Model>> made = make_model(predictor.spec());
  THALWEG_CHECK(made.ok(), "load() has made this model before");
  model_ = std::move(*made);
  rows_.resize(std::max<std::size_t>(predictor.tables_.size(), 2));
}

Result<LossSum> Predictor::score(Batch& batch, Scratch& scratch, std::vector<float>& scores) const {
  if (Status status = scratch.model_->validate(batch); !status.ok()) return status;
  if (is_dense_) {
    scratch.batch_.keep(batch);
  } else if (lines_) {
    scratch.batch_.assign_each(batch);
  } else {
    scratch.batch_.assign(batch, scratch.index_);
  }
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (!tables_[t].is_sparse()) continue;
    scratch.rows_[t].resize(scratch.batch_.keys().size() * tables_[t].dim());
    const std::size_t met = tables_[t].read(scratch.batch_.keys(), scratch.rows_[t]);
    if (t == 1) scratch.known_keys_ += met;
  }
  if (lines_) {
    scratch.rows_[1].resize(scratch.batch_.keys().size());
    scratch.known_keys_ += lines_->read(scratch.batch_.keys(), scratch.rows_[1].data());
  }
  scratch.keys_ += scratch.batch_.keys().size();
  scores.resize(scratch.batch_.size());
  const LossSum sum = scratch.model_->score(scratch.batch_, rows_in(scratch), scores);
  if (Status failed = scratch.model_->failure(); !failed.ok()) return failed;
  return sum;
}

std::vector<std::span<const float>> Predictor::rows_in(const Scratch& scratch) const {
  std::vector<std::span<const float>> rows;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    rows.push_back(tables_[t].is_sparse() ? std::span<const float>(scratch.rows_[t]) : tables_[t].rows());
  }
  if (lines_) rows.emplace_back(scratch.rows_[1]);
  return rows;
}

Result<std::vector<float>> Predictor::class_scores(Scratch& scratch) const {
  std::vector<float> scores;
  const bool has =
      spec_.loss == Loss::kClasses && scratch.model_->score_classes(scratch.batch_, rows_in(scratch), scores);
  if (Status failed = scratch.model_->failure(); !failed.ok()) return failed;
  if (has) return scores;
  return Status(Code::kUsage, "model " + spec_.name + " of loss " + std::string(loss_name(spec_.loss)) +
                                  " has no scores of classes; expected one of --loss classes");
}

Result<std::vector<float>> Predictor::class_probabilities(Scratch& scratch) const {
  Result<std::vector<float>> scores = class_scores(scratch);
  if (!scores || scores->empty()) return scores;
  const std::size_t classes = scores->size() / scratch.batch_.size();
  for (auto row = scores->begin(); row != scores->end(); row += static_cast<std::ptrdiff_t>(classes)) {
    const auto end = row + static_cast<std::ptrdiff_t>(classes);
    const float best = *std::max_element(row, end);
    double sum = 0;
    for (auto score = row; score != end; ++score) {
      *score = std::exp(*score - best);
      sum += static_cast<double>(*score);
    }
    for (auto score = row; score != end; ++score)
      *score = static_cast<float>(static_cast<double>(*score) / sum);
  }
  return scores;
}

Predictor::Terms Predictor::terms(const Scratch& scratch, std::size_t row, float score) const {
  Terms out;
  if (is_dense_) return out;
  const Batch& rows = scratch.batch_.rows();
  // Of a model of classes the score is the class, and the terms are those of this class's score.
  const std::size_t dim = tables_[0].dim();
  const std::size_t column = is_of_score(spec_.loss) ? 0 : static_cast<std::size_t>(score);
  out.bias = tables_[0].rows()[column];
  double linear = static_cast<double>(out.bias);
  for (std::size_t e = rows.row_begin[row]; e < rows.row_begin[row + 1]; ++e) {
    const std::uint32_t local = scratch.batch_.local()[e];
    out.keys.push_back(unplace(scratch.batch_.keys()[local]));
    out.weights.push_back(scratch.rows_[1][local * dim + column]);
    out.values.push_back(rows.values.empty() ? 1.0f : rows.values[e]);
    linear += static_cast<double>(out.weights.back()) * static_cast<double>(out.values.back());
  }
  if (tables_.size() > 2) out.rest = static_cast<float>(static_cast<double>(score) - linear);
  return out;
}

std::vector<float> Predictor::score_next_byte(std::string_view text, Scratch& scratch) const {
  THALWEG_CHECK(spec_.loss == Loss::kBytes && !text.empty(), "bytes to go on from");
  text = text.substr(text.size() - std::min<std::size_t>(text.size(), spec_.inputs));
  Batch row;
  for (const char c : text) {
    row.keys.push_back(row.keys.size());
    row.values.push_back(static_cast<float>(static_cast<unsigned char>(c)));
  }
  row.row_begin.push_back(static_cast<std::uint32_t>(row.keys.size()));
  row.labels.push_back(0);
  scratch.batch_.keep(row);
  std::vector<std::span<const float>> tensors;
  for (const FrozenTable& table : tables_) tensors.push_back(table.rows());
  std::vector<float> scores;
  THALWEG_CHECK(scratch.model_->score_next(scratch.batch_, tensors, scores), "models of bytes score them");
  return scores;
}

}  // namespace thalweg
