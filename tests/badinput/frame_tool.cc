// Makes frames for tests in other languages: writes the version that hellos say, then reads lines "op
// flags cluster map_epoch request table range_begin range_end code shard owner_epoch step_epoch step_index
// block first second", the last two hexadecimal or "-", and writes each frame in hexadecimal, its checksum
// right whatever it says.
#include <charconv>
#include <iostream>
#include <string>

#include "base/frame.h"
#include "net/tcp/hello.h"

namespace {

thalweg::Bytes from_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.emplace_back();
    std::from_chars(text.data() + i, text.data() + i + 2, bytes.back(), 16);
  }
  return thalweg::Bytes::of(std::move(bytes));
}

}  // namespace

int main() {
  std::cout << thalweg::kStreamVersion << std::endl;
  unsigned op = 0, flags = 0, code = 0, block = 0;
  std::string first, second;
  thalweg::Frame frame;
  thalweg::FrameHeader& h = frame.head;
  while (std::cin >> op >> flags >> h.cluster >> h.map_epoch >> h.request >> h.table.value >>
         h.ranges.begin >> h.ranges.end >> code >> h.shard.value >> h.owner_epoch >> h.step.epoch >>
         h.step.index >> block >> first >> second) {
    h.op = static_cast<thalweg::Op>(op);
    h.flags = static_cast<std::uint8_t>(flags);
    h.block = static_cast<std::uint8_t>(block);
    h.code = static_cast<thalweg::Code>(code);
    frame.first = from_hex(first);
    frame.second = from_hex(second);
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string line;
    for (const std::byte b : thalweg::encode_frame(frame)) {
      line += kDigits[std::to_integer<unsigned>(b) >> 4];
      line += kDigits[std::to_integer<unsigned>(b) & 15];
    }
    std::cout << line << std::endl;
  }
  return 0;
}
