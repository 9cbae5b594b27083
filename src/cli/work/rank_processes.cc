#include "cli/work/rank_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/exit_order.h"
#include "cli/guardian.h"

namespace thalweg {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr int kLookEveryMs = 20;
// From a rank's failure to the SIGTERM of the others: time to say why they leave it, the cause among them.
constexpr std::chrono::milliseconds kLastWords{500};

// One rank's standard output or error, handed on line by line.
class LabelledStream {
 public:
  LabelledStream(int fd, std::uint32_t rank, std::FILE* to)
      : fd_(fd), label_(fmt::format("[{}] ", rank)), to_(to) {
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~LabelledStream() { close_all(); }
  LabelledStream(const LabelledStream&) = delete;
  LabelledStream& operator=(const LabelledStream&) = delete;

  int fd() const { return fd_; }
  void pump() {
    std::array<char, 8192> bytes{};
    for (;;) {
      const ssize_t got = fd_ < 0 ? -1 : read(fd_, bytes.data(), bytes.size());
      if (got == 0) close_all();
      if (got <= 0) return;
      line_.append(bytes.data(), static_cast<std::size_t>(got));
      put_lines();
    }
  }
  void close_all() {
    if (!line_.empty()) {
      line_ += '\n';
      put_lines();
    }
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  void put_lines() {
    for (std::size_t end = line_.find('\n'); end != line_.npos; end = line_.find('\n')) {
      fmt::print(to_, "{}{}\n", label_, line_.substr(0, end));
      line_.erase(0, end + 1);
    }
    std::fflush(to_);
  }

  int fd_;
  const std::string label_;
  std::FILE* to_;
  std::string line_;
};

struct Rank {
  pid_t pid = 0;
  std::uint32_t rank = 0;
  bool ended = false;
  std::size_t place = 0;  // Among those that have ended, by their order.
  int signal = 0;         // That ended it, or 0.
  int exit_code = 0;

  bool failed() const { return ended && (signal != 0 || exit_code != 0); }
};

class RankProcesses {
 public:
  RankProcesses(const RankLaunch& launch, std::FILE* results, std::FILE* words)
      : launch_(launch), results_(results), words_(words) {}
  ~RankProcesses() {
    signal_all(SIGKILL);
    for (const Rank& rank : ranks_) waitpid(rank.pid, nullptr, 0);
  }

  // None runs the program before all are watched, so that of any two that fail the first is known.
  Status start_all() {
    if (pipe2(go_.data(), O_CLOEXEC) != 0)
      return {Code::kIo, fmt::format("no pipe for the ranks: {}", std::strerror(errno))};
    Status status;
    for (std::uint32_t i = 0; i < launch_.ranks && status.ok(); ++i) status = start(i);
    if (!status.ok()) signal_all(SIGKILL);
    for (const int end : go_) close(end);
    return status;
  }

  RanksEnd watch(const std::atomic<bool>& stop) {
    std::optional<RanksEnd> end;
    SteadyTime end_at = SteadyTime::max(), kill_at = SteadyTime::max();
    while (!all_ended()) {
      pump(kLookEveryMs);
      look();
      const SteadyTime now = std::chrono::steady_clock::now();
      if (!end && any_failed()) {
        look();  // Whoever failed before one that was seen to have failed is seen now.
        end = describe_failure();
        end_at = now + kLastWords;
      }
      if (stop.load()) {
        if (!end) end = {130, "interrupted"};
        end_at = std::min(end_at, now);
      }
      if (now >= end_at && kill_at == SteadyTime::max()) {
        signal_all(SIGTERM);
        kill_at = now + launch_.grace;
      }
      if (now >= kill_at) signal_all(SIGKILL);
    }
    signal_all(SIGKILL);  // What the ranks started and left behind.
    pump(0);
    return end.value_or(RanksEnd{});
  }

 private:
  bool gets_listener(std::uint32_t rank) const { return rank == 0 && launch_.listener >= 0; }
  std::vector<std::string> environment(std::uint32_t local) const {
    const std::uint32_t rank = launch_.node * launch_.ranks + local;
    std::vector<std::pair<std::string, std::string>> own = {
        {"RANK", std::to_string(rank)},
        {"WORLD_SIZE", std::to_string(launch_.ranks * launch_.nodes)},
        {"LOCAL_RANK", std::to_string(local)},
        {"LOCAL_WORLD_SIZE", std::to_string(launch_.ranks)},
        {"GROUP_RANK", std::to_string(launch_.node)},
        {"MASTER_ADDR", launch_.master_host},
        {"MASTER_PORT", std::to_string(launch_.master_port)},
        {"THALWEG_TRANSPORT", launch_.transport}};
    if (launch_.own_port != 0) own.emplace_back("THALWEG_MASTER_PORT", std::to_string(launch_.own_port));
    if (gets_listener(rank)) own.emplace_back("THALWEG_LISTENER", std::to_string(launch_.listener));
    if (launch_.insecure_no_auth) own.emplace_back("THALWEG_INSECURE_NO_AUTH", "1");
    if (!launch_.secret_file.empty()) own.emplace_back("THALWEG_SECRET_FILE", launch_.secret_file);
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const auto same = [&text](const auto& pair) { return text.rfind(pair.first + "=", 0) == 0; };
      const bool is_of_another_launch =
          text.rfind("THALWEG_MASTER_PORT=", 0) == 0 || text.rfind("THALWEG_LISTENER=", 0) == 0;
      if (!is_of_another_launch && std::none_of(own.begin(), own.end(), same)) all.push_back(text);
    }
    for (const auto& [name, value] : own) all.push_back(name + "=" + value);
    return all;
  }

  static std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
  }

