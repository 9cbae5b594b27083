#include "net/ucx/ucx_streams.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace thalweg {
namespace {

// What a rank says first: that it understands these messages. Changes with them.
constexpr std::uint64_t kGreeting = 0x5448'5755'4358'0001;

}  // namespace

std::unique_lock<std::mutex> UcxStreams::enter() {
  std::unique_lock lock(port_.mutex());
  if (status_.ok() && !loss_.ok()) status_ = loss_;
  return lock;
}

UcxStreams::Channel& UcxStreams::open(std::uint16_t channel) {
  THALWEG_CHECK(channel < limits::kChannelsMax, "a channel that there is");
  if (channel >= channels_.size()) channels_.resize(std::size_t{channel} + 1);
  if (!channels_[channel]) channels_[channel] = std::make_unique<Channel>();
  return *channels_[channel];
}

void UcxStreams::post(UcxHeader::Kind kind, std::uint16_t channel, std::uint64_t at) {
  port_.send(peer_, {rank_, channel, kind, 0, at});
}

void UcxStreams::greet() { post(UcxHeader::Kind::kHello, 0, kGreeting); }

void UcxStreams::leave() { post(UcxHeader::Kind::kFarewell, 0, sent_); }

std::size_t UcxStreams::write(std::uint16_t channel, std::span<const Piece> pieces) {
  const auto lock = enter();
  if (!status_.ok()) return 0;
  SendWindow& out = open(channel).out;
  const std::size_t taken = out.put(pieces);
  for (auto message = out.take_message(); message.size > 0; message = out.take_message()) {
    port_.send(peer_, {rank_, channel, UcxHeader::Kind::kData, 0, message.at}, message.data, message.size);
  }
  sent_ += taken;
  return taken;
}

Piece UcxStreams::peek(std::uint16_t channel, std::size_t want) {
  const auto lock = enter();
  return open(channel).in.peek(want);
}

void UcxStreams::consume(std::uint16_t channel, std::size_t bytes) {
  const auto lock = enter();
  ReceiveWindow& in = open(channel).in;
  in.consume(bytes);
  if (in.owes_news()) tell_room(channel);
}

std::size_t UcxStreams::read(std::uint16_t channel, std::byte* into, std::size_t size) {
  const auto lock = enter();
  ReceiveWindow& in = open(channel).in;
  const std::size_t got = in.read(into, size);
  if (in.owes_news()) tell_room(channel);
  return got;
}

void UcxStreams::tell_room(std::uint16_t channel) {
  post(UcxHeader::Kind::kRoom, channel, channels_[channel]->in.take_news());
}

bool UcxStreams::take_change() {
  const auto lock = enter();
  if (leads_) port_.progress();
  return std::exchange(changed_, false);
}

bool UcxStreams::before_sleep(std::vector<pollfd>& watched) {
  const auto lock = enter();
  if (leads_) {
    port_.set_asleep(true);
    watched.push_back({port_.fd(), POLLIN, 0});
  }
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (channels_[i] && channels_[i]->in.hides_room()) tell_room(static_cast<std::uint16_t>(i));
  }
  return port_.arm() && !std::exchange(changed_, false);
}

void UcxStreams::after_sleep(std::span<const pollfd>) {
  if (leads_) {
    const auto lock = enter();
    port_.set_asleep(false);
    port_.progress();
  }
  enter();
}

std::byte* UcxStreams::place(const UcxHeader& header, std::size_t size) {
  if (!loss_.ok()) return nullptr;
  const bool named = header.kind == UcxHeader::Kind::kData && header.channel < limits::kChannelsMax;
  std::byte* const into = named ? open(header.channel).in.place(header.at, size) : nullptr;
  if (!into) {
    on_loss(fmt::format("it sent {} bytes for place {} of channel {}, where none were expected", size,
                        header.at, header.channel));
  }
  return into;
}

void UcxStreams::on_message(const UcxHeader& header, std::size_t size) {
  if (!loss_.ok()) return;
  changed_ = true;
  bool sense = true;
  switch (header.kind) {
    case UcxHeader::Kind::kHello:
      sense = header.at == kGreeting && !std::exchange(greeted_, true);
      break;
    case UcxHeader::Kind::kData:
      sense = size > 0;
      if (sense) open(header.channel).in.on_message(header.at, size);
      received_ += size;
      break;
    case UcxHeader::Kind::kRoom:
      sense = header.channel < limits::kChannelsMax && open(header.channel).out.on_consumed(header.at);
      break;
    case UcxHeader::Kind::kFarewell:
      farewell_ = header.at;
      break;
    default:
      sense = false;
  }
  if (!sense)
    on_loss(fmt::format("it sent a message of kind {} with numbers that no rank sends",
                        static_cast<int>(header.kind)));
  end_if_all_came();
}

void UcxStreams::end_if_all_came() {
  if (farewell_ == received_) on_loss("it left the group");
}

void UcxStreams::on_loss(const std::string& why) {
  if (!loss_.ok()) return;
  loss_ = Status(Code::kPeerLost, fmt::format("{} is lost: {}", name_, why));
  changed_ = true;
}

}  // namespace thalweg
