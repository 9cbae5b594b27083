#include "cli/work/late_servers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "thalweg/job_status.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kLookEvery{30};

// A process in a session of its own, so that no terminal ends it; what it says is kept in memory.
class OwnServer {
 public:
  OwnServer() : words_(memfd_create("thalweg-server", MFD_CLOEXEC)) {}
  OwnServer(OwnServer&& other) noexcept
      : words_(std::exchange(other.words_, -1)), pid_(std::exchange(other.pid_, 0)) {}
  OwnServer& operator=(OwnServer&&) = delete;
  ~OwnServer() {
    if (words_ >= 0) close(words_);
  }

  Status start(const std::vector<std::string>& words) {
    std::array<char, 4096> path{};
    if (words_ < 0 || readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0)
      return {Code::kIo, fmt::format("cannot start a server: {}", std::strerror(errno))};
    std::vector<char*> argv{path.data()};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) return {Code::kIo, fmt::format("cannot start a server: {}", std::strerror(errno))};
    if (pid_ > 0) return ok_status();
    setsid();
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(words_, STDERR_FILENO);
    execv(path.data(), argv.data());
    _exit(127);
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  // What it said last, once it has ended.
  std::optional<std::string> ended() const {
    if (waitpid(pid_, nullptr, WNOHANG) != pid_) return {};
    std::array<char, 4096> text{};
    const off_t size = lseek(words_, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
    const ssize_t got = pread(words_, text.data(), text.size(), from);
    std::string_view said(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    while (said.ends_with('\n')) said.remove_suffix(1);
    return std::string(said.substr(said.rfind('\n') + 1));
  }

 private:
  int words_;
  pid_t pid_ = 0;
};

const JobNode* node_of(const JobStatus& status, std::uint32_t pid, const std::set<NodeId>& before) {
  for (const JobNode& node : status.nodes) {
    if (node.id.role == Role::kServer && node.pid == pid && !before.contains(node.id)) return &node;
  }
  return nullptr;
}

std::string part_of(const JobStatus& status, NodeId server) {
  for (const JobEvent& event : status.events) {
    if (event.node == server && event.kind == JobEvent::Kind::kShared) return event.cause;
  }
  return "it takes part";  // So long ago that it is told no more.
}

Status turned_away(const std::string& said) {
  constexpr std::string_view kMark = "REFUSED: ";
  const auto mark = said.find(kMark);
  return {Code::kRefused,
          mark == std::string::npos ? "the server has ended: " + said : said.substr(mark + kMark.size())};
}

}  // namespace

Result<LateServers> start_late_servers(const NodeOptions& node, std::uint32_t count,
                                       const std::vector<std::string>& words) {
  const auto begin = std::chrono::steady_clock::now();
  const auto before = job_status(node);
  if (!before) return before.status();
  if (before->epoch == 0) {
    return Status(Code::kRefused,
                  "no server can join: not all nodes of the job are there yet, expected one that has begun");
  }
  std::set<NodeId> known;
  for (const JobNode& one : before->nodes) known.insert(one.id);
  std::vector<OwnServer> started(count);
  for (OwnServer& server : started) {
    if (Status status = server.start(words); !status.ok()) return status;
  }
  for (;;) {
    const auto status = job_status(node);
    LateServers all;
    all.took = std::chrono::steady_clock::now() - begin;
    for (const OwnServer& server : started) {
      const JobNode* const there = status ? node_of(*status, server.pid(), known) : nullptr;
      if (there != nullptr && there->state == NodeState::kAlive) {
        all.servers.push_back({there->id.index, server.pid(), part_of(*status, there->id)});
      } else if (const auto said = server.ended()) {
        return turned_away(*said);
      }
    }
    std::ranges::sort(all.servers, {}, &LateServer::server);  // They get their names in any order.
    if (all.servers.size() == count) return all;
    if (!status) return status.status();
    if (all.took > node.patience) {
      return Status(
          Code::kTimeout,
          fmt::format("{} of {} servers have their part after {:.1f} s; the others go on joining, see "
                      "thalweg status",
                      all.servers.size(), count, std::chrono::duration<double>(node.patience).count()));
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace thalweg
