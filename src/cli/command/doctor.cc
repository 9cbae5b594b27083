// doctor: what on this machine stops training or slows it down.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/build_info.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

enum class Grade { kOk, kSlow, kBad };

struct Finding {
  std::string name;
  Grade verdict;
  std::string found;
  std::string advice = {};  // When the verdict is not kOk.
};

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

const char* verdict_name(Grade verdict) {
  switch (verdict) {
    case Grade::kOk:
      return "ok";
    case Grade::kSlow:
      return "slow";
    case Grade::kBad:
      return "bad";
  }
  return "";
}

// First line of a file of the kernel's; "" when it cannot be read.
std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Finding check_build() {
  const BuildInfo info = build_info();
  const bool fast = info.build_type == "Release" && info.sanitizer.empty();
  return {"build", fast ? Grade::kOk : Grade::kSlow,
          fmt::format("thalweg {}, {}, {}{}{}", info.version, info.build_type, info.isa,
                      info.sanitizer.empty() ? "" : ", ", info.sanitizer),
          "this build is for development; use the release preset"};
}

long usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
}

Finding check_cores() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN), usable = usable_cores();
  std::istringstream quota(first_line("/sys/fs/cgroup/cpu.max"));
  double allowed = 0, period = 0;
  if (quota >> allowed >> period && period > 0 && allowed / period < static_cast<double>(usable)) {
    return {"cores", Grade::kSlow,
            fmt::format("{} usable, but the cgroup allows {:.1f}", usable, allowed / period),
            "give --threads no more than the cgroup allows"};
  }
  return {"cores", Grade::kOk, fmt::format("{} usable of {}", usable, online)};
}

// What a variable asks for; of OpenMP's "4,2" the first level. 0 where it is unset or no number.
long threads_of_variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

// Threads that share a core take turns, and those of a BLAS wait for each other by spinning.
Finding check_threads(const Options& options) {
  const long cores = usable_cores();
  std::vector<std::pair<std::string, long>> asked = {
      {"--threads", options.maybe_integer("threads").value_or(0)}};
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    asked.emplace_back(name, threads_of_variable(name));
  std::string found, too_many;
  for (const auto& [name, threads] : asked) {
    if (threads <= 0) continue;
    found += fmt::format("{}{} {}", found.empty() ? "" : ", ", name, threads);
    if (threads > cores) too_many += fmt::format("{}{}", too_many.empty() ? "" : ", ", name);
  }
  return {"threads", too_many.empty() ? Grade::kOk : Grade::kSlow,
          found.empty() ? "as many as there are cores" : fmt::format("{}; cores {}", found, cores),
          fmt::format("more threads than cores slow each other down; set {} to {} at most", too_many, cores)};
}

Finding check_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  double kib = 0, total = 0, available = 0;
  while (file >> name >> kib) {
    std::getline(file, unit);
    if (name == "MemTotal:") total = kib;
    if (name == "MemAvailable:") available = kib;
  }
  constexpr double kLeastKib = 256 * 1024;
  return {"memory", available < kLeastKib ? Grade::kBad : Grade::kOk,
          fmt::format("{:.1f} GiB available of {:.1f}", available * 1024 / kGiB, total * 1024 / kGiB),
          "less than 256 MiB is available; end other programs"};
}

