#include "client/replica/shard_group.h"

#include <fmt/format.h>

#include <arpa/inet.h>

#include <array>

#include "base/completion.h"
#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/socket/listener.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kOctets = 4;

// Octets of the address, then the port: small whole numbers, which floats hold exactly.
Result<std::vector<float>> words_of(const std::string& host, std::uint16_t port) {
  std::array<unsigned char, kOctets> octets{};
  if (inet_pton(AF_INET, host.c_str(), octets.data()) != 1) {
    return Status(Code::kUsage,
                  fmt::format("{}: where the first data shard listens for the others; expected an IPv4 "
                              "address, such as 192.168.0.7",
                              host));
  }
  std::vector<float> words(octets.begin(), octets.end());
  words.push_back(port);
  return words;
}

struct Address {
  std::string host;
  std::uint16_t port = 0;
};
Result<Address> address_in(const Rows& words) {
  std::array<std::uint32_t, kOctets + 1> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float limit = i < kOctets ? 255 : 65535;
    if (!(words[i] >= 0 && words[i] <= limit)) {
      return Status(Code::kRefused, "the first data shard has not said where it listens");
    }
    numbers[i] = static_cast<std::uint32_t>(words[i]);
  }
  return Address{fmt::format("{}.{}.{}.{}", numbers[0], numbers[1], numbers[2], numbers[3]),
                 static_cast<std::uint16_t>(numbers[kOctets])};
}

// Never done.
Pending the_end() { return Completion::pending(std::make_shared<Completion>()); }

}  // namespace

Task<Status> ShardGroup::run(GroupCall call) {
  if (waiter != nullptr) co_return co_await waiter->wait(StartedSeries::run_on_stage(*group, call));
  co_return wait([&] { return group->run(call); });
}

Task<Status> ShardGroup::all_reduce_sparse(SparseCall call) {
  if (waiter == nullptr) co_return wait([&] { return thalweg::all_reduce_sparse(*group, call); });
  if (Status status = check_sparse(call); !status.ok()) co_return status;
  const auto operation = [&](GroupSteps& steps) { return thalweg::all_reduce_sparse(steps, call); };
  co_return co_await waiter->wait(StartedSeries::start(*group, operation, {}));
}

Task<Status> ShardGroup::finish(GroupWork work) {
  if (waiter != nullptr) co_return co_await waiter->wait(std::move(work));
  co_return wait([&] { return work.wait(); });
}

void ShardGroup::stop() {
  if (waiter != nullptr) group.reset();
}

Exchanged ShardGroup::take_exchanged() {
  const std::uint64_t sent = group ? group->bytes_sent() : bytes_told_;
  return {sent - std::exchange(bytes_told_, sent), std::exchange(waited_, {})};
}

GroupCall sum_in_place(std::span<float> vector, const RouteChoice& route) {
  return Group::typed<float>(Operation::kAllReduce, vector.data(), vector.data(), vector.size(),
                             Reduction::kSum, route);
}

std::vector<std::shared_ptr<ShardGroup>> shard_groups(std::uint32_t shards, const RouteChoice& route,
                                                      std::chrono::nanoseconds timeout) {
  std::vector<std::shared_ptr<ShardGroup>> all;
  for (Group& group : Group::in_process(shards, timeout)) {
    all.push_back(std::make_shared<ShardGroup>());
    all.back()->overlaps = group.has_time_to_overlap();
    all.back()->group = std::move(group);
    all.back()->route = route;
    all.back()->timeout = timeout;
    all.back()->of_threads = true;
  }
  return all;
}

TableSpec meeting_table() {
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "meeting";
  table.rows = 1;
  table.dim = kOctets + 1;
  table.ranges = 1;
  table.rule.kind = RuleKind::kAssign;
  return table;
}

Task<Status> meet(Store& shared, TableId meeting, std::uint32_t shards, MeetingPlace place,
                  ShardGroup& made) {
  if (shared.step() != Step{}) {
    co_return Status(
        Code::kPeerLost,
        fmt::format("the worker of data shard {} is lost, and with it what that shard had learnt",
                    shared.shard().value));
  }
  const Keys row = Keys::block(0, 1);
  std::optional<Listener> listener;
  if (shared.shard().value == 0) {
    const auto addresses = resolve(place.host, 0, live_now() + place.options.timeout);
    if (!addresses) co_return addresses.status();
    auto opened = Listener::open(addresses->front(), {.insecure_no_auth = place.options.insecure_no_auth});
    if (!opened) co_return opened.status();
    listener = std::move(opened).value();
    auto words = words_of(host_of(listener->address()), port_of(listener->address()));
    if (!words) co_return words.status();
    shared.push(meeting, row, Rows(std::move(words).value())).forget();
  }
  if (Status status = (co_await shared.advance()).status; !status.ok()) co_return status;
  const Answer told = co_await shared.pull(meeting, row);
  if (!told.status.ok()) co_return told.status;
  const auto address = address_in(told.rows);
  if (!address) co_return address.status();
  place.options.rank = shared.shard().value;
  place.options.size = shards;
  place.options.master_host = address->host;
  place.options.master_port = address->port;
  if (listener) place.options.listener = listener->fd();
  auto group = Group::join(place.options);
  if (!group) co_return group.status();
  made.group = std::move(group).value();
  made.timeout = place.options.timeout;
  made.overlaps = made.group->has_time_to_overlap();
  co_return ok_status();
}

Task<Status> or_wait_for_the_end(ShardGroup& ranks, Status status) {
  if (ranks.of_threads && (status.code() == Code::kPeerLost || status.code() == Code::kAborted)) {
    ranks.group.reset();  // So that those who wait for this one go the same way.
    (void)co_await the_end();
  }
  co_return status;
}

}  // namespace thalweg
