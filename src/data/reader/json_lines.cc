// JSON lines (RFC 8259, an object a line). A number is an entry of its member's key, a string one whose key
// is the hash of member and string: what CSV makes of a numeric and of a categorical column of that name.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "data/column/column_items.h"
#include "data/column/number_form.h"
#include "data/pair/interactions.h"
#include "data/reader/cell_words.h"
#include "data/reader/entry_errors.h"
#include "data/reader/json_string.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr int kJsonDepthMax = 8;  // Objects in one another.
constexpr const char* kJsonLabelExpected = "a label (a finite number, true or false)";

bool is_word_at(const char* p, std::string_view word) {
  return std::memcmp(p, word.data(), word.size()) == 0;
}

class JsonLinesParser final : public LineParser<JsonLinesParser> {
 public:
  // `names`: of the entries, as they come; null: nobody asks.
  explicit JsonLinesParser(const ReadOptions& options, std::vector<std::string>* names = nullptr)
      : LineParser(options),
        names_(names),
        labels_needed_(options.labels_needed),
        hashes_fields_(!options.interactions.empty()),
        label_name_(options.label_column),
        weight_name_(options.weight_column.empty() ? "weight" : options.weight_column) {
    const auto items = parse_column_items(options.known_columns, "the model's columns");
    for (std::size_t i = 0; items && i < items->size(); ++i) known_.emplace((*items)[i].name, (*items)[i]);
  }