Finding check_huge_pages() {
  const std::string mode = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (mode.empty()) return {"huge pages", Grade::kOk, "the kernel does not say"};
  const bool never = mode.find("[never]") != mode.npos;
  return {"huge pages", never ? Grade::kSlow : Grade::kOk, mode,
          "large tables are faster with: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding check_congestion_control() {
  const std::string used = first_line("/proc/sys/net/ipv4/tcp_congestion_control");
  const std::string allowed = first_line("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  if (used.empty()) return {"tcp congestion control", Grade::kOk, "the kernel does not say"};
  // BBR paces by measured round trips, which holds loopback connections far below what memory can carry.
  const bool paces = used.rfind("bbr", 0) == 0;
  const bool can_choose = (" " + allowed + " ").find(" cubic ") != std::string::npos ||
                          (" " + allowed + " ").find(" reno ") != std::string::npos;
  return {"tcp congestion control", paces && !can_choose ? Grade::kSlow : Grade::kOk,
          fmt::format("{} (allowed: {})", used, allowed),
          "on loopback cubic or reno is faster; sysctl net.ipv4.tcp_allowed_congestion_control='cubic reno'"};
}

Finding check_open_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t kLeast = 64, kEnough = 1024;
  const Grade verdict = limit.rlim_cur < kLeast    ? Grade::kBad
                        : limit.rlim_cur < kEnough ? Grade::kSlow
                                                   : Grade::kOk;
  return {"open files", verdict, fmt::format("{} (hard limit {})", limit.rlim_cur, limit.rlim_max),
          "each connection takes one; ulimit -n 4096"};
}

Finding check_disk() {
  struct statvfs disk = {};
  if (statvfs(".", &disk) != 0) {
    return {"disk", Grade::kBad, fmt::format("this directory: {}", std::strerror(errno)), "change directory"};
  }
  const double free_bytes = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  constexpr double kLeastBytes = 64.0 * 1024 * 1024;
  return {"disk", free_bytes < kLeastBytes ? Grade::kBad : Grade::kOk,
          fmt::format("{:.1f} GiB free in this directory", free_bytes / kGiB),
          "less than 64 MiB is free; a model may not fit"};
}

Finding check_loopback() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The socket interface wants the general address type.
  const auto* general = reinterpret_cast<const sockaddr*>(&address);
  const bool works =
      listener >= 0 && bind(listener, general, sizeof address) == 0 && listen(listener, 1) == 0;
  const int error = errno;
  if (listener >= 0) close(listener);
  return {"loopback", works ? Grade::kOk : Grade::kBad,
          works ? "127.0.0.1 accepts listeners"
                : fmt::format("cannot listen on 127.0.0.1: {}", std::strerror(error)),
          "--processes and nodes need it; training in one process does not"};
}

// Dense models are computed by whatever BLAS the machine has.
Finding check_blas() {
  void* const blas = dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL);
  const bool there = blas != nullptr;
  const bool fast = there && dlsym(blas, "openblas_set_num_threads") != nullptr;
  if (there) dlclose(blas);
  const char* const advice =
      "dense models take 15 times as long without OpenBLAS; apt-get install libopenblas0-pthread";
  if (!there) return {"blas", Grade::kOk, "none, which dense models alone need"};
  return {"blas", fast ? Grade::kOk : Grade::kSlow, fast ? "OpenBLAS" : "another than OpenBLAS", advice};
}

Status run_doctor(const Options& options, Output& out) {
  const std::vector<Finding> findings = {
      check_build(),      check_cores(),      check_threads(options),     check_memory(),
      check_huge_pages(), check_open_files(), check_congestion_control(), check_disk(),
      check_loopback(),   check_blas()};
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  int bad = 0;
  for (const Finding& finding : findings) {
    const bool advises = finding.verdict != Grade::kOk;
    bad += finding.verdict == Grade::kBad ? 1 : 0;
    out.human(fmt::format("{:<5}{:<24}{}\n", verdict_name(finding.verdict), finding.name, finding.found));
    if (advises) out.human(fmt::format("{:<5}{:<24}{}\n", "", "", finding.advice));
    checks.push_back({{"name", finding.name},
                      {"verdict", verdict_name(finding.verdict)},
                      {"found", finding.found},
                      {"advice", advises ? finding.advice : ""}});
  }
  if (bad > 0) return {Code::kIo, fmt::format("{} of {} checks are bad", bad, findings.size())};
  out.json({{"checks", checks}});
  return ok_status();
}

}  // namespace

extern constinit const Command kDoctorCommand = {
    .path = "doctor",
    .summary = "Look at this machine for what slows training down or stops it",
    .example = "thalweg doctor",
    .run = run_doctor,
    .options = {"threads"},
};

}  // namespace thalweg
