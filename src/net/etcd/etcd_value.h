// How a value is kept below its key in etcd, which takes 1.5 MB at a time: as it is, or in pieces that are
// written before and count from the moment at which the key names them.
// Grammar: "=" value, or "@" id:hex16 "." pieces "." bytes "." hash:hex16
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::etcd {

inline constexpr std::size_t kPieceBytes = std::size_t{512} << 10;
inline constexpr std::size_t kValueBytesMax = std::size_t{64} << 20;

struct Pieces {
  std::uint64_t id = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  bool operator==(const Pieces&) const = default;
};

Pieces pieces_of(std::uint64_t id, std::string_view value);
std::string_view piece(std::string_view value, std::uint32_t number);
bool is_whole(const Pieces& pieces, std::string_view value);

struct Kept {
  std::string value;             // Where there are no pieces.
  std::optional<Pieces> pieces;  // Else.
};
std::string encode_value(std::string_view value);
std::string encode_pieces(const Pieces& pieces);
// Empty: it is neither.
std::optional<Kept> decode_kept(std::string_view text);

}  // namespace thalweg::etcd
