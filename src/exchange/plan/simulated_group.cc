#include "exchange/plan/simulated_group.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace thalweg {

// One rank's links.
class SimulatedFabric final : public Fabric {
 public:
  SimulatedFabric(SimulatedGroup& group, std::uint32_t rank) : group_(&group), rank_(rank) {}

  std::size_t write(Link to, std::span<const Piece> pieces) override {
    std::size_t size = 0;
    for (const Piece& piece : pieces) size += piece.size;
    if (size == 0) return 0;
    const Network::Flow flow = find(out_, to, true);
    SimulatedGroup::Inbox& inbox = group_->inboxes_[flow];
    if (inbox.unread + size > std::max<std::uint64_t>(inbox.window, 2 * size)) {
      inbox.wakes_at = std::max<std::uint64_t>(inbox.window / 2, size);
      return 0;
    }
    inbox.unread += size;
    if (pieces.front().data) keep(flow, pieces);
    group_->depart(rank_, flow, size);
    return size;
  }

  Piece peek(Link from, std::size_t want) override {
    const Network::Flow flow = find(in_, from, false);
    const std::size_t size = std::min<std::size_t>(want, group_->inboxes_[flow].ready);
    const SimulatedGroup::Stream* stream = group_->stream(flow);
    return {stream ? stream->bytes.data() + stream->begin : nullptr, size};
  }

  void consume(Link from, std::size_t bytes) override {
    const Network::Flow flow = find(in_, from, false);
    SimulatedGroup::Inbox& inbox = group_->inboxes_[flow];
    inbox.ready -= bytes;
    inbox.unread -= bytes;
    if (inbox.wakes_at != SimulatedGroup::kNeverWakes && inbox.unread <= inbox.wakes_at) {
      inbox.wakes_at = SimulatedGroup::kNeverWakes;
      group_->woken_.push_back(from.peer);
    }
    SimulatedGroup::Stream* stream = group_->stream(flow);
    if (!stream) return;
    stream->begin += bytes;
    if (stream->begin * 2 < stream->bytes.size()) return;
    stream->bytes.erase(stream->bytes.begin(),
                        stream->bytes.begin() + static_cast<std::ptrdiff_t>(stream->begin));
    stream->begin = 0;
  }

  void added(std::size_t bytes) override {
    if (group_->processors_) group_->processors_->add(rank_, group_->network_.now(), bytes);
  }

  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    const Piece ready = peek(from, size);
    if (ready.size == 0) return 0;
    if (into) std::memcpy(into, ready.data, ready.size);
    consume(from, ready.size);
    return ready.size;
  }

 private:
  void keep(Network::Flow flow, std::span<const Piece> pieces) {
    if (flow >= group_->streams_.size()) group_->streams_.resize(flow + 1);
    SimulatedGroup::Stream& stream = group_->streams_[flow];
    stream.used = true;
    for (const Piece& piece : pieces)
      stream.bytes.insert(stream.bytes.end(), piece.data, piece.data + piece.size);
  }

  struct Known {
    Link link{~0u, 0};
    Network::Flow flow = 0;
  };
  static constexpr std::size_t kKnown = 16;

  Network::Flow find(Known (&known)[kKnown], Link link, bool out) {
    Known& entry = known[(link.peer * 0x9e3779b1u + link.channel * 0x85ebca6bu) >> 28];
    if (!(entry.link == link)) {
      entry = {link, out ? group_->flow(rank_, link.peer, link.channel)
                         : group_->flow(link.peer, rank_, link.channel)};
    }
    return entry.flow;
  }

  SimulatedGroup* group_;
  std::uint32_t rank_;
  Known in_[kKnown];  // Spares most calls a look into the group's map.
  Known out_[kKnown];
};

SimulatedGroup::SimulatedGroup(Network& network, std::span<const std::uint32_t> endpoints,
                               const Handling* handling)
    : network_(network), endpoints_(endpoints.begin(), endpoints.end()) {
  THALWEG_CHECK(endpoints.size() < (1u << 24), "ranks fit the keys of links");
  if (handling) processors_.emplace(static_cast<std::uint32_t>(endpoints_.size()), *handling);
  fabrics_.reserve(endpoints_.size());
  for (std::uint32_t rank = 0; rank < endpoints_.size(); ++rank) fabrics_.emplace_back(*this, rank);
}

SimulatedGroup::~SimulatedGroup() = default;

Fabric& SimulatedGroup::fabric(std::uint32_t rank) { return fabrics_[rank]; }

