#include "torch/torch_model.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "model/dense/dense_rows.h"
#include "thalweg/torch_network.h"
#include "torch/torch_error.h"

namespace thalweg {
namespace {

using TableRows = std::span<const std::span<const float>>;
using TableGrads = std::span<const std::span<float>>;

// Rows of a batch that are computed on together.
struct RowRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  std::int64_t count() const { return static_cast<std::int64_t>(size()); }
  std::span<const float> of(const std::vector<float>& all) const {
    return std::span(all).subspan(begin, size());
  }
  static std::vector<RowRange> cut(std::size_t rows, std::size_t most) {
    std::vector<RowRange> ranges;
    for (std::size_t at = 0; at < rows; at += most) ranges.push_back({at, std::min(rows, at + most)});
    return ranges;
  }
};

class TorchModel final : public Model {
 public:
  TorchModel(const ModelSpec& spec, std::unique_ptr<Network> network)
      : spec_(spec), network_(std::move(network)), parameters_(network_->parameters()) {}

  std::vector<TableSpec> tables() const override;
  std::vector<std::uint64_t> tensor_shape(std::size_t table) const override {
    return {parameters_[table].shape.begin(), parameters_[table].shape.end()};
  }
  std::span<const float> initial(std::size_t table) const override { return network_->initial(table); }
  Result<std::vector<FixedTensor>> fixed() const override { return network_->fixed(); }
  Status validate(const Batch& batch) const override;
  LossSum forward(const LocalBatch& batch, TableRows rows, std::span<float> scores) override {
    return held(batch, [&] { return measure(batch, rows, scores); });
  }
  LossSum gradient(const LocalBatch& batch, TableRows rows, std::span<float> scores,
                   TableGrads grads) override {
    return gradient_by_table(batch, rows, scores, grads, nullptr);
  }
  LossSum gradient_by_table(const LocalBatch& batch, TableRows rows, std::span<float> scores,
                            TableGrads grads, const GradientReady& ready) override {
    return held(batch, [&] { return learn(batch, rows, scores, grads, ready); });
  }
  bool score_classes(const LocalBatch& batch, TableRows rows, std::vector<float>& scores) override;
  bool score_next(const LocalBatch& row, TableRows rows, std::vector<float>& scores) override;
  Status failure() const override { return failure_; }

 private:
  // What a user's module throws, which may be anything for some rows and not for others, ends here.
  template <class Compute>
  LossSum held(const LocalBatch& batch, const Compute& compute) {
    failure_ = ok_status();
    try {
      return compute();
    } catch (const std::exception& error) {
      const std::string name = spec_.script.empty() ? "model " + spec_.name : spec_.script;
      const std::string why = torch_error_line(error);
      const bool lacks_memory = why.find("can't allocate memory") != why.npos;
      failure_ = {lacks_memory ? Code::kIo : Code::kUsage,
                  name + ": it fails on a batch of " + std::to_string(batch.size()) + " rows: " + why +
                      (lacks_memory ? "\nhint: lower --batch, --context or the model's sizes" : "")};
      return {.loss = std::numeric_limits<double>::quiet_NaN()};
    }
  }
  LossSum measure(const LocalBatch& batch, TableRows rows, std::span<float> scores);
  LossSum learn(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads,
                const GradientReady& ready);
  at::Tensor inputs_of(const LocalBatch& batch, RowRange range);
  std::vector<at::Tensor> tensors_over(TableRows rows) const;
  at::Tensor told_losses(const at::Tensor& outputs, const at::Tensor& inputs, const LocalBatch& batch,
                         RowRange range) const;
  at::Tensor own_losses(const at::Tensor& outputs, const LocalBatch& batch, RowRange range) const;
  at::Tensor byte_losses(const at::Tensor& outputs, const at::Tensor& inputs, const at::Tensor& last) const;
  Status validate_text(const Batch& batch, std::size_t row) const;
  void take(const at::Tensor& outputs, const at::Tensor& losses, const LocalBatch& batch, RowRange range,
            std::span<float> scores, LossSum& sum) const;

  const ModelSpec spec_;
  const std::unique_ptr<Network> network_;
  const std::vector<Parameter> parameters_;
  std::vector<float> inputs_;
  Status failure_;
};

std::vector<TableSpec> TorchModel::tables() const {
  std::vector<TableSpec> out;
  for (const Parameter& parameter : parameters_)
    out.push_back(table_of(parameter, spec_.weights, spec_.seed, out.size()));
  return out;
}

Status TorchModel::validate(const Batch& batch) const {
  if (spec_.loss != Loss::kBytes) return check_inputs(batch, spec_);
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    if (Status status = validate_text(batch, r); !status.ok()) return status;
  }
  return ok_status();
}

bool is_byte(float value) { return value >= 0 && value < 256 && value == std::floor(value); }

