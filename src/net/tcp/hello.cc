// Grammar, all integers little-endian:
//   hello := from_role:u8 from_index:u32 to_role:u8 to_index:u32 cluster:u64 stream_version:u16
//   incarnation:u64 told:u8*
#include "net/tcp/hello.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {
namespace {

constexpr std::size_t kHelloBytesMin = 28;  // With nothing told.

}  // namespace

Bytes encode_hello(const Hello& hello) {
  Writer out;
  out.put(hello.from.role).put(hello.from.index).put(hello.to.role).put(hello.to.index);
  out.put(hello.cluster).put(kStreamVersion).put(hello.incarnation);
  for (const char letter : hello.told.substr(0, kToldBytesMax)) out.put(letter);
  return out.take();
}

Frame hello_frame(const Hello& hello) {
  Frame frame;
  frame.head.op = Op::kHello;
  frame.head.cluster = hello.cluster;
  frame.first = encode_hello(hello);
  return frame;
}

Result<Hello> decode_hello(std::span<const std::byte> bytes) {
  const auto refused = [](std::string why) {
    return Status{Code::kRefused, "handshake refused: " + std::move(why)};
  };
  Reader in(bytes);
  Hello hello;
  hello.from.role = in.get<Role>();
  hello.from.index = in.get<std::uint32_t>();
  hello.to.role = in.get<Role>();
  hello.to.index = in.get<std::uint32_t>();
  hello.cluster = in.get<std::uint64_t>();
  const auto version = in.get<std::uint16_t>();
  hello.incarnation = in.get<std::uint64_t>();
  const std::size_t left = bytes.size() - std::min(bytes.size(), kHelloBytesMin);
  for (std::size_t i = 0; i < std::min(left, kToldBytesMax); ++i) {
    const auto letter = in.get<char>();
    hello.told += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  if (!in.done()) return refused(fmt::format("{} bytes are no hello", bytes.size()));
  if (version != kStreamVersion) {
    const auto text = [](unsigned both) { return fmt::format("{}.{}", both & 0xff, both >> 8); };
    return refused(fmt::format("wire version {}, this node speaks {}", text(version), text(kStreamVersion)));
  }
  if (hello.from.role > Role::kWorker || hello.to.role > Role::kWorker) return refused("unknown role");
  return hello;
}

}  // namespace thalweg
