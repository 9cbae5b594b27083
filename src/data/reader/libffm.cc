// libffm: label (field:index:value)*.
#include <fmt/format.h>

#include <charconv>

#include "data/reader/entry_errors.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr const char* kFieldEntryExpected = "field:index:value (field below 2^32 - 1, finite value)";

class LibffmParser final : public LineParser<LibffmParser, true> {
 public:
  explicit LibffmParser(const ReadOptions& options) : LineParser(options) {}

  bool with_fields() const override { return true; }

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
        q = *q == ':' && field < UINT32_MAX ? parse_unsigned(q + 1, index, overflow) : nullptr;
      if (q == nullptr || *q != ':' || index == kReservedKey)
        return fail(error, p, kFieldEntryExpected), nullptr;
      q = parse_real(q + 1, end, value);
      if (q == nullptr) {
        return fail_value(error, p, fmt::format("feature {} in field {}", index, field)), nullptr;
      }
      if (!out.add_value(rules_.key(index), value, static_cast<std::uint32_t>(field))) {
        return fail(error, p, kFullExpected), nullptr;
      }
      p = q;
    }
    out.end_row(label, 1.0f);
    return p + 1;
  }
};

Likeness like_libffm(const LineLook& look) {
  return look.entries_only && look.colons_most == 2 && look.colons_least == 2 ? Likeness::kSure
                                                                              : Likeness::kNone;
}

std::optional<std::uint32_t> field_by_number(std::string_view name, const Columns&) {
  std::uint32_t field = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), field);
  const bool good = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return good ? std::optional(field) : std::nullopt;
}

std::unique_ptr<RowParser> make_libffm_parser(const ReadOptions& options, const Columns&) {
  return std::make_unique<LibffmParser>(options);
}

}  // namespace

extern constinit const RowFormat kLibffmFormat = {
    .name = "libffm",
    .title = "libffm",
    .ending = "ffm",
    .ids = "numbers",
    .comments = true,
    .likeness = like_libffm,
    .parser = make_libffm_parser,
    .names = name_indices,
    .field_named = field_by_number,
};

}  // namespace thalweg
