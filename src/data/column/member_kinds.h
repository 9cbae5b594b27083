// What members of JSON lines are where --columns says it, or a model of CSV knows columns of their names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/column/column_items.h"
#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

// Whether a text as columns_text() says it tells of all columns, as a model of CSV's does: one of them is the
// label. A model of JSON lines has what was said of some members; the others are what their values are.
bool says_all_columns(std::string_view columns);

// As MemberKinds::text() has it.
std::string item_text(const ColumnItem& item);

// Label and weight that `columns` names become label_column and weight_column, and the rest of it text().
void settle_members(ReadOptions& options);
// Whether each item of `columns`, label and weight left out, is one of `known`, which may say more.
bool says_known_of_members(const std::string& columns, const std::string& known);
// The items of `columns`, label and weight left out, that `known` does not say, of members that it does not
// speak of; nothing where one is a pattern, or says otherwise.
std::optional<std::vector<ColumnItem>> items_beyond(const std::string& columns, const std::string& known);

class MemberKinds {
 public:
  // By ReadOptions::columns, or else known_columns. kUsage: no members can be meant.
  static Result<MemberKinds> of(const ReadOptions& options);

  // A member's own item, or the first pattern that it matches; null: nobody says what it is.
  const ColumnItem* find(std::string_view path) const;
  // Members that nobody speaks of are left out.
  bool leaves_others_out() const { return leaves_others_out_; }
  // The members that are label and weight; empty: nobody says.
  const std::string& label() const { return label_; }
  const std::string& weight() const { return weight_; }
  // Those that items name themselves, label and weight left out.
  std::vector<std::string> names() const;
  // Each item again but for label and weight. `without_scaled`: members whose numbers have a told scale are
  // left out of rows instead.
  std::vector<std::string> items(bool without_scaled = false) const;
  std::string text(bool without_scaled = false) const;

 private:
  std::map<std::string, ColumnItem, std::less<>> by_name_;
  std::vector<ColumnItem> patterns_;
  std::string label_, weight_;
  bool leaves_others_out_ = false;
};

}  // namespace thalweg