  // Which fields there are cannot be told from a part of the rows, and their order not from one row.
  bool with_fields() const override { return hashes_fields_; }

  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) {
    end_ = end, out_ = &out, error_ = &error;
    label_ = 0.0f, weight_ = 1.0f;
    has_label_ = false, keep_ = true;
    path_.clear();
    const char* first = p = skip_blanks(p);
    if (*p != '{') return fail(error, p, "an object a line, {\"name\": value, ...}"), nullptr;
    if (!parse_object(p, 1)) return nullptr;
    p = skip_blanks(p);
    if (*p != '\n') return fail(error, p, "the line's end behind the object"), nullptr;
    if (labels_needed_ && !has_label_) return fail_missing_label(first), nullptr;
    out.end_row(label_, weight_);
    return p + 1;
  }

 private:
  bool bad(const char* at, const char* expected) { return fail(*error_, at, expected); }

  bool fail_missing_label(const char* at) {
    error_->at = at;
    error_->expected = label_name_.empty()
                           ? "a member label, target, click, clicked or y; --label-column can name another"
                           : fmt::format("a member \"{}\", the label", label_name_);
    return false;
  }

  bool parse_object(const char*& p, int depth) {
    if (depth > kJsonDepthMax) return bad(p, "at most 8 objects in one another");
    p = skip_blanks(p + 1);
    if (*p == '}') return ++p, true;
    for (;;) {
      std::string_view name;
      if (*p != '"') return bad(p, "a member's name in quotes");
      if (!read_json_string(p, name, scratch_, *error_)) return false;
      const std::size_t outer = path_.size();
      if (depth > 1) path_ += '.';
      path_ += name;
      p = skip_blanks(p);
      if (*p != ':') return bad(p, "':' behind the member's name");
      p = skip_blanks(p + 1);
      if (!parse_member(p, depth)) return false;
      path_.resize(outer);
      p = skip_blanks(p);
      if (*p == '}') return ++p, true;
      if (*p != ',') return bad(p, "',' or '}' behind a member");
      p = skip_blanks(p + 1);
    }
  }

  // The value at p of the member that path_ names.
  bool parse_member(const char*& p, int depth) {
    bool categorical = false;
    const bool kept = keep_;
    if (is_label()) {
      if (labels_needed_) return take_label(p);
      keep_ = false;
    } else if (path_ == weight_name_) {
      if (labels_needed_) return take_weight(p);
      keep_ = false;
    } else if (!known_.empty() && *p != '{') {
      const auto it = known_.find(path_);
      categorical = it != known_.end() && it->second.kind == Column::Kind::kCategorical;
      const bool numeric = it != known_.end() && it->second.kind == Column::Kind::kNumeric;
      keep_ = keep_ && (categorical || numeric);
      form_ = numeric ? it->second.number : NumberForm();
    }
    const bool good = *p == '{'   ? parse_object(p, depth + 1)
                      : *p == '[' ? parse_array(p)
                                  : parse_scalar(p, categorical);
    keep_ = kept;
    return good;
  }

  bool is_label() const {
    if (!label_name_.empty()) return path_ == label_name_;
    return std::find(kLabelNames.begin(), kLabelNames.end(), path_) != kLabelNames.end();
  }

  // Several categories of the member.
  bool parse_array(const char*& p) {
    p = skip_blanks(p + 1);
    if (*p == ']') return ++p, true;
    for (;;) {
      if (*p == '{' || *p == '[') return bad(p, "strings and numbers in an array");
      if (!parse_scalar(p, true)) return false;
      p = skip_blanks(p);
      if (*p == ']') return ++p, true;
      if (*p != ',') return bad(p, "',' or ']' in an array");
      p = skip_blanks(p + 1);
    }
  }

  bool parse_scalar(const char*& p, bool categorical) {
    const char* const at = p;
    std::string_view text;
    if (*p == '"') return read_json_string(p, text, scratch_, *error_) && add_category(text, at);
    const bool is_bucket = form_.shape == NumberForm::Shape::kBucket;
    if (is_word_at(p, "null"))
      return p += 4, !is_bucket || add_key(category_key({}, member_key()), path_, at);
    const bool truth = is_word_at(p, "true");
    if (truth || is_word_at(p, "false")) {
      p += truth ? 4 : 5;
      return add_category(truth ? "true" : "false", at);
    }
    float value = 0.0f;
    if (!parse_number(p, value)) return false;
    if (categorical) return add_category({at, static_cast<std::size_t>(p - at)}, at);
    if (is_bucket) return add_key(bucket_key(value, member_key()), path_, at);
    value = in_form(value, form_);
    if (value == 0.0f || !keep_) return true;
    if (!out_->add_value(rules_.key(member_key()), value, member_field())) return bad(at, kFullExpected);
    if (names_ != nullptr) names_->push_back(path_);
    return true;
  }

  bool parse_number(const char*& p, float& value) {
    const char* number_end = json_number_end(p);
    if (number_end == nullptr) return bad(p, "a string, a number, true, false or null");
    if (parse_real(p, end_, value) != number_end) return bad(p, "a finite number");
    p = number_end;
    return true;
  }

  Key member_key() const { return column_salt(path_); }

  std::uint32_t member_field() const { return hashes_fields_ ? hashed_field(path_) : 0; }

  bool add_category(std::string_view text, const char* at) {
    const std::string name = names_ == nullptr ? std::string() : fmt::format("{}={}", path_, text);
    return add_key(category_key(text, member_key()), name, at);
  }

  bool add_key(Key key, const std::string& name, const char* at) {
    if (!keep_) return true;
    if (!out_->add(rules_.key(key), member_field())) return bad(at, kFullExpected);
    if (names_ != nullptr) names_->push_back(name);
    return true;
  }

  bool take_label(const char*& p) {
    const char* const at = p;
    if (has_label_) return bad(at, "one label in a row; --label-column can name it");
    has_label_ = true;
    if (*p == '"') {
      std::string_view text;
      if (!read_json_string(p, text, scratch_, *error_)) return false;
      // The text lies in the row, so that bytes behind it may be read, unless it has escapes, as no number
      // has.
      const bool is_number = !text.empty() && text.data() == at + 1 &&
                             parse_real(text.data(), text.data() + text.size(), label_) == p - 1;
      const std::optional<float> truth = truth_of(text);
      if (!is_number && !truth) return bad(at, kJsonLabelExpected);
      if (!is_number) label_ = *truth;
    } else if (is_word_at(p, "true")) {
      label_ = 1.0f, p += 4;
    } else if (is_word_at(p, "false")) {
      label_ = 0.0f, p += 5;
    } else {
      const char* number_end = json_number_end(p);
      if (number_end == nullptr || parse_real(p, end_, label_) != number_end)
        return bad(at, kJsonLabelExpected);
      p = number_end;
    }
    return check_label(rules_, at, label_, *error_);
  }

  bool take_weight(const char*& p) {
    const char* const at = p;
    if (is_word_at(p, "null")) return p += 4, true;
    const char* number_end = json_number_end(p);
    const bool is_number = number_end != nullptr && parse_real(p, end_, weight_) == number_end;
    if (!is_number || weight_ < 0) return bad(at, "a weight of at least 0");
    p = number_end;
    return true;
  }

  std::vector<std::string>* const names_;
  const bool labels_needed_, hashes_fields_;
  const std::string label_name_, weight_name_;
  std::map<std::string, ColumnItem, std::less<>> known_;  // What a model of CSV knows of its columns.
  NumberForm form_;                                       // Of the member's numbers.

  // Of the row that is parsed.
  const char* end_ = nullptr;
  BatchWriter* out_ = nullptr;
  RowError* error_ = nullptr;
  std::string path_, scratch_;
  float label_ = 0.0f, weight_ = 1.0f;
  bool has_label_ = false;
  bool keep_ = true;  // What is read becomes entries.
};

// "user=ann", of a number "price".
void name_members(const NamedRow& row, std::vector<std::string>& names) {
  JsonLinesParser parser(row.options, &names);
  name_by_parsing(parser, row.line, names);
}

Likeness like_json_lines(const LineLook& look) {
  const std::size_t at = look.line.find_first_not_of(" \t\r");
  if (at == look.line.npos || look.line[at] != '{') return Likeness::kNone;
  const std::size_t next = look.line.find_first_not_of(" \t\r", at + 1);
  if (next == look.line.npos) return Likeness::kNone;
  return look.line[next] == '"' || look.line[next] == '}' ? Likeness::kSure : Likeness::kNone;
}

std::optional<std::uint32_t> field_of_member(std::string_view name, const Columns&) {
  return hashed_field(name);
}

std::unique_ptr<RowParser> make_json_lines_parser(const ReadOptions& options, const Columns&) {
  return std::make_unique<JsonLinesParser>(options);
}

}  // namespace

extern constinit const RowFormat kJsonLinesFormat = {
    .name = "jsonl",
    .title = "JSON lines",
    .ending = "jsonl",
    .ids = "columns",
    .members = true,
    .likeness = like_json_lines,
    .parser = make_json_lines_parser,
    .names = name_members,
    .field_named = field_of_member,
};

}  // namespace thalweg