// As open_rows() makes them: the bytes of all places in their order.
Status TorchModel::validate_text(const Batch& batch, std::size_t row) const {
  const std::uint32_t begin = batch.row_begin[row];
  bool is_text = batch.row_begin[row + 1] - begin == spec_.inputs && !batch.values.empty();
  for (std::uint32_t i = 0; is_text && i < spec_.inputs; ++i)
    is_text = batch.keys[begin + i] == i && is_byte(batch.values[begin + i]);
  if (is_text) return ok_status();
  return {Code::kData, "row " + std::to_string(row) + " of a batch is not the " +
                           std::to_string(spec_.inputs) + " bytes that model " + spec_.name + " takes"};
}

at::Tensor TorchModel::inputs_of(const LocalBatch& batch, RowRange range) {
  write_inputs(batch, range.begin, range.end, spec_.inputs, inputs_);
  return tensor_over(inputs_, {range.count(), static_cast<std::int64_t>(spec_.inputs)});
}

std::vector<at::Tensor> TorchModel::tensors_over(TableRows rows) const {
  THALWEG_CHECK(rows.size() == parameters_.size(), "one table a parameter");
  std::vector<at::Tensor> out;
  for (std::size_t t = 0; t < rows.size(); ++t) out.push_back(tensor_over(rows[t], parameters_[t].shape));
  return out;
}

at::Tensor weighted(const at::Tensor& losses, const LocalBatch& batch, RowRange range) {
  const std::vector<float>& weights = batch.rows().weights;
  return weights.empty() ? losses : losses * tensor_over(range.of(weights), {range.count()});
}

// By the loss that the model's figures are named after: of each row, times its weight.
at::Tensor TorchModel::told_losses(const at::Tensor& outputs, const at::Tensor& inputs,
                                   const LocalBatch& batch, RowRange range) const {
  const at::Tensor targets = tensor_over(range.of(batch.rows().labels), {range.count()});
  return weighted(spec_.loss == Loss::kBytes ? byte_losses(outputs, inputs, targets)
                                             : losses_of(spec_.loss, outputs, targets),
                  batch, range);
}

// By the network's own, which it then learns by; undefined where it has none.
at::Tensor TorchModel::own_losses(const at::Tensor& outputs, const LocalBatch& batch, RowRange range) const {
  const at::Tensor losses =
      network_->losses(outputs, tensor_over(range.of(batch.rows().labels), {range.count()}));
  return losses.defined() ? weighted(losses, batch, range) : losses;
}

// Each byte of a row is what follows the one before; `last` are those that follow the rows.
at::Tensor TorchModel::byte_losses(const at::Tensor& outputs, const at::Tensor& inputs,
                                   const at::Tensor& last) const {
  const at::Tensor next = at::cat({inputs.slice(1, 1), last.unsqueeze(1)}, 1).to(at::kLong);
  const at::Tensor losses =
      at::cross_entropy_loss(outputs.flatten(0, 1), next.flatten(), {}, at::Reduction::None);
  return losses.view(next.sizes()).sum(1);
}

// Adds the rows' losses to `sum`, and tells their scores.
void TorchModel::take(const at::Tensor& outputs, const at::Tensor& losses, const LocalBatch& batch,
                      RowRange range, std::span<float> scores, LossSum& sum) const {
  const at::Tensor last = spec_.loss == Loss::kBytes ? outputs.select(1, -1) : outputs;
  const at::Tensor shown =
      is_of_score(spec_.loss) ? last.squeeze(1).contiguous() : last.argmax(1).to(at::kFloat);
  std::copy_n(shown.data_ptr<float>(), range.size(), scores.data() + range.begin);
  const at::Tensor all = losses.contiguous();
  const float* const each = all.data_ptr<float>();
  const std::vector<float>& weights = batch.rows().weights;
  const double terms =
      spec_.loss == Loss::kBytes ? static_cast<double>(spec_.inputs) : 1;  // Of a row's loss.
  sum.rows += range.size();
  for (std::size_t r = 0; r < range.size(); ++r) {
    sum.loss += static_cast<double>(each[r]);
    sum.weight += terms * (weights.empty() ? 1.0 : static_cast<double>(weights[range.begin + r]));
  }
}

LossSum TorchModel::measure(const LocalBatch& batch, TableRows rows, std::span<float> scores) {
  THALWEG_CHECK(scores.size() == batch.size(), "one score a row");
  at::init_num_threads();  // OpenMP keeps their number by thread.
  const c10::InferenceMode guard;
  const std::vector<at::Tensor> parameters = tensors_over(rows);
  LossSum sum;
  for (const RowRange range : RowRange::cut(batch.size(), network_->rows_at_once())) {
    const at::Tensor inputs = inputs_of(batch, range);
    const at::Tensor outputs = network_->forward(parameters, inputs);
    take(outputs, told_losses(outputs, inputs, batch, range), batch, range, scores, sum);
  }
  return sum;
}

