// DeepFM (H. Guo et al., "DeepFM: A Factorization-Machine based Neural Network for CTR Prediction", IJCAI
// 2017, section 2): score = bias + <w, x> + pairs of the factorization machine + perceptron(a), where a has
// for each field the sum of x_i v_i over its entries (equation 4); of rows without fields the sum over all
// entries, as in their pooling by P. Covington et al., RecSys 2016, section 3.2, or, where a number of fields
// is given, each entry by itself: its place in the row is its field. Each row's numbers are
// normalised (J. L. Ba et al., "Layer Normalization", 2016, section 3, without gain and bias): factors begin
// near 0, where the layers would not learn from them.
#include "torch/deepfm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "base/check.h"
#include "model/dense/dense_rows.h"
#include "model/scorer.h"
#include "thalweg/torch_network.h"
#include "torch/network.h"

namespace thalweg {
namespace {

constexpr std::size_t kTablesBelow = 3;  // Bias, weights, factors.
constexpr std::size_t kFactors = 0;      // Of the tables above the linear part.
constexpr double kLeastVariance = 1e-5;  // As PyTorch's LayerNorm has it.
constexpr float kLastScale = 0.1f;

// Of torch.nn.Sequential(LayerNorm, Linear, ReLU, Linear, ...).
std::vector<Parameter> layers_of(const ModelSpec& spec) {
  std::vector<std::int64_t> widths = {static_cast<std::int64_t>(spec.rank) * std::max(spec.fields, 1u)};
  widths.insert(widths.end(), spec.hidden.begin(), spec.hidden.end());
  widths.push_back(1);
  std::vector<Parameter> out;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l)
    add_layer(out, "mlp." + std::to_string(2 * l + 1), {widths[l + 1], widths[l]});
  // What the layers add begins small, so that weights do not learn against it first; not at 0, from where
  // units would all learn the same.
  for (Parameter& last : std::span(out).last(2)) last.scale *= kLastScale;
  return out;
}

// Gradients are worked out by hand: what comes in is sparse, and the rest is a product or two a layer.
class DeepFm final : public Scorer {
 public:
  explicit DeepFm(const ModelSpec& spec)
      : Scorer(spec), pairs_(make_factorization_machine(spec)), layers_(layers_of(spec)) {}

  std::vector<TableSpec> tables() const override;
  std::vector<std::uint64_t> tensor_shape(std::size_t table) const override;
  Status validate(const Batch& batch) const override {
    if (spec().fields == 0) return ok_status();
    return spec().fields_by_place ? check_places(batch) : check_fields(batch, spec());
  }
  void add_scores(const LocalBatch& batch, TableRows above, std::span<float> scores) override;
  void add_gradients(const LocalBatch& batch, TableRows above, std::span<const float> slopes,
                     TableGrads grads) override;

 private:
  std::size_t width() const { return std::size_t{spec().rank} * std::max(spec().fields, 1u); }
  // Of rows without fields: each entry has a place of its own.
  Status check_places(const Batch& batch) const;
  // Calls visit(place of the entry's factor among all, its place among the inputs, the entry's value).
  template <class Visit>
  void for_entries(const LocalBatch& batch, Visit visit) const;
  at::Tensor parameter(TableRows above, std::size_t p) const;

  const std::unique_ptr<Scorer> pairs_;
  const std::vector<Parameter> layers_;  // Weight and bias of each.
  std::vector<float> pooled_;
  // As add_scores() has left them: what is normalised, by row, and the inputs of each layer.
  at::Tensor pooled_rows_, means_, scales_;
  std::vector<at::Tensor> inputs_;
};

std::vector<TableSpec> DeepFm::tables() const {
  std::vector<TableSpec> all = pairs_->tables();
  for (std::size_t p = 0; p < layers_.size(); ++p)
    all.push_back(table_of(layers_[p], spec().layers_rule, spec().seed, kTablesBelow + p));
  return all;
}

std::vector<std::uint64_t> DeepFm::tensor_shape(std::size_t table) const {
  if (table < kTablesBelow) return {};
  const auto& shape = layers_[table - kTablesBelow].shape;
  return {shape.begin(), shape.end()};
}

Status DeepFm::check_places(const Batch& batch) const {
  if (!batch.fields.empty()) {
    return {Code::kData,
            "rows have fields, and model " + spec().name +
                " has learnt of rows without any, by the places of their entries; expected such rows"};
  }
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    const std::uint32_t entries = batch.row_begin[r + 1] - batch.row_begin[r];
    if (entries <= spec().fields) continue;
    return {Code::kData, "row " + std::to_string(r) + " of a batch has " + std::to_string(entries) +
                             " entries; expected at most " + std::to_string(spec().fields) +
                             ", since an entry's place is its field where rows have none"};
  }
  return ok_status();
}

