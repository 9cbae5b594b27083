// libsvm: label[:weight] (index[:value])*, blanks between, '#' starts a comment, qid:N is passed over.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "data/reader/entry_errors.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr const char* kEntryExpected = "index:value (index below 2^64-1, finite value)";

// The colons of 64 bytes of text, those before the reading place left out.
struct Colons {
  explicit Colons(const char* p) : base(p), bits(colon_bits(p)) {}
  void seek(const char* p) {
    const auto passed = static_cast<std::uint64_t>(p - base);
    if (passed < 64) {
      bits &= ~std::uint64_t{0} << passed;
    } else {
      *this = Colons(p);
    }
  }
  // To the next 64 bytes; false: no colon there either.
  bool move_on() {
    *this = Colons(base + 64);
    return bits != 0;
  }
  const char* base;
  std::uint64_t bits;
};

template <bool kHashed>
class LibsvmParser final : public RowParser {
 public:
  explicit LibsvmParser(const ReadOptions& options) : rules_(options) {}

  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) override {
    Colons colons(cursor.p);
    const auto row = [&](const char* p, const char* end, BatchWriter& w, RowError& e) {
      return parse_row(p, end, colons, w, e);
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
    const char* first = p;
    if (!parse_label(p, end, rules_, ':', label, error)) return false;
    if (*p != ':') return true;
    const char* q = parse_real(p + 1, end, weight);
    if (q == nullptr || !ends_token(*q) || weight < 0) return fail(error, p + 1, "a weight of at least 0");
    if (!rules_.odd_labels && label != 0.0f && std::abs(label) != 1.0f) {
      return fail(error, first, "a label before the first entry (any number will do, such as 0)");
    }
    p = q;
    return true;
  }

  // Entries [first, next) are written and not yet counted.
  struct Room {
    explicit Room(BatchWriter& out) : first(out.keys()), next(first), limit(first + out.room()) {}
    void count(BatchWriter& out) {
      out.advance(static_cast<std::size_t>(next - first));
      first = next;
    }
    // At least `size` entries more; false: the batch is full.
    bool ensure(std::ptrdiff_t size, BatchWriter& out) {
      while (limit - next < size) {
        count(out);
        if (!out.grow()) return false;
        *this = Room(out);
      }
      return true;
    }
    Key* first;
    Key* next;
    Key* limit;
  };

  // Reads entries of the form " 12345:1", nearly all of one-hot data, as long as one follows the other. Where
  // a colon stands is known for 64 bytes at once, so no entry waits for the one before it to be read.
  const char* parse_ones(const char* p, Colons& colons, Room& room) const {
    constexpr std::uint32_t kOneAndBlank = ':' | '1' << 8 | ' ' << 16;
    constexpr std::uint32_t kOneAndEnd = ':' | '1' << 8 | '\n' << 16;
    colons.seek(p);
    Key* key = room.next;
    if (*p == ' ') {
      while (room.limit - key >= 64) {
        if (colons.bits == 0 && !colons.move_on()) break;
        const char* colon = colons.base + std::countr_zero(colons.bits);
        const auto digits = static_cast<std::uint64_t>(colon - p - 1);
        if (digits - 1 > 7) break;
        const std::uint64_t nibbles = (load_word(p + 1) ^ 0x3030303030303030ULL) << (64 - 8 * digits);
        const std::uint32_t rest = load_half_word(colon) & 0xffffff;
        const std::uint64_t index = join_digits(nibbles);
        *key = kHashed ? rules_.key(index) : index;
        const std::uint64_t others = not_digits(nibbles);
        if ((others | (rest ^ kOneAndBlank)) != 0) {
          if ((others | (rest ^ kOneAndEnd)) == 0) ++key, p = colon + 2;
          break;
        }
        ++key;
        p = colon + 2;
        colons.bits &= colons.bits - 1;
      }
    }
    room.next = key;
    return p;
  }

  const char* parse_row(const char* p, const char* end, Colons& colons, BatchWriter& out,
                        RowError& error) const {
    float label = 0.0f, weight = 1.0f;
    if (!parse_head(p, end, label, weight, error)) return nullptr;
    Room room(out);
    for (;;) {
      if (!room.ensure(64, out)) return fail(error, p, kFullExpected), nullptr;
      p = parse_ones(p, colons, room);
      float value = 1.0f;
      const Token token = parse_token(p, end, *room.next, value, error);
      if (token == Token::kBad) return nullptr;
      if (token == Token::kEnd) break;
      if (token == Token::kNone) continue;
      ++room.next;
      if (value != 1.0f) {
        room.count(out);
        out.set_last_value(value);
      }
    }
    room.count(out);
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
    if (r == nullptr) return fail_value(error, q, fmt::format("feature {}", index)), Token::kBad;
    key = rules_.key(index);
    return p = r, Token::kEntry;
  }

  RowRules rules_;
};

Likeness like_libsvm(const LineLook& look) {
  if (!look.entries_only || look.colons_most > 1) return Likeness::kNone;
  if (look.colons_most == 1 && (look.colons_least == 1 || look.tabs == 0)) return Likeness::kSure;
  return look.line.find(':') == std::string_view::npos ? Likeness::kFaint : Likeness::kLikely;
}

std::unique_ptr<RowParser> make_libsvm_parser(const ReadOptions& options, const Columns&) {
  if (options.hash_bits != 0) return std::make_unique<LibsvmParser<true>>(options);
  return std::make_unique<LibsvmParser<false>>(options);
}

}  // namespace

extern constinit const RowFormat kLibsvmFormat = {
    .name = "libsvm",
    .title = "libsvm",
    .ending = "svm",
    .ids = "numbers",
    .comments = true,
    .likeness = like_libsvm,
    .parser = make_libsvm_parser,
    .names = name_indices,
};

}  // namespace thalweg
