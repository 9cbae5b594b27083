// Grammar, all integers little-endian:
//   opening := "THWG":u32 version:u16 kind:u8 0:u8 from:u32 to:u32 channel:u16 0:u16 body_bytes:u32
//   nonce:u64[2]
//              call:u64[2] 0:u64
//   member  := rank:u32 size:u32 group:text host:text port:u16 machine:text local_name:text cores:text
//              uid:u32 pid:u32 over_ucx:u8 costs:f64[9] measured_routes:u64
//   answer  := "THWA":u32 version:u16 refused:u8 0:u8 body_bytes:u32 0:u32 (table | refusal)
//   table   := nonce:u64[2] count:u32 member[count]
//   refusal := code:u8 text
#include "net/group/group_message.h"

#include <fmt/format.h>

#include "base/limits.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kOpeningMagic = 0x47574854;
constexpr std::uint32_t kAnswerMagic = 0x41574854;
constexpr std::size_t kMemberBytesMin = 4 + 4 + 4 + 4 + 2 + 4 + 4 + 4 + 4 + 4 + 1 + 9 * 8 + 8;
constexpr std::size_t kTextBytesMax = limits::kNameBytesMax;

Status refused(std::string why) { return {Code::kRefused, std::move(why)}; }

void put(Writer& out, const Member& member) {
  out.put(member.rank).put(member.size).put_text(member.group).put_text(member.host).put(member.port);
  out.put_text(member.machine)
      .put_text(member.local_name)
      .put_text(member.cores)
      .put(member.uid)
      .put(member.pid)
      .put(std::uint8_t{member.over_ucx});
  each_cost(member.costs, [&out](const char*, const char*, double value, auto) { out.put(value); });
  out.put(member.measured_routes);
}

Member get_member(Reader& in) {
  Member member;
  member.rank = in.get<std::uint32_t>();
  member.size = in.get<std::uint32_t>();
  member.group = in.get_text(kTextBytesMax);
  member.host = in.get_text(kTextBytesMax);
  member.port = in.get<std::uint16_t>();
  member.machine = in.get_text(kTextBytesMax);
  member.local_name = in.get_text(kTextBytesMax);
  member.cores = in.get_text(kTextBytesMax);
  member.uid = in.get<std::uint32_t>();
  member.pid = in.get<std::uint32_t>();
  const auto over_ucx = in.get<std::uint8_t>();
  if (over_ucx > 1) in.fail();
  member.over_ucx = over_ucx == 1;
  each_cost(member.costs, [&in](const char*, const char*, double& value, auto is_valid) {
    value = in.get<double>();
    if (!is_valid(value)) in.fail();
  });
  member.measured_routes = in.get<std::uint64_t>();
  return member;
}

Bytes answer(bool refusal, const Bytes& body) {
  Writer out;
  out.put(kAnswerMagic).put(kGroupWireVersion).put(std::uint8_t{refusal}).put(std::uint8_t{0});
  out.put(static_cast<std::uint32_t>(body.size())).put(std::uint32_t{0});
  for (const std::byte byte : body.span()) out.put(byte);
  return out.take();
}

}  // namespace

Bytes encode_opening(const Opening& opening) {
  Writer out;
  out.put(kOpeningMagic).put(kGroupWireVersion).put(opening.kind).put(std::uint8_t{0});
  out.put(opening.from).put(opening.to).put(opening.channel).put(std::uint16_t{0}).put(opening.body_bytes);
  out.put(opening.nonce[0]).put(opening.nonce[1]);
  out.put(opening.call[0]).put(opening.call[1]).put(std::uint64_t{0});
  return out.take();
}