bool TorchModel::score_classes(const LocalBatch& batch, TableRows rows, std::vector<float>& scores) {
  if (spec_.loss != Loss::kClasses) return false;
  scores.clear();
  (void)held(batch, [&] {
    at::init_num_threads();  // OpenMP keeps their number by thread.
    const c10::InferenceMode guard;
    const std::vector<at::Tensor> parameters = tensors_over(rows);
    for (const RowRange range : RowRange::cut(batch.size(), network_->rows_at_once())) {
      const at::Tensor outputs = network_->forward(parameters, inputs_of(batch, range)).contiguous();
      const float* const each = outputs.data_ptr<float>();
      scores.insert(scores.end(), each, each + outputs.numel());
    }
    return LossSum();
  });
  return true;
}

bool TorchModel::score_next(const LocalBatch& row, TableRows rows, std::vector<float>& scores) {
  THALWEG_CHECK(row.size() == 1 && !row.local().empty(), "one row with an entry");
  if (is_of_score(spec_.loss)) return false;
  at::init_num_threads();  // OpenMP keeps their number by thread.
  const c10::InferenceMode guard;
  at::Tensor outputs = network_->forward(tensors_over(rows), inputs_of(row, {0, 1}));
  // What follows an entry is computed from those up to it alone.
  if (spec_.loss == Loss::kBytes)
    outputs = outputs.select(1, static_cast<std::int64_t>(row.local().size()) - 1);
  const at::Tensor flat = outputs.contiguous();
  scores.assign(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  return true;
}

// Tells that a parameter's gradient of a backward pass has been added to what was there.
class GradientAdded final : public torch::autograd::FunctionPostHook {
 public:
  explicit GradientAdded(std::function<void()> then) : then_(std::move(then)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    then_();
    return outputs;
  }

 private:
  std::function<void()> then_;
};

LossSum TorchModel::learn(const LocalBatch& batch, TableRows rows, std::span<float> scores, TableGrads grads,
                          const GradientReady& ready) {
  THALWEG_CHECK(scores.size() == batch.size(), "one score a row");
  at::init_num_threads();  // OpenMP keeps their number by thread.
  std::vector<at::Tensor> parameters = tensors_over(rows);
  for (std::size_t t = 0; t < parameters.size(); ++t) {
    std::fill(grads[t].begin(), grads[t].end(), 0.0f);
    parameters[t].requires_grad_(true);
    parameters[t].mutable_grad() = torch::from_blob(grads[t].data(), parameters_[t].shape);
  }
  std::vector<bool> told(parameters.size(), !ready);
  const auto tell = [&](std::size_t t) {
    if (!told[t]) ready(t);
    told[t] = true;
  };
  LossSum sum;
  for (const RowRange range : RowRange::cut(batch.size(), network_->rows_at_once())) {
    const at::Tensor inputs = inputs_of(batch, range);
    const at::Tensor outputs = network_->forward(parameters, inputs);
    const at::Tensor own = own_losses(outputs, batch, range);
    const at::Tensor measured = told_losses(own.defined() ? outputs.detach() : outputs, inputs, batch, range);
    take(outputs.detach(), measured.detach(), batch, range, scores, sum);
    const at::Tensor losses = (own.defined() ? own : measured).sum();
    if (!std::isfinite(sum.loss) || !std::isfinite(losses.item<float>())) return sum;
    std::vector<std::shared_ptr<torch::autograd::Node>> adders;  // Parameters do not own theirs.
    for (std::size_t t = 0; range.end == batch.size() && t < parameters.size(); ++t) {
      adders.push_back(torch::autograd::impl::grad_accumulator(parameters[t]));
      adders.back()->add_post_hook(std::make_unique<GradientAdded>([&tell, t] { tell(t); }));
    }
    losses.backward();
  }
  for (std::size_t t = 0; t < parameters.size(); ++t) {
    THALWEG_CHECK(parameters[t].grad().data_ptr() == grads[t].data(),
                  "gradients are added up where they are wanted");
    tell(t);
  }
  return sum;
}

}  // namespace

void add_layer(std::vector<Parameter>& parameters, const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t inputs = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) inputs *= shape[d];
  const float bound = 1.0f / std::sqrt(static_cast<float>(inputs));
  const std::int64_t outputs = shape[0];
  parameters.push_back({name + ".weight", std::move(shape), InitSpec::Kind::kUniform, bound});
  parameters.push_back({name + ".bias", {outputs}, InitSpec::Kind::kUniform, bound});
}

std::unique_ptr<Model> make_torch_model(const ModelSpec& spec, std::unique_ptr<Network> network) {
  return std::make_unique<TorchModel>(spec, std::move(network));
}

}  // namespace thalweg
