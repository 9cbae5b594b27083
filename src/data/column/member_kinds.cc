#include "data/column/member_kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

using Kind = Column::Kind;

bool is_target(const ColumnItem& item) { return item.kind == Kind::kLabel || item.kind == Kind::kWeight; }

Status check_item(const ColumnItem& item) {
  const std::string what = item.name.empty() ? std::string(column_kind_name(item.kind)) : item.name;
  if (item.name.empty() || item.count != 1) {
    return {Code::kUsage,
            fmt::format("--columns: members of JSON lines have names and no order; saw \"{}\", expected "
                        "NAME:KIND, such as user_id:cat",
                        what)};
  }
  if (range_of(item)) {
    return {Code::kUsage, fmt::format("--columns: members of JSON lines have no order, so that \"{}\" is no "
                                      "range; expected a name, or a pattern such as C*:cat",
                                      what)};
  }
  if (is_pattern(item) && is_target(item)) {
    return {Code::kUsage, fmt::format("--columns: the pattern \"{}\" cannot be the {}; expected a name", what,
                                      column_kind_name(item.kind))};
  }
  return ok_status();
}

std::string text_of_item(const ColumnItem& item, bool without_scaled) {
  Column column;
  const bool scaled = item.kind == Kind::kNumeric && item.number_told;
  column.kind = without_scaled && scaled ? Kind::kIgnored : item.kind;
  column.number = item.number;
  const bool raw = column.kind == Kind::kNumeric && scaled && item.number == NumberForm();
  const std::string name = is_pattern(item) ? item.name : quoted_column_name(item.name);
  return fmt::format("{}:{}{}", name, column_kind_text(column), raw ? ":raw" : "");
}

}  // namespace

std::string item_text(const ColumnItem& item) { return text_of_item(item, false); }

bool says_all_columns(std::string_view columns) {
  const auto items = parse_column_items(columns, "the model's columns");
  return items && std::any_of(items->begin(), items->end(),
                              [](const ColumnItem& item) { return item.kind == Kind::kLabel; });
}

Result<MemberKinds> MemberKinds::of(const ReadOptions& options) {
  MemberKinds out;
  const bool told = !options.columns.empty();
  const std::string& text = told ? options.columns : options.known_columns;
  if (text.empty()) return out;
  auto items = parse_column_items(text, told ? "--columns" : "the model's columns");
  if (!items) return items.status();
  out.leaves_others_out_ = !told;
  for (ColumnItem& item : *items) {
    // A column without a name of its own is no member, and which member is the label is asked anew.
    if (!told && is_target(item)) continue;
    if (Status status = told ? check_item(item) : ok_status(); !status.ok()) return status;
    std::string* const target = item.kind == Kind::kLabel    ? &out.label_
                                : item.kind == Kind::kWeight ? &out.weight_
                                                             : nullptr;
    if (target != nullptr && !target->empty()) {
      return Status(Code::kUsage, fmt::format("--columns: \"{}\" and \"{}\" are both the {}, expected one",
                                              *target, item.name, column_kind_name(item.kind)));
    }
    if (target != nullptr) *target = item.name;
    if (told && is_pattern(item)) {
      out.patterns_.push_back(std::move(item));
    } else {
      std::string name = item.name;
      out.by_name_.insert_or_assign(std::move(name), std::move(item));
    }
  }
  return out;
}

void settle_members(ReadOptions& options) {
  const auto kinds = MemberKinds::of(options);
  if (options.columns.empty() || !kinds) return;
  if (options.label_column.empty()) options.label_column = kinds->label();
  if (options.weight_column.empty()) options.weight_column = kinds->weight();
  options.columns = kinds->text();
}

bool says_known_of_members(const std::string& columns, const std::string& known) {
  ReadOptions here, there;
  here.columns = columns, there.columns = known;
  const auto said = MemberKinds::of(here), all = MemberKinds::of(there);
  if (!said || !all) return false;
  const std::vector<std::string> items = said->items(), known_items = all->items();
  return std::all_of(items.begin(), items.end(), [&](const std::string& item) {
    return std::find(known_items.begin(), known_items.end(), item) != known_items.end();
  });
}

std::optional<std::vector<ColumnItem>> items_beyond(const std::string& columns, const std::string& known) {
  ReadOptions there;
  there.columns = known;
  const auto all = MemberKinds::of(there);
  auto said = parse_column_items(columns, "--columns");
  if (!said || !all) return std::nullopt;
  std::vector<ColumnItem> beyond;
  for (ColumnItem& item : *said) {
    if (is_target(item) || says_known_of_members(item_text(item), known)) continue;
    if (!check_item(item).ok() || is_pattern(item) || all->find(item.name) != nullptr) return std::nullopt;
    beyond.push_back(std::move(item));
  }
  return beyond;
}

const ColumnItem* MemberKinds::find(std::string_view path) const {
  if (const auto own = by_name_.find(path); own != by_name_.end()) return &own->second;
  for (const ColumnItem& pattern : patterns_) {
    if (matches_pattern(pattern.name, path)) return &pattern;
  }
  return nullptr;
}

std::vector<std::string> MemberKinds::names() const {
  std::vector<std::string> names;
  for (const auto& [name, item] : by_name_) {
    if (!is_target(item)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> MemberKinds::items(bool without_scaled) const {
  std::vector<std::string> items;
  const auto add = [&](const ColumnItem& item) {
    if (!is_target(item)) items.push_back(text_of_item(item, without_scaled));
  };
  for (const auto& [name, item] : by_name_) add(item);
  for (const ColumnItem& pattern : patterns_) add(pattern);
  return items;
}

std::string MemberKinds::text(bool without_scaled) const {
  return fmt::format("{}", fmt::join(items(without_scaled), ","));
}

}  // namespace thalweg