template <class Visit>
void DeepFm::for_entries(const LocalBatch& batch, Visit visit) const {
  const Batch& rows = batch.rows();
  const std::size_t rank = spec().rank;
  for (std::size_t r = 0; r < batch.size(); ++r) {
    for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
      std::size_t part = 0;
      if (spec().fields != 0) part = spec().fields_by_place ? e - rows.row_begin[r] : rows.fields[e];
      visit(batch.local()[e] * rank, r * width() + part * rank, rows.values.empty() ? 1.0f : rows.values[e]);
    }
  }
}

at::Tensor DeepFm::parameter(TableRows above, std::size_t p) const {
  return tensor_over(above[p + 1], layers_[p].shape);
}

void DeepFm::add_scores(const LocalBatch& batch, TableRows above, std::span<float> scores) {
  THALWEG_CHECK(above.size() == layers_.size() + 1, "factors, and one table a parameter");
  pairs_->add_scores(batch, above.first(1), scores);
  const std::size_t rank = spec().rank;
  pooled_.assign(batch.size() * width(), 0.0f);
  for_entries(batch, [&](std::size_t factor, std::size_t input, float x) {
    const float* __restrict const from = above[kFactors].data() + factor;
    float* __restrict const to = pooled_.data() + input;
    for (std::size_t f = 0; f < rank; ++f) to[f] += x * from[f];
  });
  at::init_num_threads();  // OpenMP keeps their number by thread.
  const c10::InferenceMode guard;
  const auto width_of_row = static_cast<std::int64_t>(width());
  pooled_rows_ = tensor_over(pooled_, {static_cast<std::int64_t>(batch.size()), width_of_row});
  inputs_.resize(1);
  std::tie(inputs_[0], means_, scales_) =
      at::native_layer_norm(pooled_rows_, {width_of_row}, {}, {}, kLeastVariance);
  for (std::size_t p = 0; p < layers_.size(); p += 2) {
    at::Tensor out = at::linear(inputs_.back(), parameter(above, p), parameter(above, p + 1));
    if (p + 2 < layers_.size()) out.relu_();
    inputs_.push_back(std::move(out));
  }
  const at::Tensor last = inputs_.back().contiguous();
  inputs_.pop_back();
  const float* const deep = last.data_ptr<float>();
  for (std::size_t r = 0; r < scores.size(); ++r) scores[r] += deep[r];
}

void DeepFm::add_gradients(const LocalBatch& batch, TableRows above, std::span<const float> slopes,
                           TableGrads grads) {
  THALWEG_CHECK(inputs_.size() * 2 == layers_.size(), "add_scores() came first");
  pairs_->add_gradients(batch, above.first(1), slopes, grads.first(1));
  const c10::InferenceMode guard;
  at::Tensor out = tensor_over(slopes, {static_cast<std::int64_t>(slopes.size()), 1});
  for (std::size_t p = layers_.size(); p > 0; p -= 2) {
    const at::Tensor& in = inputs_[p / 2 - 1];
    at::Tensor weight = tensor_over(grads[p - 1], layers_[p - 2].shape);
    at::Tensor bias = tensor_over(grads[p], layers_[p - 1].shape);
    at::mm_out(weight, out.t(), in);
    at::sum_out(bias, out, {0});
    out = at::mm(out, parameter(above, p - 2));
    if (p > 2) out.mul_(in.gt(0));
  }
  const at::Tensor whole =
      std::get<0>(at::native_layer_norm_backward(out.contiguous(), pooled_rows_, {pooled_rows_.size(1)},
                                                 means_, scales_, {}, {}, {true, false, false}))
          .contiguous();
  const std::size_t rank = spec().rank;
  for_entries(batch, [&](std::size_t factor, std::size_t input, float x) {
    const float* __restrict const from = whole.data_ptr<float>() + input;
    float* __restrict const to = grads[kFactors].data() + factor;
    for (std::size_t f = 0; f < rank; ++f) to[f] += x * from[f];
  });
}

}  // namespace

std::unique_ptr<Model> make_deepfm(const ModelSpec& spec) { return std::make_unique<DeepFm>(spec); }

}  // namespace thalweg
