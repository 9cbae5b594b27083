#include "net/etcd/etcd_value.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>

namespace thalweg::etcd {
namespace {

std::uint32_t count_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + kPieceBytes - 1) / kPieceBytes);
}

template <class Number>
bool take_number(std::string_view& text, int base, Number& out) {
  const std::size_t end = std::min(text.find('.'), text.size());
  const auto read = std::from_chars(text.data(), text.data() + end, out, base);
  if (read.ec != std::errc() || read.ptr != text.data() + end) return false;
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

}  // namespace

Pieces pieces_of(std::uint64_t id, std::string_view value) {
  return {id, count_of(value.size()), value.size(), XXH3_64bits(value.data(), value.size())};
}

std::string_view piece(std::string_view value, std::uint32_t number) {
  return value.substr(number * kPieceBytes, kPieceBytes);
}

bool is_whole(const Pieces& pieces, std::string_view value) {
  return value.size() == pieces.bytes && XXH3_64bits(value.data(), value.size()) == pieces.hash;
}

std::string encode_value(std::string_view value) {
  std::string out(1, '=');
  return out += value;
}

std::string encode_pieces(const Pieces& pieces) {
  return fmt::format("@{:016x}.{}.{}.{:016x}", pieces.id, pieces.count, pieces.bytes, pieces.hash);
}

std::optional<Kept> decode_kept(std::string_view text) {
  if (text.starts_with('=')) return Kept{std::string(text.substr(1)), std::nullopt};
  if (!text.starts_with('@')) return std::nullopt;
  std::string_view rest = text.substr(1);
  Pieces found;
  if (!take_number(rest, 16, found.id) || !take_number(rest, 10, found.count) ||
      !take_number(rest, 10, found.bytes) || !take_number(rest, 16, found.hash))
    return std::nullopt;
  const bool fits = found.bytes > 0 && found.bytes <= kValueBytesMax && found.count == count_of(found.bytes);
  if (!fits || encode_pieces(found) != text) return std::nullopt;
  return Kept{{}, found};
}

}  // namespace thalweg::etcd
