// An application's dense model as a model of the trainer.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/dense/dense_rows.h"
#include "model/model_kind.h"
#include "thalweg/dense_model.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kRowsMax = 1u << 24, kOwnRowFloatsMax = 1u << 24;

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

class OwnModel final : public Model {
 public:
  OwnModel(const ModelSpec& spec, std::unique_ptr<DenseModel> own)
      : spec_(spec), own_(std::move(own)), parameters_(own_->parameters()) {}

  std::vector<TableSpec> tables() const override {
    std::vector<TableSpec> out;
    for (const DenseParameter& parameter : parameters_)
      out.push_back(table_of(parameter, spec_.weights, spec_.seed, out.size()));
    return out;
  }
  std::vector<std::uint64_t> tensor_shape(std::size_t table) const override {
    return {parameters_[table].shape.begin(), parameters_[table].shape.end()};
  }
  Status validate(const Batch& batch) const override { return check_inputs(batch, spec_); }
  LossSum forward(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                  std::span<float> scores) override {
    return learn(batch, rows, scores, {});
  }
  LossSum gradient(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                   std::span<float> scores, std::span<const std::span<float>> grads) override {
    return learn(batch, rows, scores, grads);
  }
  Status failure() const override { return failure_; }

 private:
  LossSum learn(const LocalBatch& batch, std::span<const std::span<const float>> rows,
                std::span<float> scores, std::span<const std::span<float>> grads) {
    write_inputs(batch, 0, batch.size(), spec_.inputs, inputs_);
    const Batch& all = batch.rows();
    std::span<const float> weights = all.weights;
    if (weights.empty()) {
      ones_.assign(batch.size(), 1.0f);
      weights = ones_;
    }
    LossSum sum;
    failure_ = ok_status();
    try {
      sum.loss = own_->learn({batch.size(), inputs_, all.labels, weights}, rows, scores, grads);
    } catch (const std::exception& error) {
      failure_ = {Code::kUsage, "model " + spec_.name + ": it fails on a batch of " +
                                    std::to_string(batch.size()) + " rows: " + first_line(error.what())};
      sum.loss = std::numeric_limits<double>::quiet_NaN();
    }
    sum.rows = batch.size();
    for (const float weight : weights) sum.weight += static_cast<double>(weight);
    return sum;
  }

  const ModelSpec spec_;
  const std::unique_ptr<DenseModel> own_;
  const std::vector<DenseParameter> parameters_;
  std::vector<float> inputs_, ones_;
  Status failure_;
};

bool can_be(const DenseParameter& parameter) {
  if (parameter.name.empty() || parameter.name.find('/') != std::string::npos || parameter.shape.empty())
    return false;
  std::uint64_t row = 1;
  for (std::size_t d = 0; d < parameter.shape.size(); ++d) {
    const auto size = static_cast<std::uint64_t>(parameter.shape[d]);
    if (parameter.shape[d] < 1 || size > (d == 0 ? kRowsMax : kOwnRowFloatsMax / row)) return false;
    if (d > 0) row *= size;
  }
  return true;
}

Status check_parameters(const std::vector<DenseParameter>& parameters, const std::string& model) {
  if (parameters.empty()) return {Code::kUsage, "model " + model + " has no parameters"};
  std::vector<std::string> names;
  for (const DenseParameter& parameter : parameters) {
    if (!can_be(parameter)) {
      return {Code::kUsage,
              "parameter '" + parameter.name + "' of model " + model +
                  "; expected a name without '/', and dimensions from 1: the first up to 2^24, the "
                  "product of the others too"};
    }
    names.push_back(parameter.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return ok_status();
  return {Code::kUsage, "model " + model + " has two parameters '" + *twice + "'; expected one of a name"};
}

}  // namespace

struct DenseModelKind::Described : ModelKind {
  Described(std::string its_name, Make its_make, DenseModelDefaults its_defaults)
      : own_name(std::move(its_name)), own_make(std::move(its_make)), own_defaults(std::move(its_defaults)) {
    defaults = {.epochs = own_defaults.epochs,
                .batch = own_defaults.batch,
                .rule = own_defaults.rule,
                .rate = own_defaults.rate,
                .hidden = own_defaults.hidden,
                .takes_hidden = true};
    name = own_name;
    dense = &defaults;
    check = &Described::check_own;
    make = &Described::make_own;
  }
  static std::unique_ptr<DenseModel> own_of(const ModelSpec& spec) {
    const auto kind = find_kind(spec);
    THALWEG_CHECK(kind.ok(), "it was found by its name");
    return static_cast<const Described*>(*kind)->own_make(
        {spec.inputs, spec.classes, spec.loss, spec.hidden});
  }
  static Status check_own(const ModelSpec& spec) {
    if (spec.inputs == 0) return ok_status();
    const auto own = own_of(spec);
    if (own == nullptr) return {Code::kUsage, "model " + spec.name + " is not made for these sizes"};
    return check_parameters(own->parameters(), spec.name);
  }
  static std::unique_ptr<Model> make_own(const ModelSpec& spec) {
    return std::make_unique<OwnModel>(spec, own_of(spec));
  }

  const std::string own_name;
  const Make own_make;
  const DenseModelDefaults own_defaults;
  DenseDefaults defaults;
};

DenseModelKind::DenseModelKind(std::string name, Make make, DenseModelDefaults defaults)
    : described_(std::make_unique<Described>(std::move(name), std::move(make), std::move(defaults))) {}
DenseModelKind::~DenseModelKind() = default;
const ModelKind* DenseModelKind::get() const { return described_.get(); }

}  // namespace thalweg
