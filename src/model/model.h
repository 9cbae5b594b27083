// A model: the tables it keeps its parameters in, and how a batch and its rows become a loss and gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/local_batch.h"
#include "model/loss.h"
#include "model/tensor_type.h"
#include "thalweg/batch.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

struct ModelKind;  // model_kind.h

struct ModelSpec {
  std::string name = "lr";  // Of a ModelKind.
  Loss loss = Loss::kLogistic;
  std::uint32_t rank = 8;        // fm, ffm: length of a factor.
  std::uint32_t fields = 0;      // ffm: number of fields; deepfm: 0 for rows without.
  bool fields_by_place = false;  // deepfm: rows have none, and an entry's place in its row is its field.
  float init_scale = 0.1f;       // fm, ffm: standard deviation of initial factors.
  std::uint64_t seed = 1;
  std::uint32_t inputs = 0;   // Dense models: numbers of a row, whose features are 0 to inputs - 1,
  std::uint32_t classes = 0;  // classes where that is the loss,
  std::string script = {};    // script: the module's file,
  std::vector<std::uint32_t> hidden = {};          // and widths of the layers between; deepfm has some, too.
  std::uint32_t layers = 0, width = 0, heads = 0;  // gpt: blocks, floats of a position, parts of attention.
  RuleSpec weights;                                // Update rule of bias and linear weights.
  std::optional<float> bias_rate;  // Learning rate of the bias if it is not that of the weights.
  float bias_init = 0;             // What the bias begins with.
  RuleSpec factors;                // Update rule of factors.
  RuleSpec layers_rule;            // deepfm: of its layers.
  // What training adds to each score before its loss; scores of held-out rows are as they are. Not of dense
  // models.
  float score_shift = 0;
  std::vector<const ModelKind*> kinds = {};  // Beside the built-in ones; they outlive the model.
  bool operator==(const ModelSpec&) const = default;
};

// What a model has beside its tables, and does not learn.
struct FixedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  // The model's.
};

// Stateless between batches but for scratch space; one per thread. Each entry of a row is a term of its own:
// for fm and ffm a key that stands twice in a row also interacts with itself.
class Model {
 public:
  virtual ~Model() = default;
  // In the order in which gradient() wants them. Of a sparse model table 0 is the dense one-row "bias", table
  // 1 the sparse "weights" of one float a key; fm, ffm and deepfm have a third, "factors", and deepfm its
  // layers' tensors behind it. Those of a dense one are its tensors, all dense.
  virtual std::vector<TableSpec> tables() const = 0;
  // The shape of the table's tensor, whose first dimension is its rows. Empty: it is none.
  virtual std::vector<std::uint64_t> tensor_shape(std::size_t /*table*/) const { return {}; }
  // What a dense table begins with; empty: as its spec says.
  virtual std::span<const float> initial(std::size_t /*table*/) const { return {}; }
  // kModel: one is of a type that no file has.
  virtual Result<std::vector<FixedTensor>> fixed() const { return std::vector<FixedTensor>(); }
  // Whether the model can take these rows; ffm: every entry has a field below ModelSpec::fields. kData,
  // naming the row and entry (0-based, within the batch). Must pass before the two below, which trust the
  // batch.
  virtual Status validate(const Batch& batch) const = 0;
  // rows[t]: table t's rows for batch.keys() in order (dim floats a key); of a dense table, all of them.
  // scores: one raw score (margin or prediction before the link) a row of the batch; for classes, the class.
  virtual LossSum forward(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                          std::span<float> scores) = 0;
  // As forward(), whose sum it may leave out where the loss is of the one score.
  virtual LossSum score(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                        std::span<float> scores) {
    return forward(batch, rows, scores);
  }
  // Of a model of classes: the scores of each row's classes, one row after the other. False: it has none.
  virtual bool score_classes(const LocalBatch& /*batch*/, std::span<const std::span<const float>> /*rows*/,
                             std::vector<float>& /*scores*/) {
    return false;
  }
  // Of a dense model of classes or bytes: the scores of all that may follow the last entry of the batch's one
  // row, which may have fewer entries than ModelSpec::inputs. False: it has no such scores.
  virtual bool score_next(const LocalBatch& /*row*/, std::span<const std::span<const float>> /*rows*/,
                          std::vector<float>& /*scores*/) {
    return false;
  }
  // As forward(), and grads[t] (same shapes as rows[t], overwritten) gets d(sum of losses)/d(rows[t]): a sum
  // over the rows of the batch in their order, not a mean.
  virtual LossSum gradient(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                           std::span<float> scores, std::span<const std::span<float>> grads) = 0;
  // The same, and calls `ready` with each table once its gradient is whole, while others may still be
  // computed; with none where the loss is not finite.
  using GradientReady = std::function<void(std::size_t table)>;
  virtual LossSum gradient_by_table(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                                    std::span<float> scores, std::span<const std::span<float>> grads,
                                    const GradientReady& ready) {
    const LossSum sum = gradient(batch, rows, scores, grads);
    for (std::size_t t = 0; t < grads.size() && std::isfinite(sum.loss); ++t) ready(t);
    return sum;
  }
  // Why the last forward(), score_classes() or gradient computed nothing: its loss is then not finite, and
  // there are no scores. OK where it did.
  virtual Status failure() const { return ok_status(); }
};

// kUsage for an unknown name, a rank outside [1, 1024], ffm without fields, or a factor of more than 65,536
// floats.
Result<std::unique_ptr<Model>> make_model(const ModelSpec& spec);

}  // namespace thalweg
