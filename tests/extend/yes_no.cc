// "yes: 3 7 9" or "no: 3": whether there was a click, then the numbers of the row's features.
#include <cstring>
#include <memory>

#include "data/reader/number.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

class YesNoParser final : public LineParser<YesNoParser> {
 public:
  explicit YesNoParser(const ReadOptions& options) : LineParser(options) {}

  bool with_fields() const override { return false; }

  // Behind the text lie kTextPad bytes that may be read, so comparing a few bytes needs no look at its end.
  const char* parse_row(const char* p, const char*, BatchWriter& out, RowError& error) const {
    const bool yes = std::memcmp(p, "yes:", 4) == 0;
    if (!yes && std::memcmp(p, "no:", 3) != 0) return fail(error, p, "yes: or no:"), nullptr;
    p += yes ? 4 : 3;
    for (p = skip_blanks(p); *p != '\n'; p = skip_blanks(p)) {
      std::uint64_t feature = 0;
      bool overflow = false;
      const char* next = parse_unsigned(p, feature, overflow);
      if (next == nullptr || !ends_token(*next) || feature == kReservedKey) {
        return fail(error, p, "a feature's number"), nullptr;
      }
      if (!out.add(rules_.key(feature))) return fail(error, p, "at most 2^28 entries in a batch"), nullptr;
      p = next;
    }
    out.end_row(yes ? 1.0f : 0.0f, 1.0f);
    return p + 1;
  }
};

Likeness like_yes_no(const LineLook& look) {
  return look.line.starts_with("yes:") || look.line.starts_with("no:") ? Likeness::kSure : Likeness::kNone;
}

std::unique_ptr<RowParser> make_yes_no_parser(const ReadOptions& options, const Columns&) {
  return std::make_unique<YesNoParser>(options);
}

}  // namespace

extern constinit const RowFormat kYesNoFormat = {
    .name = "yes-no",
    .title = "yes-no",
    .ending = "txt",
    .ids = "numbers",
    .likeness = like_yes_no,
    .parser = make_yes_no_parser,
};

}  // namespace thalweg
