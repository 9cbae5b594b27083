// Vowpal Wabbit's text: [label [weight [base]]] ['tag]|namespace[:scale] (name[:value])* |... (VW wiki,
// "Input format"). A feature's key is the hash of its name with the hash of its namespace's as seed, so a
// namespace of names has the keys of a categorical column of CSV.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "data/pair/interactions.h"
#include "data/reader/entry_errors.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"
#include "data/scale/zeros_that_count.h"

namespace thalweg {
namespace {

constexpr std::array<bool, 256> kEndsVwName = [] {
  std::array<bool, 256> ends{};
  for (const char c : {' ', '\t', '\r', '\n', ':', '|'}) ends[static_cast<unsigned char>(c)] = true;
  return ends;
}();

const char* vw_name_end(const char* p) {
  while (!kEndsVwName[static_cast<unsigned char>(*p)]) ++p;
  return p;
}

// A label, a weight or a tag, which may have colons.
const char* vw_word_end(const char* p) {
  while (!ends_token(*p) && *p != '|') ++p;
  return p;
}

bool ends_vw_number(char c) { return ends_token(c) || c == '|'; }

// By a namespace's first byte, as VW tells namespaces apart: 0 without a name, then letters and digits, so
// that the usual ones are few and a field's factors take no room for bytes that nobody writes.
std::uint32_t vw_field(std::string_view name) {
  if (name.empty()) return 0;
  const auto c = static_cast<unsigned char>(name.front());
  if (c >= 'a' && c <= 'z') return 1u + c - 'a';
  if (c >= 'A' && c <= 'Z') return 27u + c - 'A';
  if (c >= '0' && c <= '9') return 53u + c - '0';
  return 63u + c;
}

struct VwNamespace {
  std::string_view name;
  Key seed = 0;
  std::uint32_t field = 0;
  float scale = 1.0f;
};

class VwParser final : public LineParser<VwParser> {
 public:
  // `names`: of the entries, as they come; null: nobody asks.
  explicit VwParser(const ReadOptions& options, std::vector<std::string>* names = nullptr)
      : LineParser(options),
        labels_needed_(options.labels_needed),
        hashes_fields_(!options.interactions.empty()),
        zeros_(options),
        names_(names) {}

  bool with_fields() const override { return true; }

  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) const {
    float label = 0.0f, weight = 1.0f;
    if (!parse_head(p, end, label, weight, error)) return nullptr;
    while (*p == '|') {
      VwNamespace space;
      if (!parse_namespace(p, end, space, error)) return nullptr;
      for (p = skip_blanks(p); *p != '|' && *p != '\n'; p = skip_blanks(p)) {
        if (!parse_feature(p, end, space, out, error)) return nullptr;
      }
    }
    out.end_row(label, weight);
    return p + 1;
  }

 private:
  // Up to the first '|'. What touches it is a tag, and so is what begins with a quote.
  bool parse_head(const char*& p, const char* end, float& label, float& weight, RowError& error) const {
    int numbers = 0;
    const char* first = p = skip_blanks(p);
    for (; *p != '|'; p = skip_blanks(p)) {
      if (*p == '\n') return fail(error, p, "'|' before the features");
      const char* word_end = vw_word_end(p);
      const bool is_tag = *p == '\'' || *word_end == '|';
      if (is_tag) {
        p = skip_blanks(word_end);
        if (*p != '|') return fail(error, p, "'|' behind the tag");
        break;
      }
      if (!parse_head_number(p, end, numbers++, label, weight, error)) return false;
    }
    if (numbers > 0 || !labels_needed_) return true;
    return fail(error, first, "a label and a blank before the first '|'");
  }

  bool parse_head_number(const char*& p, const char* end, int which, float& label, float& weight,
                         RowError& error) const {
    if (which == 0) return parse_label(p, end, rules_, ' ', label, error);
    float number = 0.0f;
    const char* q = which < 3 ? parse_real(p, end, number) : nullptr;
    const bool is_number = q != nullptr && ends_token(*q);
    if (which == 1 && (!is_number || number < 0)) return fail(error, p, "a weight of at least 0");
    // Passed over in silence, it would make another model than VW's.
    if (which == 2 && (!is_number || number != 0)) {
      return fail(error, p, "a base of 0, since scores begin at none, or '|'");
    }
    if (which > 2) return fail(error, p, "'|', or a tag that begins with \"'\"");
    if (which == 1) weight = number;
    p = q;
    return true;
  }

