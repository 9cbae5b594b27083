// JSON lines (RFC 8259, an object a line). A number is an entry of its member's key, a string one whose key
// is the hash of member and string: what CSV makes of a numeric and of a categorical column of that name.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "data/column/member_kinds.h"
#include "data/column/number_form.h"
#include "data/pair/interactions.h"
#include "data/reader/cell_words.h"
#include "data/reader/entry_errors.h"
#include "data/reader/json_string.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"
#include "data/scale/zeros_that_count.h"

namespace thalweg {
namespace {

constexpr int kJsonDepthMax = 8;  // Objects in one another.
constexpr std::array<std::string_view, 1> kWeightNames = {"weight"};
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
        zeros_(options),
        kinds_(kinds_of(options)),
        label_name_(options.label_column.empty() ? kinds_.label() : options.label_column),
        weight_name_(options.weight_column.empty() ? kinds_.weight() : options.weight_column) {}

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
  // What a member's values become: what they are, or what was said of it.
  enum class As { kFound, kCategories, kNumbers };

  // Columns that are none are refused before rows are read.
  static MemberKinds kinds_of(const ReadOptions& options) {
    Result<MemberKinds> kinds = MemberKinds::of(options);
    return kinds ? *std::move(kinds) : MemberKinds();
  }

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
    const bool kept = keep_;
    const ColumnItem* const told = kinds_.find(path_);
    As as = As::kFound;
    if (is_target(label_name_, Column::Kind::kLabel, kLabelNames, told)) {
      if (labels_needed_) return take_label(p);
      keep_ = false;
    } else if (is_target(weight_name_, Column::Kind::kWeight, kWeightNames, told)) {
      if (labels_needed_) return take_weight(p);
      keep_ = false;
    } else if (told != nullptr) {
      const bool categorical = told->kind == Column::Kind::kCategorical;
      const bool numeric = told->kind == Column::Kind::kNumeric;
      as = categorical ? As::kCategories : numeric ? As::kNumbers : As::kFound;
      keep_ = categorical || numeric;
      form_ = numeric ? told->number : NumberForm();
    } else if (kinds_.leaves_others_out() && *p != '{') {
      keep_ = false;
    }
    if (told == nullptr) form_ = NumberForm();
    const bool good = *p == '{'   ? parse_object(p, depth + 1)
                      : *p == '[' ? parse_array(p)
                                  : parse_scalar(p, as);
    keep_ = kept;
    return good;
  }

  // `name`: of the member that is label or weight; empty: one of these.
  bool is_target(const std::string& name, Column::Kind kind, std::span<const std::string_view> usual,
                 const ColumnItem* told) const {
    if (!name.empty()) return path_ == name;
    if (told != nullptr) return told->kind == kind;
    return std::find(usual.begin(), usual.end(), path_) != usual.end();
  }

  // Several categories of the member.
  bool parse_array(const char*& p) {
    p = skip_blanks(p + 1);
    if (*p == ']') return ++p, true;
    for (;;) {
      if (*p == '{' || *p == '[') return bad(p, "strings and numbers in an array");
      if (!parse_scalar(p, As::kCategories)) return false;
      p = skip_blanks(p);
      if (*p == ']') return ++p, true;
      if (*p != ',') return bad(p, "',' or ']' in an array");
      p = skip_blanks(p + 1);
    }
  }

  bool parse_scalar(const char*& p, As as) {
    const char* const at = p;
    std::string_view text;
    if (*p == '"') {
      if (!read_json_string(p, text, scratch_, *error_)) return false;
      return as == As::kNumbers ? add_number_in(text, at, p) : add_category(text, at);
    }
    if (is_word_at(p, "null")) return p += 4, add_missing(at);
    const bool truth = is_word_at(p, "true");
    if (truth || is_word_at(p, "false")) {
      p += truth ? 4 : 5;
      if (as == As::kNumbers) return add_number(truth ? 1.0f : 0.0f, at);
      return add_category(truth ? "true" : "false", at);
    }
    double value = 0;
    if (!parse_number(p, value)) return false;
    if (as == As::kCategories) return add_category({at, static_cast<std::size_t>(p - at)}, at);
    return add_number(value, at);
  }

  bool is_bucket() const { return form_.shape == NumberForm::Shape::kBucket; }

  bool add_missing(const char* at) {
    return !is_bucket() ||
           add_key(category_key({}, member_key()), names_ == nullptr ? path_ : path_ + "=", at);
  }

  bool add_number(double number, const char* at) {
    if (is_bucket()) {
      const auto in_bucket = static_cast<float>(number);
      const Key key = bucket_key(in_bucket, member_key());
      return add_key(key, names_ == nullptr ? path_ : fmt::format("{}={}", path_, bucket_name(in_bucket)),
                     at);
    }
    const float value = in_form(number, form_);
    if (!keep_ || (value == 0.0f && !zeros_.contain(rules_.key(member_key())))) return true;
    if (!out_->add_value(rules_.key(member_key()), value, member_field())) return bad(at, kFullExpected);
    if (names_ != nullptr) names_->push_back(path_);
    return true;
  }

  // The number that a string means, as a cell of CSV does.
  bool add_number_in(std::string_view text, const char* at, const char* p) {
    text = trimmed(text);
    if (text.empty() || says_missing(text)) return add_missing(at);
    double value = 0;
    if (number_in(text, at, p, value)) return add_number(value, at);
    error_->at = at;
    error_->expected = fmt::format("a finite number (member \"{}\"; --columns can make it cat)", path_);
    return false;
  }

  // `text`: of the string in [at, end). It lies there, so that bytes behind it may be read, unless it has
  // escapes, as no number has.
  template <class Number>
  static bool number_in(std::string_view text, const char* at, const char* end, Number& value) {
    const std::less<> before;
    const bool in_row = !before(text.data(), at) && before(text.data(), end);
    return in_row && !text.empty() &&
           parse_real(text.data(), text.data() + text.size(), value) == text.data() + text.size();
  }

  template <class Number>
  bool parse_number(const char*& p, Number& value) {
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
      const bool is_number = number_in(text, at, p, label_);
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
  const ZerosThatCount zeros_;
  const MemberKinds kinds_;
  const std::string label_name_, weight_name_;
  NumberForm form_;  // Of the member's numbers.

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
