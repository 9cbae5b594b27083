#include "data/reader/json_string.h"

#include <array>
#include <cstdint>

#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr std::array<bool, 256> kStopsJsonString = [] {
  std::array<bool, 256> stops{};
  for (std::size_t c = 0; c < 0x20; ++c) stops[c] = true;
  stops['"'] = stops['\\'] = true;
  return stops;
}();

const char* json_stop(const char* p) {
  while (!kStopsJsonString[static_cast<unsigned char>(*p)]) ++p;
  return p;
}

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

const char* json_digits_end(const char* p) {
  while (is_json_digit(*p)) ++p;
  return p;
}

// Four hexadecimal digits at p; false: there are none.
bool read_hex(const char* p, std::uint32_t& value) {
  value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const char lower = static_cast<char>(c | 0x20);
    const bool letter = lower >= 'a' && lower <= 'f';
    if (!letter && !is_json_digit(c)) return false;
    value = value * 16 + static_cast<std::uint32_t>(letter ? lower - 'a' + 10 : c - '0');
  }
  return true;
}

void append_utf8(std::uint32_t code, std::string& to) {
  const auto byte = [&to](std::uint32_t value) { to += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

// \uXXXX at p, two of them for what lies beyond 16 bits; p moves behind. False: it is no character.
bool read_unicode(const char*& p, std::string& to) {
  std::uint32_t code = 0, low = 0;
  if (!read_hex(p + 2, code)) return false;
  p += 6;
  if (code >= 0xd800 && code < 0xe000) {
    if (code >= 0xdc00 || p[0] != '\\' || p[1] != 'u' || !read_hex(p + 2, low)) return false;
    if (low < 0xdc00 || low >= 0xe000) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    p += 6;
  }
  append_utf8(code, to);
  return true;
}

// The escape at p, which moves behind it.
bool read_escape(const char*& p, std::string& to) {
  if (p[1] == 'u') return read_unicode(p, to);
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t which = kEscapes.find(p[1]);
  if (which == std::string_view::npos) return false;
  to += kMeanings[which];
  p += 2;
  return true;
}

}  // namespace

bool read_json_string(const char*& p, std::string_view& text, std::string& scratch, RowError& error) {
  const char* begin = p + 1;
  const char* stop = json_stop(begin);
  const bool plain = *stop == '"';
  if (!plain) scratch.assign(begin, stop);
  while (*stop != '"') {
    if (*stop == '\n') return fail(error, p, "a closing quote on the same line");
    if (*stop != '\\') return fail(error, stop, "no control character in a string");
    const char* const escape = stop;
    if (!read_escape(stop, scratch)) return fail(error, escape, "an escape of JSON, such as \\n or \\u00e9");
    const char* const next = json_stop(stop);
    scratch.append(stop, next);
    stop = next;
  }
  text = plain ? std::string_view(begin, static_cast<std::size_t>(stop - begin)) : scratch;
  p = stop + 1;
  return true;
}

const char* json_number_end(const char* p) {
  if (*p == '-') ++p;
  if (!is_json_digit(*p)) return nullptr;
  p = *p == '0' ? p + 1 : json_digits_end(p);
  if (*p == '.') {
    if (!is_json_digit(p[1])) return nullptr;
    p = json_digits_end(p + 1);
  }
  if (*p != 'e' && *p != 'E') return p;
  ++p;
  if (*p == '+' || *p == '-') ++p;
  return is_json_digit(*p) ? json_digits_end(p) : nullptr;
}

}  // namespace thalweg