  bool parse_namespace(const char*& p, const char* end, VwNamespace& space, RowError& error) const {
    const char* name_end = vw_name_end(++p);
    const std::string_view name(p, static_cast<std::size_t>(name_end - p));
    space.name = name;
    space.seed = XXH3_64bits(name.data(), name.size());
    if (name.empty()) space.seed = 0;  // Which is no seed: names stand for themselves.
    space.field = hashes_fields_ ? hashed_field(name) : vw_field(name);
    if (*name_end == ':') {
      const char* q = parse_real(name_end + 1, end, space.scale);
      if (q == nullptr || !ends_vw_number(*q)) {
        return fail(error, p, "|namespace:scale, the scale a finite number");
      }
      name_end = q;
    }
    p = name_end;
    return true;
  }

  bool parse_feature(const char*& p, const char* end, const VwNamespace& space, BatchWriter& out,
                     RowError& error) const {
    const char* name_end = vw_name_end(p);
    const std::string_view name(p, static_cast<std::size_t>(name_end - p));
    if (name.empty()) return fail(error, p, "a feature's name before the ':'");
    float value = 1.0f;
    const char* q = name_end;
    if (*q == ':') {
      q = parse_real(q + 1, end, value);
      if (q == nullptr || !ends_vw_number(*q)) return fail_value(error, p, fmt::format("feature {}", name));
    }
    value *= space.scale;
    if (!std::isfinite(value)) return fail_value(error, p, fmt::format("feature {} times its scale", name));
    const Key key = space.name.empty() ? column_salt(name) : category_key(name, space.seed);
    if (value != 0.0f || zeros_.contain(rules_.key(key))) {
      if (!out.add_value(rules_.key(key), value, space.field)) return fail(error, p, kFullExpected);
      if (names_ != nullptr)
        names_->push_back(space.name.empty() ? std::string(name) : fmt::format("{}={}", space.name, name));
    }
    p = q;
    return true;
  }

  const bool labels_needed_, hashes_fields_;
  const ZerosThatCount zeros_;
  std::vector<std::string>* const names_;
};

// "user=ann", as of a column, without a namespace "ann".
void name_vw(const NamedRow& row, std::vector<std::string>& names) {
  VwParser parser(row.options, &names);
  name_by_parsing(parser, row.line, names);
}

std::optional<std::uint32_t> field_of_namespace(std::string_view name, const Columns&) {
  return hashed_field(name);
}

// Numbers, blanks and perhaps a tag before the first '|'; a column of names between bars has no blank there.
Likeness like_vw(const LineLook& look) {
  const std::size_t bar = look.line.find('|');
  if (bar == std::string_view::npos) return Likeness::kNone;
  const std::string head = std::string(look.line.substr(0, bar)) + "|\n" + std::string(kTextPad, '\0');
  const char* p = skip_blanks(head.data());
  const char* const end = head.data() + bar + 2;
  for (int words = 0; *p != '|'; ++words, p = skip_blanks(p)) {
    const char* word_end = vw_word_end(p);
    if (*p == '\'') return *skip_blanks(word_end) == '|' ? Likeness::kSure : Likeness::kNone;
    if (*word_end == '|' && words > 0) return Likeness::kSure;
    float number = 0.0f;
    if (parse_real(p, end, number) != word_end || *word_end == '|' || words == 3) return Likeness::kNone;
    p = word_end;
  }
  return Likeness::kSure;
}

std::unique_ptr<RowParser> make_vw_parser(const ReadOptions& options, const Columns&) {
  return std::make_unique<VwParser>(options);
}

}  // namespace

extern constinit const RowFormat kVwFormat = {
    .name = "vw",
    .title = "VW",
    .ending = "vw",
    .ids = "names",
    .likeness = like_vw,
    .parser = make_vw_parser,
    .names = name_vw,
    .field_named = field_of_namespace,
};

}  // namespace thalweg
