#include "data/pair/interactions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/mix.h"

namespace thalweg {
namespace {

// A name that begins at `at`, which moves behind it; nothing if quotes are not closed.
std::optional<std::string> take_part_name(std::string_view text, std::size_t& at) {
  std::string name;
  if (at == text.size() || text[at] != '"') {
    const std::size_t end = std::min(text.find_first_of("*,", at), text.size());
    name = text.substr(at, end - at);
    at = end;
    return name;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"' && (++at == text.size() || text[at] != '"')) return name;
    name += text[at];
  }
  return std::nullopt;
}

Status no_parts(const RowFormat& format, const std::string& path) {
  return {Code::kUsage,
          fmt::format("--interactions: {} is {}, whose features have no namespace, column or field to be "
                      "named by; expected VW, CSV, JSON lines, Criteo or libffm",
                      path, format.title)};
}

Status no_such_part(const std::string& name, const RowFormat& format, const Columns& columns,
                    const std::string& path) {
  std::vector<std::string_view> names;
  for (const Column& column : columns.list) {
    if (column.kind != Column::Kind::kNumeric && column.kind != Column::Kind::kCategorical) continue;
    if (names.size() == 8) {
      names.emplace_back("...");
      break;
    }
    names.push_back(column.name);
  }
  const std::string expected = names.empty()    ? "the name of one"
                               : format.columns ? fmt::format("{}", fmt::join(names, ", "))
                                                : std::string();
  return {Code::kUsage,
          fmt::format("--interactions: {} has no features called \"{}\"; expected {}", path, name, expected)};
}

}  // namespace

Result<std::vector<InteractionItem>> parse_interactions(std::string_view text) {
  std::vector<InteractionItem> items;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::size_t begin = at;
    InteractionItem item;
    bool good = false;
    if (text.substr(at, 1) == "*") {
      good = ++at == text.size() || text[at] == ',';
    } else if (const auto left = take_part_name(text, at); left && at < text.size() && text[at] == '*') {
      const auto right = take_part_name(text, ++at);
      good = right && !left->empty() && !right->empty() && (at == text.size() || text[at] == ',');
      if (good) item = {*left, *right};
    }
    if (!good) {
      return Status(Code::kUsage,
                    fmt::format("--interactions: saw \"{}\", expected NAME*NAME, or * for all pairs, with "
                                "commas between",
                                text.substr(begin, text.find(',', begin) - begin)));
    }
    items.push_back(std::move(item));
  }
  return items;
}

Result<Interactions> Interactions::find(std::string_view text, const RowFormat& format,
                                        const Columns& columns, const std::string& path) {
  const auto items = parse_interactions(text);
  if (!items) return items.status();
  if (format.field_named == nullptr) return no_parts(format, path);
  Interactions out;
  for (const InteractionItem& item : *items) {
    if (item.left.empty()) {
      out.wants_all_ = true;
      continue;
    }
    std::uint32_t fields[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string& name = i == 0 ? item.left : item.right;
      const auto field = format.field_named(name, columns);
      if (!field) return no_such_part(name, format, columns, path);
      fields[i] = *field;
    }
    out.parts_.emplace_back(std::min(fields[0], fields[1]), std::max(fields[0], fields[1]));
  }
  std::sort(out.parts_.begin(), out.parts_.end());
  out.parts_.erase(std::unique(out.parts_.begin(), out.parts_.end()), out.parts_.end());
  if (out.wants_all_) std::erase_if(out.parts_, [](const auto& pair) { return pair.first != pair.second; });
  return out;
}

bool Interactions::pairs_of(std::span<const std::uint32_t> fields, std::span<const float> values,
                            std::vector<Pair>& out) const {
  out.clear();
  const auto count = static_cast<std::uint32_t>(fields.size());
  const auto add = [&out](std::uint32_t first, std::uint32_t second) {
    if (out.size() == kMaxPairsOfRow) return false;
    out.push_back({first, second});
    return true;
  };
  for (std::uint32_t i = 0; wants_all_ && i < count; ++i) {
    for (std::uint32_t j = i + 1; j < count; ++j) {
      if (fields[i] != fields[j] && !add(i, j)) return false;
    }
  }
  for (const auto& [left, right] : parts_) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (fields[i] != left) continue;
      const bool with_itself = left == right && !values.empty() && values[i] != 1.0f;
      if (with_itself && !add(i, i)) return false;
      for (std::uint32_t j = left == right ? i + 1 : 0; j < count; ++j) {
        if (fields[j] == right && !add(i, j)) return false;
      }
    }
  }
  return true;
}

std::vector<std::string> absent_parts(std::string_view text, const RowFormat& format, const Columns& columns,
                                      std::span<const std::uint32_t> fields) {
  std::vector<std::string> absent;
  const auto items = parse_interactions(text);
  if (!items || format.field_named == nullptr) return absent;
  const std::set<std::uint32_t> present(fields.begin(), fields.end());
  for (const InteractionItem& item : *items) {
    for (const std::string& name : {item.left, item.right}) {
      const bool known = name.empty() || std::find(absent.begin(), absent.end(), name) != absent.end();
      if (known || present.contains(format.field_named(name, columns).value_or(0))) continue;
      absent.push_back(name);
    }
  }
  return absent;
}

Key pair_key(Key a, Key b) {
  if (b < a) std::swap(a, b);
  return std::min<Key>(place(place(a) + b), kReservedKey - 1);
}

std::uint32_t hashed_field(std::string_view name) { return static_cast<std::uint32_t>(column_salt(name)); }

}  // namespace thalweg
