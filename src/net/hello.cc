// Grammar, all integers little-endian:
//   hello := from_role:u8 from_index:u32 to_role:u8 to_index:u32 cluster:u64 wire_version:u16 incarnation:u64
#include "net/hello.h"

#include <fmt/format.h>

namespace thalweg {

Frame encode_hello(const Hello& hello) {
  Frame frame;
  frame.head.op = Op::kHello;
  frame.head.cluster = hello.cluster;
  Writer out;
  out.put(hello.from.role).put(hello.from.index).put(hello.to.role).put(hello.to.index);
  out.put(hello.cluster).put(kWireVersion).put(hello.incarnation);
  frame.first = out.take();
  return frame;
}

Result<Hello> decode_hello(const Frame& frame) {
  const auto refused = [](std::string why) {
    return Status{Code::kRefused, "handshake refused: " + std::move(why)};
  };
  if (frame.head.op != Op::kHello) {
    return refused(
        fmt::format("first frame is {}, expected {}", op_name(frame.head.op), op_name(Op::kHello)));
  }
  Reader in(frame.first);
  Hello hello;
  hello.from.role = in.get<Role>();
  hello.from.index = in.get<std::uint32_t>();
  hello.to.role = in.get<Role>();
  hello.to.index = in.get<std::uint32_t>();
  hello.cluster = in.get<std::uint64_t>();
  const auto version = in.get<std::uint16_t>();
  hello.incarnation = in.get<std::uint64_t>();
  if (!in.done() || !frame.second.empty()) {
    return refused(fmt::format("{} bytes are no hello", frame.first.size() + frame.second.size()));
  }
  if (version != kWireVersion) {
    return refused(fmt::format("wire version {}, this node speaks {}", version, kWireVersion));
  }
  if (hello.from.role > Role::kWorker || hello.to.role > Role::kWorker) return refused("unknown role");
  return hello;
}

}  // namespace thalweg
