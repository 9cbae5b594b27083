// The names of update rules and the numbers of a RuleSpec, once for all that write them and read them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "thalweg/options.h"

namespace thalweg {

// By RuleKind.
#define THALWEG_RULE_NAME(kind, name, type, l1) name,
inline constexpr std::array kRuleNames = {THALWEG_RULES(THALWEG_RULE_NAME) "custom"};
#undef THALWEG_RULE_NAME

constexpr const char* rule_name(RuleKind kind) { return kRuleNames.at(static_cast<std::size_t>(kind)); }

constexpr std::optional<RuleKind> rule_named(std::string_view name) {
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    if (name == kRuleNames[i]) return static_cast<RuleKind>(i);
  }
  return std::nullopt;
}

// Those that a trainer may be asked for.
constexpr bool is_of_gradients(RuleKind kind) { return kind >= RuleKind::kSgd && kind < RuleKind::kCustom; }

#define THALWEG_RULE_L1(rule, name, type, l1) (l1 && kind == RuleKind::rule) ||
constexpr bool takes_l1(RuleKind kind) { return THALWEG_RULES(THALWEG_RULE_L1) false; }
#undef THALWEG_RULE_L1

// Calls `field(name, number)` for each number of `rule`, a RuleSpec, in the order in which they travel.
template <class Rule, class Field>
void for_each_number(Rule& rule, Field field) {
  field("rate", rule.rate);
  field("l1", rule.l1);
  field("l2", rule.l2);
  field("momentum", rule.momentum);
  field("beta1", rule.beta1);
  field("beta2", rule.beta2);
  field("epsilon", rule.epsilon);
  field("initial_accumulator", rule.initial_accumulator);
}

}  // namespace thalweg