Network::Flow SimulatedGroup::flow(std::uint32_t from, std::uint32_t to, std::uint16_t channel) {
  const std::uint64_t key = std::uint64_t{from} << 40 | std::uint64_t{to} << 16 | channel;
  std::uint32_t& known = flows_[key];
  if (known != FlowTable::kNew) return known;
  const Network::Flow made = known = network_.open(endpoints_[from], endpoints_[to]);
  THALWEG_CHECK(made == inboxes_.size(), "a network carries one group");
  Inbox inbox;
  const Picoseconds at_ends = processors_ ? 2 * processors_->message_time(network_.hops(made)) : 0;
  inbox.window = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(2 * network_.pipe_bytes(made, at_ends), kWindowBytes, ~std::uint32_t{0}));
  inbox.rank = to;
  inbox.channel = channel;
  inboxes_.push_back(inbox);
  ends_.push_back({from, to});
  return made;
}

void SimulatedGroup::depart(std::uint32_t rank, Network::Flow flow, std::uint64_t bytes) {
  if (!processors_) {
    network_.send(flow, bytes);
    return;
  }
  network_.send_at(flow, bytes, processors_->message(rank, network_.now(), network_.hops(flow)));
}

bool SimulatedGroup::next(std::uint32_t& rank) {
  std::uint32_t channel = 0;
  return next(rank, channel);
}

bool SimulatedGroup::next(std::uint32_t& rank, std::uint32_t& channel) {
  channel = kAnyChannel;
  if (!woken_.empty()) {
    rank = woken_.front();
    woken_.pop_front();
    return true;
  }
  Network::Arrival arrival;
  if (!network_.next(arrival)) return false;
  while (processors_ && !arrival.is_alarm()) {
    const Picoseconds done =
        processors_->message(inboxes_[arrival.flow].rank, network_.now(), network_.hops(arrival.flow));
    network_.alarm(arrival.flow, done, arrival.bytes);
    if (!network_.next(arrival)) return false;
  }
  Inbox& inbox = inboxes_[arrival.flow];
  inbox.ready += arrival.bytes;
  rank = inbox.rank;
  channel = inbox.channel;
  return true;
}

// Of thousands of ranks, none is in the cache when its turn comes.
void SimulatedGroup::fetch_ahead(std::span<const std::unique_ptr<Exchange>> exchanges) const {
  constexpr std::size_t kLine = 64, kFar = 8, kNear = 3;
  if (const auto* far = network_.ahead(kFar)) __builtin_prefetch(&inboxes_[far->flow]);
  const auto* near = network_.ahead(kNear);
  if (!near) return;
  const std::uint32_t rank = inboxes_[near->flow].rank;
  const auto fetch = [](const auto& object) {
    const auto* bytes = reinterpret_cast<const char*>(&object);  // NOLINT(*-reinterpret-cast)
    for (std::size_t at = 0; at < sizeof(object); at += kLine) __builtin_prefetch(bytes + at);
  };
  fetch(*exchanges[rank]);
  fetch(fabrics_[rank]);
}

Status SimulatedGroup::run(std::span<const std::unique_ptr<Exchange>> exchanges,
                           std::vector<Picoseconds>* finished) {
  return run_until(~Picoseconds{0}, exchanges, finished).status();
}

Result<bool> SimulatedGroup::run_until(Picoseconds deadline,
                                       std::span<const std::unique_ptr<Exchange>> exchanges,
                                       std::vector<Picoseconds>* finished) {
  THALWEG_CHECK(exchanges.size() == endpoints_.size(), "one exchange a rank");
  if (finished) finished->assign(exchanges.size(), 0);
  std::size_t left = exchanges.size();
  Status status;
  const auto advance = [&](std::uint32_t rank, std::uint32_t channel) {
    Exchange& exchange = *exchanges[rank];
    if (exchange.done()) return;
    const bool done = channel == kAnyChannel
                          ? exchange.advance(fabrics_[rank])
                          : exchange.advance(fabrics_[rank], static_cast<std::uint16_t>(channel));
    if (!done) return;
    --left;
    if (finished) (*finished)[rank] = std::max(network_.now(), processor_free(rank));
    if (status.ok() && !exchange.status().ok()) status = exchange.status();
  };
  for (std::uint32_t rank = 0; rank < exchanges.size(); ++rank) advance(rank, kAnyChannel);
  std::uint32_t changed = 0, channel = 0;
  while (status.ok() && next(changed, channel)) {
    if (network_.now() > deadline) return false;
    fetch_ahead(exchanges);
    advance(changed, channel);
  }
  if (!status.ok()) return status;
  if (left == 0) return true;
  for (std::uint32_t rank = 0; rank < exchanges.size(); ++rank) {
    if (exchanges[rank]->done()) continue;
    return Status(Code::kRefused, exchanges[rank]->name() + " stands still: rank " + std::to_string(rank) +
                                      " is at " + exchanges[rank]->waits_in());
  }
  return true;
}

}  // namespace thalweg
