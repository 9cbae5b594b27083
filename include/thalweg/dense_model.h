// A dense model of an application's own: its parameters, and the loss and gradients of some rows, computed by
// whatever library it likes. docs/dense.md shows one by LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/loss.h"
#include "thalweg/options.h"

namespace thalweg {

struct ModelKind;

// A tensor of floats.
struct DenseParameter {
  std::string name;                             // As PyTorch's state_dict() would have it; no '/'.
  std::vector<std::int64_t> shape;              // At least one dimension, each from 1.
  InitSpec::Kind init = InitSpec::Kind::kZero;  // How it begins, as InitSpec has it.
  float scale = 0;
};

// What data and options have settled.
struct DenseSizes {
  std::uint32_t inputs = 0;   // Numbers of a row: features 0 to inputs - 1.
  std::uint32_t classes = 0;  // Of Loss::kClasses; else 0.
  Loss loss = Loss::kClasses;
  std::vector<std::uint32_t> hidden;  // TrainerOptions::hidden, or the kind's own.
};

struct DenseRows {
  std::size_t count = 0;
  std::span<const float> inputs;   // [count, DenseSizes::inputs], 0 where a row lacks a feature.
  std::span<const float> labels;   // One a row; of rows that are only scored it may be no label at all.
  std::span<const float> weights;  // One a row.
};

// Made once a thread, and used by that one.
class DenseModel {
 public:
  virtual ~DenseModel() = default;
  virtual std::vector<DenseParameter> parameters() const = 0;
  // `values` and `gradients` have one tensor a parameter, in their order. Returns the sum over the rows of
  // weight times loss. scores: one a row, as Loss has predictions: the class, the margin of a click, the
  // number. gradients: empty where rows are only scored; else each is overwritten by d(sum)/d(values). Equal
  // arguments must give equal bits.
  virtual double learn(const DenseRows& rows, std::span<const std::span<const float>> values,
                       std::span<float> scores, std::span<const std::span<float>> gradients) = 0;
};

// What such a model takes where its user leaves it open.
struct DenseModelDefaults {
  std::uint32_t epochs = 1, batch = 128;
  RuleKind rule = RuleKind::kAdagrad;
  float rate = 0.01f;
  std::vector<std::uint32_t> hidden = {};
};

// A kind of such models, known by its name; get() is for TrainParts::models, which it must outlive.
class DenseModelKind {
 public:
  using Make = std::function<std::unique_ptr<DenseModel>(const DenseSizes&)>;
  // `make`: thread-safe. What it throws, or parameters() does, is kUsage of whoever wanted the model.
  DenseModelKind(std::string name, Make make, DenseModelDefaults defaults = {});
  ~DenseModelKind();
  DenseModelKind(const DenseModelKind&) = delete;
  DenseModelKind& operator=(const DenseModelKind&) = delete;
  const ModelKind* get() const;

 private:
  struct Described;
  const std::unique_ptr<const Described> described_;
};

}  // namespace thalweg
