#include "cli/view/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace thalweg {
namespace {

struct Character {
  std::size_t size = 1;  // Bytes.
  bool shows = false;
};

// Terminals take U+0080 to U+009F for control characters; the others reorder or hide what stands beside them.
bool commands(std::uint32_t point) {
  return (point >= 0x80 && point <= 0x9f) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

// The first character of a text that is not empty. RFC 3629, section 3.
Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead >= 0x20 && lead != 0x7f};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead < 0xc2 || lead > 0xf4 || size > text.size()) return {};
  std::uint32_t point = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (point < kLeast[size] || point > 0x10ffff || surrogate) return {};
  return {size, !commands(point)};
}

}  // namespace

std::string printable(std::string_view text, std::string_view keep, std::size_t bytes_max) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= bytes_max) return out + fmt::format("... ({} bytes more)", text.size());
    const Character next = first_character(text);
    if (next.shows || keep.find(text.front()) != keep.npos) {
      out += text.substr(0, next.size);
    } else {
      for (const char byte : text.substr(0, next.size))
        out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(byte));
    }
    text.remove_prefix(next.size);
  }
  return out;
}

}  // namespace thalweg
