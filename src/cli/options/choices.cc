#include "cli/options/choices.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/rule_fields.h"
#include "data/reader/row_format.h"
#include "model/model_kind.h"

namespace thalweg {
namespace {

std::string formats_where(bool (*wanted)(const RowFormat&)) {
  std::vector<std::string_view> names = {"auto"};
  for (const RowFormat* format : row_formats()) {
    if (wanted(*format)) names.push_back(format->name);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string models_where(bool (*wanted)(const ModelKind&)) {
  std::vector<std::string_view> names;
  for (const ModelKind* kind : model_kinds()) {
    if (wanted(*kind)) names.push_back(kind->name);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string rules_where(bool (*wanted)(RuleKind)) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    if (wanted(static_cast<RuleKind>(i))) names.push_back(kRuleNames[i]);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

}  // namespace

std::string_view format_choices() {
  static const std::string kWords = formats_where([](const RowFormat&) { return true; });
  return kWords;
}

std::string_view column_format_choices() {
  static const std::string kWords = formats_where([](const RowFormat& format) { return format.columns; });
  return kWords;
}

std::string_view named_format_choices() {
  static const std::string kWords =
      formats_where([](const RowFormat& format) { return format.columns || format.members; });
  return kWords;
}

std::string_view model_choices() {
  static const std::string kWords = [] {
    std::vector<std::string> names;
    for (const ModelKind* kind : model_kinds())
      names.push_back(fmt::format("{}{}", kind->name, kind->takes_file ? ":FILE" : ""));
    return fmt::format("{}", fmt::join(names, "|"));
  }();
  return kWords;
}

std::string_view factor_model_choices() {
  static const std::string kWords = models_where([](const ModelKind& kind) { return kind.factors; });
  return kWords;
}

std::string_view field_model_choices() {
  static const std::string kWords =
      models_where([](const ModelKind& kind) { return kind.fields || kind.deep != nullptr; });
  return kWords;
}

std::string_view dense_model_choices() {
  static const std::string kWords = models_where([](const ModelKind& kind) { return kind.dense != nullptr; });
  return kWords;
}

std::string_view hidden_model_choices() {
  static const std::string kWords = models_where(takes_hidden);
  return kWords;
}

std::string_view deep_model_choices() {
  static const std::string kWords = models_where([](const ModelKind& kind) { return kind.deep != nullptr; });
  return kWords;
}

std::string_view text_model_choices() {
  static const std::string kWords = models_where(
      [](const ModelKind& kind) { return kind.dense != nullptr && kind.dense->text != nullptr; });
  return kWords;
}

std::string_view rule_choices() {
  static const std::string kWords = rules_where(is_of_gradients);
  return kWords;
}

std::string_view l1_rule_choices() {
  static const std::string kWords = rules_where(takes_l1);
  return kWords;
}

}  // namespace thalweg