Result<Opening> decode_opening(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const auto magic = in.get<std::uint32_t>();
  const auto version = in.get<std::uint16_t>();
  if (magic != kOpeningMagic) return refused("its first bytes are not those of a rank");
  if (version != kGroupWireVersion) {
    return refused(fmt::format("it speaks version {}, this rank speaks {}", version, kGroupWireVersion));
  }
  Opening opening;
  opening.kind = in.get<Opening::Kind>();
  bool zero = in.get<std::uint8_t>() == 0;
  opening.from = in.get<std::uint32_t>();
  opening.to = in.get<std::uint32_t>();
  opening.channel = in.get<std::uint16_t>();
  zero = in.get<std::uint16_t>() == 0 && zero;
  opening.body_bytes = in.get<std::uint32_t>();
  opening.nonce[0] = in.get<std::uint64_t>();
  opening.nonce[1] = in.get<std::uint64_t>();
  opening.call[0] = in.get<std::uint64_t>();
  opening.call[1] = in.get<std::uint64_t>();
  zero = in.get<std::uint64_t>() == 0 && zero;
  const bool joins = opening.kind == Opening::Kind::kJoin;
  const bool fits = opening.kind <= Opening::Kind::kLocal && opening.channel < limits::kChannelsMax &&
                    (joins ? opening.body_bytes <= Opening::kBodyBytesMax : opening.body_bytes == 0);
  if (!in.done() || !zero || !fits) return refused("its opening has numbers that no rank sends");
  return opening;
}

Bytes encode_member(const Member& member) {
  Writer out;
  put(out, member);
  return out.take();
}

Result<Member> decode_member(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Member member = get_member(in);
  if (!in.done()) return refused(fmt::format("{} bytes do not describe a rank", bytes.size()));
  return member;
}

Bytes encode_table(const GroupTable& table) {
  Writer out;
  out.put(table.nonce[0]).put(table.nonce[1]).put(static_cast<std::uint32_t>(table.members.size()));
  for (const Member& member : table.members) put(out, member);
  return answer(false, out.take());
}

Bytes encode_refusal(const Status& why) {
  Writer out;
  out.put(why.code()).put_text(std::string_view(why.message()).substr(0, limits::kTextOfStatusMax));
  return answer(true, out.take());
}

Result<AnswerHead> decode_answer_head(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const auto magic = in.get<std::uint32_t>();
  const auto version = in.get<std::uint16_t>();
  if (magic != kAnswerMagic) return refused("what answers there is not a rank of a group");
  if (version != kGroupWireVersion) {
    return refused(
        fmt::format("what answers there speaks version {}, this rank speaks {}", version, kGroupWireVersion));
  }
  AnswerHead head;
  const auto refusal = in.get<std::uint8_t>();
  const bool zero = in.get<std::uint8_t>() == 0;
  head.refused = refusal == 1;
  head.body_bytes = in.get<std::uint32_t>();
  const bool end = in.get<std::uint32_t>() == 0 && in.done();
  if (!zero || !end || refusal > 1 || head.body_bytes > limits::kControlBytesMax) {
    return refused("the answer has numbers that no rank sends");
  }
  return head;
}

Result<GroupTable> decode_answer(const AnswerHead& head, std::span<const std::byte> body) {
  Reader in(body);
  if (head.refused) {
    const auto code = in.get<Code>();
    std::string text = in.get_text(limits::kTextOfStatusMax);
    if (!in.done() || code == Code::kOk || code > Code::kAborted) return refused("the refusal is damaged");
    return Status(code, std::move(text));
  }
  GroupTable table;
  table.nonce[0] = in.get<std::uint64_t>();
  table.nonce[1] = in.get<std::uint64_t>();
  const std::uint32_t count = in.get_count(limits::kGroupRanksMax, kMemberBytesMin);
  for (std::uint32_t rank = 0; rank < count && in.ok(); ++rank) {
    table.members.push_back(get_member(in));
    if (table.members.back().rank != rank || table.members.back().size != count) in.fail();
  }
  if (!in.done() || count == 0) return refused("the table of ranks is damaged");
  return table;
}

}  // namespace thalweg