  Status start(std::uint32_t local) {
    const std::vector<std::string> variables = environment(local);
    const std::vector<char*> argv = pointers(launch_.command), envp = pointers(variables);
    std::array<int, 2> out = {-1, -1}, err = {-1, -1};
    if (launch_.label && (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0)) {
      return {Code::kIo, fmt::format("no pipes for rank {}: {}", local, std::strerror(errno))};
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) return {Code::kIo, fmt::format("cannot start rank {}: {}", local, std::strerror(errno))};
    if (pid == 0) become_rank(local, parent, out[1], err[1], argv, envp);
    setpgid(pid, pid);  // Here too, so that signals sent from now on arrive.
    const std::uint32_t rank = launch_.node * launch_.ranks + local;
    ranks_.push_back({pid, rank});
    order_.watch(pid);
    if (!launch_.label) return ok_status();
    close(out[1]);
    close(err[1]);
    streams_.push_back(std::make_unique<LabelledStream>(out[0], rank, results_));
    streams_.push_back(std::make_unique<LabelledStream>(err[0], rank, words_));
    return ok_status();
  }

  [[noreturn]] void become_rank(std::uint32_t local, pid_t parent, int out, int err,
                                const std::vector<char*>& argv, const std::vector<char*>& envp) const {
    setpgid(0, 0);  // The terminal's Ctrl-C is the parent's to answer.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    close(go_[1]);
    char none = 0;
    while (read(go_[0], &none, 1) < 0 && errno == EINTR) {
    }
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    if (out >= 0) dup2(out, STDOUT_FILENO);
    if (err >= 0) dup2(err, STDERR_FILENO);
    if (launch_.inherited >= 0) fcntl(launch_.inherited, F_SETFD, 0);
    if (gets_listener(launch_.node * launch_.ranks + local)) fcntl(launch_.listener, F_SETFD, 0);
    execvpe(argv[0], argv.data(), envp.data());
    dprintf(STDERR_FILENO, "thalweg: cannot start %s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
  }

  void pump(int wait_ms) {
    std::vector<pollfd> watched;
    for (const auto& stream : streams_) {
      if (stream->fd() >= 0) watched.push_back({stream->fd(), POLLIN, 0});
    }
    poll(watched.data(), watched.size(), wait_ms);
    for (const auto& stream : streams_) stream->pump();
  }

  // Those that have ended keep their process numbers until all have, so that no other process can come to be
  // signalled in their place.
  void look() {
    std::vector<Rank*> found;
    for (Rank& rank : ranks_) {
      if (!rank.ended && how_it_ended(rank)) found.push_back(&rank);
    }
    for (const pid_t pid : order_.ended()) {  // Of all that were found, at least.
      take(*std::find_if(ranks_.begin(), ranks_.end(), [pid](const Rank& rank) { return rank.pid == pid; }));
    }
    for (Rank* rank : found) take(*rank);
  }
  static std::optional<siginfo_t> how_it_ended(const Rank& rank) {
    siginfo_t how{};
    const bool known = waitid(P_PID, static_cast<id_t>(rank.pid), &how, WEXITED | WNOHANG | WNOWAIT) == 0;
    return known && how.si_pid == rank.pid ? std::optional(how) : std::nullopt;
  }
  void take(Rank& rank) {
    const auto how = how_it_ended(rank);
    if (rank.ended || !how) return;
    rank.ended = true;
    rank.place = ended_++;
    (how->si_code == CLD_EXITED ? rank.exit_code : rank.signal) = how->si_status;
  }
  bool any_failed() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.failed(); });
  }
  // The first to end of those that `is` holds for, or null.
  template <class Is>
  const Rank* first(const Is& is) const {
    const Rank* found = nullptr;
    for (const Rank& rank : ranks_) {
      if (rank.ended && is(rank) && (found == nullptr || rank.place < found->place)) found = &rank;
    }
    return found;
  }
  // Of several that one look finds: ranks give up when another is gone, some within the moment from the end
  // of its connections to its own. What kills is no way of giving up, but for the two signals that are.
  RanksEnd describe_failure() const {
    const Rank* failed = first([](const Rank& rank) {
      return rank.failed() && rank.signal != 0 && rank.signal != SIGABRT && rank.signal != SIGPIPE;
    });
    if (failed == nullptr) failed = first([](const Rank& rank) { return rank.failed(); });
    RanksEnd end = describe(*failed);
    const Rank* left = first([](const Rank& rank) { return !rank.failed(); });
    if (left != nullptr && left->place < failed->place) end.failed += ", after " + describe(*left).failed;
    return end;
  }

  void signal_all(int signal) {
    for (const Rank& rank : ranks_) kill(-rank.pid, signal);
  }
  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended; });
  }
  static RanksEnd describe(const Rank& rank) {
    if (rank.signal != 0) {
      return {128 + rank.signal, fmt::format("rank {} (process {}) was ended by signal {} ({})", rank.rank,
                                             rank.pid, rank.signal, strsignal(rank.signal))};
    }
    return {rank.exit_code,
            fmt::format("rank {} (process {}) ended with exit code {}", rank.rank, rank.pid, rank.exit_code)};
  }

  const RankLaunch& launch_;
  std::FILE* results_;
  std::FILE* words_;
  std::vector<Rank> ranks_;
  ExitOrder order_;
  std::array<int, 2> go_ = {-1, -1};  // A pipe that ends when ranks may begin.
  std::size_t ended_ = 0;
  std::vector<std::unique_ptr<LabelledStream>> streams_;
};

}  // namespace

Result<RanksEnd> run_ranks(const RankLaunch& launch, const std::atomic<bool>& stop, std::FILE* results,
                           std::FILE* words) {
  std::fflush(results);
  std::fflush(words);
  const auto run_here = [&] {
    RankProcesses processes(launch, results, words);
    const Status started = processes.start_all();
    const RanksEnd end = started.ok() ? processes.watch(stop) : RanksEnd{0, started.message()};
    std::fflush(results);
    std::fflush(words);
    return fmt::format("{} {} {}", static_cast<int>(started.code()), end.exit_code, end.failed);
  };
  const Result<std::string> text = run_guarded(stop, run_here);
  if (!text) return text.status();
  std::istringstream in(*text);
  int code = 0;
  RanksEnd end;
  in >> code >> end.exit_code;
  std::getline(in.ignore(), end.failed);
  if (code != 0) return Status(static_cast<Code>(code), end.failed);
  return end;
}

}  // namespace thalweg
