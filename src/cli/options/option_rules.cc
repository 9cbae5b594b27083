#include "cli/options/option_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cli/options/choices.h"

namespace thalweg {
namespace {

enum class RuleType { kExclusive, kOnlyWith, kAtMost };

struct Rule {
  RuleType type;
  std::string_view option;
  std::string_view other;
  std::string_view (*words)() = nullptr;  // kOnlyWith: the choices of `other` that give `option` a meaning.
  // kOnlyWith: a choice of yet another option that gives it one too.
  std::string_view or_option{}, or_word{};
};

constexpr Rule kRules[] = {
    {RuleType::kExclusive, "valid", "valid-part"},
    {RuleType::kExclusive, "from-command", "processes"},
    {RuleType::kExclusive, "algorithm", "sync"},
    {RuleType::kExclusive, "init", "init-weights"},
    {RuleType::kExclusive, "seeds", "replay"},
    {RuleType::kExclusive, "quiet", "verbose"},
    {RuleType::kOnlyWith, "rank", "model", factor_model_choices},
    {RuleType::kOnlyWith, "init-scale", "model", factor_model_choices},
    {RuleType::kOnlyWith, "factor-optimizer", "model", factor_model_choices},
    {RuleType::kOnlyWith, "factor-rate", "model", factor_model_choices},
    {RuleType::kOnlyWith, "factor-l2", "model", factor_model_choices},
    {RuleType::kOnlyWith, "fields", "model", field_model_choices},
    {RuleType::kOnlyWith, "hidden", "model", hidden_model_choices},
    {RuleType::kOnlyWith, "layer-rate", "model", deep_model_choices},
    {RuleType::kOnlyWith, "layers", "model", text_model_choices},
    {RuleType::kOnlyWith, "width", "model", text_model_choices},
    {RuleType::kOnlyWith, "heads", "model", text_model_choices},
    {RuleType::kOnlyWith, "context", "model", text_model_choices},
    {RuleType::kOnlyWith, "inputs", "model", dense_model_choices},
    {RuleType::kOnlyWith, "classes", "model", dense_model_choices, "loss", "classes"},
    {RuleType::kOnlyWith, "l1", "optimizer", l1_rule_choices},
    {RuleType::kOnlyWith, "columns", "format", named_format_choices},
    {RuleType::kOnlyWith, "label-column", "format", named_format_choices},
    {RuleType::kOnlyWith, "weight-column", "format", named_format_choices},
    {RuleType::kOnlyWith, "combine", "sync", [] { return std::string_view("bsp"); }},
    {RuleType::kAtMost, "workers", "data-shards"},
};

bool given(const Options& options, std::string_view name) {
  return options.origin(name) != Origin::kDefault && value_text(options.value(name)) != "false";
}

std::string named(const Options& options, std::string_view name) {
  const OptionRow* row = find_option(name);
  const std::string value =
      row->type == OptionType::kFlag ? "" : fmt::format(" {}", value_text(options.value(name)));
  return fmt::format("--{}{} ({})", spelling(*row), value, options.place(name));
}

// Of a rule of kOnlyWith: whether what was chosen gives the option a meaning, as far as it is known here.
bool has_meaning(const Options& options, const Rule& rule) {
  const auto choice = options.maybe_choice(rule.other);
  const bool goes_on = given(options, "init") || given(options, "init-weights");
  if (!choice || (goes_on && rule.other == "model" && options.origin(rule.other) == Origin::kDefault))
    return true;
  const auto words = split(rule.words(), '|');
  if (std::find(words.begin(), words.end(), choice->word) != words.end()) return true;
  const auto alternative = rule.or_option.empty() ? std::nullopt : options.maybe_choice(rule.or_option);
  return alternative && alternative->word == rule.or_word;
}

bool is_of_other_choice(const Options& options, const Rule& rule) {
  return options.origin(rule.option) < options.origin(rule.other);
}

Status check(const Options& options, const Rule& rule) {
  THALWEG_CHECK(find_option(rule.option) != nullptr && find_option(rule.other) != nullptr,
                "a rule speaks of options in the table");
  if (!given(options, rule.option)) return ok_status();
  const auto refuse = [&](std::string_view why) {
    return Status(Code::kUsage,
                  fmt::format("{} {} {}", named(options, rule.option), why, named(options, rule.other)));
  };
  switch (rule.type) {
    case RuleType::kExclusive:
      return given(options, rule.other) ? refuse("cannot be combined with") : ok_status();
    case RuleType::kOnlyWith: {
      if (has_meaning(options, rule) || is_of_other_choice(options, rule)) return ok_status();
      Status status = refuse("has no meaning with");
      return {status.code(),
              fmt::format(
                  "{}\nhint: --{} is for --{} {}{}", status.message(), spelling(*find_option(rule.option)),
                  spelling(*find_option(rule.other)), fmt::join(split(rule.words(), '|'), " or "),
                  rule.or_option.empty() ? "" : fmt::format(" or --{} {}", rule.or_option, rule.or_word))};
    }
    case RuleType::kAtMost: {
      const auto most = options.maybe_integer(rule.other);
      return most && options.integer(rule.option) > *most ? refuse("is more than") : ok_status();
    }
  }
  return ok_status();
}

}  // namespace

Status check_rules(const Options& options, const CommandLine& line) {
  for (const Rule& rule : kRules) {
    if (!line.in_scope(*find_option(rule.option))) continue;
    if (Status status = check(options, rule); !status.ok()) return status;
  }
  return ok_status();
}

Options without_other_choices(Options options) {
  for (const Rule& rule : kRules) {
    if (rule.type != RuleType::kOnlyWith) continue;
    if (given(options, rule.option) && !has_meaning(options, rule) && is_of_other_choice(options, rule))
      options.forget(*find_option(rule.option));
  }
  return options;
}

}  // namespace thalweg
