// libsvm: label[:weight] (index[:value])*, blanks between, '#' starts a comment, qid:N is passed over.
#include <cstring>

#include "data/row_loop.h"

namespace thalweg {
namespace {

constexpr const char* kEntryExpected = "index:value (index below 2^64-1, finite value)";
constexpr const char* kFullExpected = "at most 2^28 entries in a batch";

template <bool kHashed>
class LibsvmParser final : public RowParser {
 public:
  explicit LibsvmParser(const ReadOptions& options) : rules_(options) {}

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    const auto row = [this](const char* p, const char* end, BatchWriter& w, RowError& e) {
      return parse_row(p, end, w, e);
    };
    return parse_rows(row, rules_, true, cursor, max_rows, out, error);
  }
  bool with_fields() const override { return false; }

 private:
  enum class Token { kEntry, kNone, kEnd, kBad };

  // The label and the example weight that may follow it, as in xgboost's text format.
  bool parse_head(const char*& p, const char* end, float& label, float& weight, RowError& error) const {
    if (*p == '1' && p[1] == ' ') return label = 1.0f, ++p, true;
    if (*p == '0' && p[1] == ' ') return label = 0.0f, ++p, true;
    p = skip_blanks(p);
    if (!parse_label(p, end, rules_, ':', label, error)) return false;
    if (*p != ':') return true;
    const char* q = parse_real(p + 1, end, weight);
    if (q == nullptr || !ends_token(*q) || weight < 0) return fail(error, p + 1, "a weight of at least 0");
    p = q;
    return true;
  }

  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) const {
    float label = 0.0f, weight = 1.0f;
    if (!parse_head(p, end, label, weight, error)) return nullptr;
    Key* first = out.keys();  // Entries [first, key) are written and not yet counted.
    Key* key = first;
    Key* limit = first + out.room();
    for (;;) {
      if (key == limit) {
        out.advance(static_cast<std::size_t>(key - first));
        if (!out.grow()) return fail(error, p, kFullExpected), nullptr;
        key = first = out.keys();
        limit = first + out.room();
      }
      const EightDigits index = eight_digits(p + 1);
      const std::uint64_t rest = load_word(p + 1 + index.count);
      // " 12345:1" and then a blank or a line's end: nearly every entry of one-hot data.
      if (*p == ' ' && index.count - 1 < 7 && (rest & 0xffff) == 0x313a && ((rest >> 16) & 0xff) <= ' ') {
        *key++ = kHashed ? rules_.key(index.value) : index.value;
        p += index.count + 3;
        continue;
      }
      float value = 1.0f;
      const Token token = parse_token(p, end, *key, value, error);
      if (token == Token::kBad) return nullptr;
      if (token == Token::kEnd) break;
      if (token == Token::kNone) continue;
      ++key;
      if (value != 1.0f) {
        out.advance(static_cast<std::size_t>(key - first));
        out.set_last_value(value);
        first = key;
      }
    }
    out.advance(static_cast<std::size_t>(key - first));
    out.end_row(label, weight);
    return p;
  }

  // What stands between the end of an entry and the end of the next, or of the line (p is then behind the
  // '\n').
  Token parse_token(const char*& p, const char* end, Key& key, float& value, RowError& error) const {
    if (!ends_token(*p)) return fail(error, p, "a blank or the line's end"), Token::kBad;
    const char* q = skip_blanks(p);
    if (*q == '\n') return p = q + 1, Token::kEnd;
    if (*q == '#') return p = line_end(q, end) + 1, Token::kEnd;
    if (std::memcmp(q, "qid:", 4) == 0) {
      std::uint64_t query = 0;
      bool overflow = false;
      const char* r = parse_unsigned(q + 4, query, overflow);
      if (r == nullptr) return fail(error, q, "qid:N"), Token::kBad;
      return p = r, Token::kNone;
    }
    std::uint64_t index = 0;
    bool overflow = false;
    const char* r = parse_unsigned(q, index, overflow);
    if (r == nullptr || index == kReservedKey) return fail(error, q, kEntryExpected), Token::kBad;
    if (*r == ':') r = parse_real(r + 1, end, value);
    if (r == nullptr) return fail(error, q, kEntryExpected), Token::kBad;
    key = rules_.key(index);
    return p = r, Token::kEntry;
  }

  RowRules rules_;
};

// libffm: label (field:index:value)*.
class LibffmParser final : public RowParser {
 public:
  explicit LibffmParser(const ReadOptions& options) : rules_(options) {}

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    const auto row = [this](const char* p, const char* end, BatchWriter& w, RowError& e) {
      return parse_row(p, end, w, e);
    };
    return parse_rows(row, rules_, true, cursor, max_rows, out, error);
  }
  bool with_fields() const override { return true; }

 private:
  const char* parse_row(const char* p, const char* end, BatchWriter& out, RowError& error) const {
    float label = 0.0f;
    p = skip_blanks(p);
    if (!parse_label(p, end, rules_, ' ', label, error)) return nullptr;
    for (;;) {
      if (!ends_token(*p)) return fail(error, p, "a blank or the line's end"), nullptr;
      p = skip_blanks(p);
      if (*p == '\n') break;
      if (*p == '#') {
        p = line_end(p, end);
        break;
      }
      std::uint64_t field = 0, index = 0;
      float value = 0.0f;
      bool overflow = false;
      const char* q = parse_unsigned(p, field, overflow);
      if (q != nullptr)
        q = *q == ':' && field <= UINT32_MAX ? parse_unsigned(q + 1, index, overflow) : nullptr;
      if (q != nullptr) q = *q == ':' && index != kReservedKey ? parse_real(q + 1, end, value) : nullptr;
      if (q == nullptr) return fail(error, p, "field:index:value (field below 2^32, finite value)"), nullptr;
      if (!out.add_value(rules_.key(index), value, static_cast<std::uint32_t>(field))) {
        return fail(error, p, kFullExpected), nullptr;
      }
      p = q;
    }
    out.end_row(label, 1.0f);
    return p + 1;
  }

  RowRules rules_;
};

}  // namespace

std::unique_ptr<RowParser> make_libsvm_parser(const ReadOptions& options) {
  if (options.hash_bits != 0) return std::make_unique<LibsvmParser<true>>(options);
  return std::make_unique<LibsvmParser<false>>(options);
}

std::unique_ptr<RowParser> make_libffm_parser(const ReadOptions& options) {
  return std::make_unique<LibffmParser>(options);
}

}  // namespace thalweg
