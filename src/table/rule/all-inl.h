// The built-in update rules, each a type with its formula in a file of its own. A new one is that file, its
// type in the list below, and its kind and name in thalweg/options.h and base/rule_fields.h.
#if defined(THALWEG_TABLE_RULE_ALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ALL_INL_H_
#undef THALWEG_TABLE_RULE_ALL_INL_H_
#else
#define THALWEG_TABLE_RULE_ALL_INL_H_
#endif

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "table/rule/adagrad-inl.h"
#include "table/rule/adam-inl.h"
#include "table/rule/add-inl.h"
#include "table/rule/assign-inl.h"
#include "table/rule/ftrl-inl.h"
#include "table/rule/momentum-inl.h"
#include "table/rule/nesterov-inl.h"
#include "table/rule/rmsprop-inl.h"
#include "table/rule/sgd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

// By RuleKind.
using Rules = std::tuple<Add, Assign, Sgd, Momentum, Nesterov, Adagrad, Rmsprop, Adam, AdamW, Ftrl>;

template <class... Rule>
constexpr std::array<RuleFacts, sizeof...(Rule)> facts_of(std::type_identity<std::tuple<Rule...>>) {
  return {Rule::kFacts...};
}
inline constexpr auto kRuleFacts = facts_of(std::type_identity<Rules>{});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRuleFacts.size(); ++i) {
    if (kRuleFacts[i].kind != static_cast<RuleKind>(i) ||
        kRuleFacts[i].name != std::string_view(kRuleNames[i]))
      return false;
  }
  return kRuleFacts.size() == static_cast<std::size_t>(RuleKind::kCustom);
}
static_assert(in_order(), "a rule for each kind but the custom one, by its name");

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
