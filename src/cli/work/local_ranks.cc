#include "cli/work/local_ranks.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bind_to_core.h"
#include "net/group/form_group.h"
#include "net/socket/reserved_port.h"

namespace thalweg {
namespace {

using Body = std::function<Status(Group& group)>;

Status run_threads(std::uint32_t ranks, const Body& body) {
  std::vector<Group> groups = Group::in_process(ranks);
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    others.emplace_back([&body, ranks, group = std::move(groups[rank])]() mutable {
      bind_to_core(group.rank(), ranks);
      [[maybe_unused]] const Status seen_by_rank_0 = body(group);
    });
  }
  Status status;
  {
    bind_to_core(0, ranks);
    Group first = std::move(groups[0]);  // Gone before the others are waited for.
    status = body(first);
  }
  for (std::thread& other : others) other.join();
  return status;
}

Status join_and_run(const GroupOptions& options, const Body& body) {
  bind_to_core(options.rank, options.size);
  Result<Group> group = Group::join(options);
  if (!group) return group.status();
  return body(*group);
}

Status run_processes(GroupOptions options, const Body& body) {
  const Result<HeldPort> port = hold_port();
  if (!port) return port.status();
  options.master_port = port->number;
  options.listener = port->socket.get();
  const pid_t parent = getpid();
  std::vector<pid_t> others;
  for (options.rank = 1; options.rank < options.size; ++options.rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(getppid() == parent && join_and_run(options, body).ok() ? 0 : 1);
    }
    if (pid < 0) {
      for (const pid_t other : others) kill(other, SIGKILL);
      for (const pid_t other : others) waitpid(other, nullptr, 0);
      return {Code::kIo, fmt::format("cannot start rank {}", options.rank)};
    }
    others.push_back(pid);
  }
  options.rank = 0;
  const Status status = join_and_run(options, body);
  for (const pid_t pid : others) {
    if (!status.ok()) kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return status;
}

}  // namespace

Status run_local_ranks(std::uint32_t ranks, std::string_view transport, const Body& body,
                       const std::string& costs_file) {
  const CoresKept cores;
  if (transport == "inproc") return run_threads(ranks, body);
  GroupOptions options;
  options.size = ranks;
  const Result<GroupTransport> known = parse_group_transport(transport);
  if (!known) return known.status();
  options.transport = *known;
  options.costs_file = costs_file;
  return run_processes(options, body);
}

}  // namespace thalweg
