// The files of the built-in update rules, each a type with its formula; thalweg/rule_kinds.h lists them.
#if defined(THALWEG_TABLE_RULE_ALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ALL_INL_H_
#undef THALWEG_TABLE_RULE_ALL_INL_H_
#else
#define THALWEG_TABLE_RULE_ALL_INL_H_
#endif

#include <array>

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
#define THALWEG_RULE_FACTS(kind, name, type, l1) type::kFacts,
inline constexpr std::array kRuleFacts = {THALWEG_RULES(THALWEG_RULE_FACTS)};
#undef THALWEG_RULE_FACTS

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
