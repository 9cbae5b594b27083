#include "net/group/form_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "base/limits.h"
#include "net/group/group_acceptor.h"
#include "net/group/group_call.h"
#include "net/group/rendezvous.h"
#include "net/socket/address.h"
#include "net/socket/secret_file.h"
#include "net/ucx/ucx_group.h"

namespace thalweg {
namespace {

// Ranks that have met connect at once.
constexpr Duration kConnectTimeout = std::chrono::seconds(5);

// With `insecure_no_auth` alone it is nobody's, so that ranks on machines whose users have no file in common
// find each other.
Result<Secret> secret_of(const GroupOptions& options) {
  if (!options.secret_file.empty()) return read_secret(options.secret_file);
  if (options.insecure_no_auth) return Secret{};
  return secret_of_user();
}

// An acceptor that the other ranks of this machine can use too, unless only TCP is wanted.
Result<std::unique_ptr<GroupAcceptor>> open_acceptor(const GroupOptions& options,
                                                     const SocketAddress& address) {
  const Result<Secret> secret = secret_of(options);
  if (!secret) return secret.status();
  Result<std::unique_ptr<GroupAcceptor>> acceptor =
      options.rank == 0 && options.listener >= 0
          ? GroupAcceptor::borrow(options.listener, address, options.insecure_no_auth, *secret)
          : GroupAcceptor::listen(address, options.insecure_no_auth, *secret);
  if (!acceptor || options.transport == GroupTransport::kTcp || options.transport == GroupTransport::kUcx)
    return acceptor;
  const Status local = (*acceptor)->listen_locally();
  if (!local.ok() && options.transport == GroupTransport::kShm) return local;
  return acceptor;
}

void warn_if_reachable(const GroupOptions& options, const SocketAddress& address) {
  if (!options.insecure_no_auth || options.rank > 0 || is_loopback(address)) return;
  const std::string line = fmt::format(
      "insecure_no_auth: rank 0 listens on {}; whoever {} can {}read and change what the group exchanges",
      to_text(address),
      options.secret_file.empty() ? "reaches it, or the ports of other ranks," : "is on the way to a rank",
      options.secret_file.empty() ? "join, " : "");
  if (options.log) return options.log(line);
  std::fprintf(stderr, "thalweg: warning: %s\n", line.c_str());
}

Member describe(const GroupOptions& options, const MachineCosts& costs, std::uint64_t measured_routes) {
  Member self = describe_this_process(options.rank, options.size, options.group);
  self.over_ucx = options.transport == GroupTransport::kUcx;
  self.costs = costs;
  self.measured_routes = measured_routes;
  return self;
}

Result<Meeting> meet_first(const GroupOptions& options, const Member& self, Instant deadline,
                           std::shared_ptr<GroupAcceptor>& acceptor) {
  const auto addresses = resolve(options.master_host, options.master_port, deadline);
  if (!addresses) return addresses.status();
  SocketAddress here = addresses->front();
  const bool nobody_calls = options.size == 1 && options.listener < 0;  // Other groups may want the port.
  if (options.rank > 0 || nobody_calls) {
    Result<SocketAddress> own = own_address_towards(here);
    if (!own) return own.status();
    here = *own;
  }
  Result<std::unique_ptr<GroupAcceptor>> made = open_acceptor(options, here);
  if (!made) return made.status();
  acceptor = *std::move(made);
  warn_if_reachable(options, acceptor->address());
  Venue venue;
  venue.deadline = deadline;
  venue.where = [&options](std::uint32_t) { return std::pair(options.master_host, options.master_port); };
  return meet(*acceptor, self, venue);
}

constexpr const char* kTransportNames[] = {"auto", "shm", "tcp", "ucx"};  // In the order of GroupTransport.

}  // namespace

const char* group_transport_name(GroupTransport transport) {
  return kTransportNames[static_cast<std::size_t>(transport)];
}

Result<GroupTransport> parse_group_transport(std::string_view name) {
  const auto known = std::find(std::begin(kTransportNames), std::end(kTransportNames), name);
  if (known != std::end(kTransportNames))
    return static_cast<GroupTransport>(known - std::begin(kTransportNames));
  return Status(Code::kUsage, fmt::format("transport '{}' is unknown; expected auto, shm, tcp or ucx", name));
}

Result<std::unique_ptr<ProcessGroup>> form_group(const GroupOptions& options, const MachineCosts& costs,
                                                 std::uint64_t measured_routes) {
  if (options.size == 0 || options.size > limits::kGroupRanksMax || options.rank >= options.size) {
    return Status(Code::kUsage,
                  fmt::format("rank {} of {}: expected a rank below the number of ranks, which is 1 to {}",
                              options.rank, options.size, limits::kGroupRanksMax));
  }
  if (options.transport == GroupTransport::kUcx) {
    if (Status available = UcxGroup::available(); !available.ok()) return available;
  }
  const Instant deadline = live_now() + options.timeout;
  std::shared_ptr<GroupAcceptor> acceptor;
  Result<Meeting> meeting =
      meet_first(options, describe(options, costs, measured_routes), deadline, acceptor);
  if (!meeting) return meeting.status();
  return ProcessGroup::connect(options, *std::move(meeting), std::move(acceptor), deadline + kConnectTimeout);
}

}  // namespace thalweg
