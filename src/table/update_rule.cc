#include "table/update_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace thalweg {
namespace {

constexpr std::uint32_t kPreparedSteps = 4096;

Status must_be(bool holds, const char* field, float value, const char* expected) {
  if (holds) return ok_status();
  return {Code::kUsage, fmt::format("update rule: {} is {}, expected {}", field, value, expected)};
}

}  // namespace

Status UpdateRule::check(const RuleSpec& rule, const CustomRule* custom) {
  if (rule.kind > RuleKind::kCustom) {
    return {Code::kUsage,
            fmt::format("update rule: kind {}, expected one of 0 to {}", static_cast<unsigned>(rule.kind),
                        static_cast<unsigned>(RuleKind::kCustom))};
  }
  const auto decay = [](float beta) { return beta >= 0.0f && beta < 1.0f; };
  const auto amount = [](float x) { return std::isfinite(x) && x >= 0.0f; };
  const bool positive_rate = rule.kind != RuleKind::kFtrl || rule.rate > 0.0f;
  for (const Status& status :
       {must_be(amount(rule.rate) && positive_rate, "rate", rule.rate, "a finite number above 0"),
        must_be(amount(rule.l1), "l1", rule.l1, "a finite number of at least 0"),
        must_be(amount(rule.l2), "l2", rule.l2, "a finite number of at least 0"),
        must_be(decay(rule.momentum), "momentum", rule.momentum, "a number in [0, 1)"),
        must_be(decay(rule.beta1), "beta1", rule.beta1, "a number in [0, 1)"),
        must_be(decay(rule.beta2), "beta2", rule.beta2, "a number in [0, 1)"),
        must_be(amount(rule.epsilon), "epsilon", rule.epsilon, "a finite number of at least 0"),
        must_be(amount(rule.initial_accumulator), "initial_accumulator", rule.initial_accumulator,
                "a finite number of at least 0")}) {
    if (!status.ok()) return status;
  }
  if (rule.kind == RuleKind::kCustom && custom == nullptr) {
    return {Code::kUsage, fmt::format("update rule: no custom rule '{}' is registered here; give it to "
                                      "JobOptions::rules and run_server()",
                                      rule.custom)};
  }
  return ok_status();
}

UpdateRule::UpdateRule(const RuleSpec& rule, std::size_t dim, std::shared_ptr<const CustomRule> custom)
    : params_{rule, dim, {}}, custom_(rule.kind == RuleKind::kCustom ? std::move(custom) : nullptr) {
  if (custom_) {
    state_floats_ = custom_->state_floats(dim);
    return;
  }
  facts_ = facts_of(rule.kind);
  state_floats_ = static_cast<std::size_t>(facts_.states) * dim + (facts_.counts_updates ? 1 : 0);
  if (!facts_.counts_updates) return;
  factors_ = first_adam_factors(rule, kPreparedSteps);
  params_.factors = factors_;
}

void UpdateRule::fill_state(std::span<const float> row, std::span<float> state) const {
  if (facts_.fill_state) return facts_.fill_state(params_.rule, row, state);
  std::fill(state.begin(), state.end(), 0.0f);
}

std::span<const float> UpdateRule::stored(std::span<const float> rows, std::size_t width,
                                          std::vector<float>& made) const {
  const std::size_t dim = params_.dim;
  if (width == dim + state_floats_) return rows;
  made.resize(rows.size() / dim * (dim + state_floats_));
  const std::span<float> all(made);
  for (std::size_t i = 0; i * dim < rows.size(); ++i) {
    const auto row = all.subspan(i * (dim + state_floats_), dim + state_floats_);
    std::copy_n(rows.data() + i * dim, dim, row.data());
    fill_state(row.first(dim), row.subspan(dim));
  }
  return made;
}

void UpdateRule::update_rows(float* const* rows, const float* grads, std::size_t count) const {
  if (!custom_) return kernels::update_rows(params_, rows, grads, count);
  const std::size_t dim = params_.dim;
  for (std::size_t r = 0; r < count; ++r) {
    custom_->update({rows[r], dim}, {rows[r] + dim, state_floats_}, {grads + r * dim, dim});
  }
}

void UpdateRule::update_planes(const RowPlanes& planes, const float* grads, std::size_t count) const {
  if (!custom_) return kernels::update_planes(params_, planes, grads, count);
  const std::size_t dim = params_.dim;
  for (std::size_t r = 0; r < count; ++r) {
    custom_->update({planes.row + r * dim, dim}, {planes.state0 + r * state_floats_, state_floats_},
                    {grads + r * dim, dim});
  }
}

}  // namespace thalweg
