#include "data/reader/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/word_list.h"
#include "data/reader/number.h"

namespace thalweg {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// What programs write where a value is missing or has overflowed.
bool is_no_finite_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto lower = [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); };
  const auto is = [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [&](char c, char w) { return lower(c) == w; });
  };
  return is("nan") || is("inf") || is("infinity") || is("na") || is("null") || is("none");
}

// Number of colons if text is numbers between colons and a number at the end, such as 3:17:0.5, or what
// stands for one there; -1 otherwise.
int colons_in_entry(std::string_view text) {
  int colons = 0;
  const std::size_t last = text.rfind(':');
  if (last != text.npos && is_no_finite_number(text.substr(last + 1)))
    text = text.substr(0, last), colons = 1;
  if (text.empty()) return -1;
  for (const char c : text) {
    const bool in_number = (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
    if (c == ':') ++colons;
    if (c != ':' && !in_number) return -1;
  }
  return text.front() == ':' || text.back() == ':' ? -1 : colons;
}

LineLook look_at(std::string_view line, bool labels_needed) {
  LineLook look{.line = line, .labels_needed = labels_needed};
  std::size_t tokens = 0;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos && look.entries_only;
       ++tokens) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const std::string_view token = line.substr(at, end - at);
    if (token.front() == '#') break;
    const int colons = colons_in_entry(token.starts_with("qid:") ? token.substr(4) : token);
    if (tokens > 0 && !token.starts_with("qid:")) {
      look.colons_most = std::max(look.colons_most, colons);
      look.colons_least = std::min(look.colons_least, colons);
    }
    look.entries_only = colons >= 0;
    at = line.find_first_not_of(kBlanks, end);
  }
  look.tabs = std::count(line.begin(), line.end(), '\t');
  return look;
}

// What lines were claimed for, by format.
struct Votes {
  explicit Votes(const RowFormats& all) : formats(all), counts(all.size()) {}

  void add(const LineLook& look) {
    Likeness best = Likeness::kNone;
    std::size_t winner = 0;
    for (std::size_t i = 0; i < formats.size(); ++i) {
      const Likeness likeness =
          formats[i]->likeness == nullptr ? Likeness::kNone : formats[i]->likeness(look);
      if (likeness > best) best = likeness, winner = i;
    }
    if (best > Likeness::kFaint) ++counts[winner];
    if (best == Likeness::kFaint && faint == nullptr) faint = formats[winner];
  }

  const RowFormat* winner() const {
    const auto best = std::max_element(counts.begin(), counts.end());
    return *best > 0 ? formats[static_cast<std::size_t>(best - counts.begin())] : faint;
  }

  const RowFormats& formats;
  std::vector<int> counts;
  const RowFormat* faint = nullptr;
};

std::string titles(const RowFormats& formats) {
  std::vector<std::string_view> words;
  for (const RowFormat* format : formats) words.push_back(format->title);
  return any_of_words(words);
}

// The first line of a file that is JSON as a whole.
bool is_json_document(std::string_view line) {
  const auto next = [&](std::size_t from) {
    const std::size_t at = line.find_first_not_of(kBlanks, from);
    return std::pair(at, at == line.npos ? '\0' : line[at]);
  };
  const auto [at, first] = next(0);
  const char second = next(at + 1).second;
  if (first == '{') return second == '\0';
  return first == '[' && (second == '{' || second == '[' || second == '\0');
}

}  // namespace

Result<const RowFormat*> detect_format(std::string_view head, const std::string& path, bool labels_needed,
                                       const RowFormats& more) {
  constexpr int kLinesLookedAt = 32;
  const RowFormats formats = row_formats(more);
  Votes votes(formats);
  int lines = 0;
  std::size_t number = 0, first = 0;
  std::string_view first_line;
  for (std::size_t at = 0; at < head.size() && lines < kLinesLookedAt;) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = head.substr(at, end - at);
    at = end + 1;
    ++number;
    const std::size_t text = line.find_first_not_of(kBlanks);
    if (text == std::string_view::npos || line[text] == '#') continue;
    if (lines++ == 0) first_line = line, first = number;
    if (lines == 1 && is_json_document(line)) {
      return Status(
          Code::kData,
          fmt::format("{}:{}:{}: saw JSON that goes over several lines; expected rows of {} (jq -c makes "
                      "JSON lines, jq -c '.[]' of an array)",
                      path, number, text + 1, titles(formats)));
    }
    votes.add(look_at(line, labels_needed));
  }
  if (lines == 0)
    return Status(Code::kData, fmt::format("{}: has no row among its first lines, expected rows", path));
  if (const RowFormat* format = votes.winner()) return format;
  return Status(Code::kData, fmt::format("{}:{}:1: saw \"{}\", expected a row of {}", path, first,
                                         shown(first_line.data(), first_line.data() + first_line.size()),
                                         titles(formats)));
}

std::string shown(const char* at, const char* end) {
  constexpr std::ptrdiff_t kMost = 40;
  std::string text;
  const char* p = at;
  for (; p < end && p - at < kMost && (p == at || (*p != ' ' && *p != '\t')) && *p != '\n'; ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (*p == '\r' && (p + 1 == end || p[1] == '\n')) break;
    text += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, *p);
  }
  return p - at == kMost ? text + "..." : text;
}

}  // namespace thalweg
