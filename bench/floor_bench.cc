// What this machine can do at best: ceilings that the other figures are shares of.
//   floor_bench parse FILE [PASSES [JSON_FILE]]    libsvm rows/s of one core, by a loop made for "id:1" rows
//   floor_bench copy [PASSES [JSON_FILE]]          memcpy, and 1 MB messages over TCP between two processes
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "bench/rates.h"

namespace thalweg::bench {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct ParsedRows {
  std::vector<std::uint64_t> ids;
  std::vector<std::uint32_t> ends;
  std::vector<float> labels;
  std::uint64_t rows = 0, sum = 0;
};

// Whole lines of "label id:1 id:1 ...\n", no blank before the end of a line.
void parse_lines(const char* at, const char* end, ParsedRows& out) {
  constexpr std::size_t kRowsABatch = 4096;
  while (at < end) {
    out.labels.push_back(*at++ == '1' ? 1.0F : 0.0F);
    while (*at != '\n') {
      ++at;
      std::uint64_t id = 0;
      for (unsigned digit; (digit = static_cast<unsigned>(*at) - '0') < 10; ++at) id = id * 10 + digit;
      out.ids.push_back(id);
      at += 2;
    }
    ++at;
    out.ends.push_back(static_cast<std::uint32_t>(out.ids.size()));
    if (out.ends.size() < kRowsABatch) continue;
    out.rows += out.ends.size();
    for (const std::uint64_t id : out.ids) out.sum += id;
    out.ids.clear(), out.ends.clear(), out.labels.clear();
  }
}

double parse_file(const char* path) {
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  const int file = ::open(path, O_RDONLY);
  if (file < 0) {
    fmt::print(stderr, "{}: cannot be opened\n", path);
    std::exit(1);
  }
  std::vector<char> buffer(2 * kBlock);
  ParsedRows rows;
  const double begin = now_s();
  std::size_t kept = 0;
  for (ssize_t got; (got = ::read(file, buffer.data() + kept, kBlock)) > 0;) {
    const std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    const std::size_t whole = text.rfind('\n') + 1;
    parse_lines(text.data(), text.data() + whole, rows);
    kept = text.size() - whole;
    std::memmove(buffer.data(), buffer.data() + whole, kept);
  }
  const double seconds = now_s() - begin;
  ::close(file);
  const double count = static_cast<double>(rows.rows + rows.ends.size());
  if (rows.sum == 0 && rows.ids.empty()) fmt::print(stderr, "{}: no rows\n", path);
  return count / seconds;
}

double copy_rate(std::size_t bytes, std::size_t total) {
  const std::vector<char> from(bytes, 'a');
  std::vector<char> to(bytes, 'b');
  const double begin = now_s();
  for (std::size_t done = 0; done < total; done += bytes) {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
  }
  return static_cast<double>(total) / (now_s() - begin) * 1e-9;
}

int tcp_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1, buffer = 4 << 20;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  return fd;
}

// One direction, one connection, into the same 1 MB again and again.
double tcp_rate(std::size_t total) {
  constexpr std::size_t kMessage = std::size_t{1} << 20;
  const int listener = tcp_socket();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  THALWEG_CHECK(::bind(listener, generic, size) == 0 && ::listen(listener, 1) == 0, "loopback listens");
  THALWEG_CHECK(::getsockname(listener, generic, &size) == 0, "the port is known");
  const pid_t child = ::fork();
  std::vector<char> buffer(kMessage, 'a');
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = tcp_socket();
    if (::connect(fd, generic, size) != 0) std::_Exit(1);
    for (;;) {
      if (::send(fd, buffer.data(), kMessage, MSG_NOSIGNAL) <= 0) std::_Exit(0);
    }
  }
  const int fd = ::accept(listener, nullptr, nullptr);
  THALWEG_CHECK(fd >= 0, "the child connects");
  const auto receive = [&](std::size_t wanted) {
    for (std::size_t got = 0; got < wanted;) {
      const ssize_t bytes = ::recv(fd, buffer.data(), kMessage, 0);
      THALWEG_CHECK(bytes > 0, "the child sends");
      got += static_cast<std::size_t>(bytes);
    }
  };
  receive(total / 10);
  const double begin = now_s();
  receive(total);
  const double rate = static_cast<double>(total) / (now_s() - begin) * 1e-9;
  ::close(fd), ::close(listener);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return rate;
}

int finish(const Rates& rates, const char* json) {
  rates.print();
  return json == nullptr || rates.write(json) ? 0 : 1;
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int first = what == "parse" ? 3 : 2;
  const int passes = argc > first ? std::atoi(argv[first]) : 5;
  const char* json = argc > first + 1 ? argv[first + 1] : nullptr;
  Rates rates;
  if (what == "parse" && argc > 2) {
    for (int i = 0; i <= passes; ++i) {
      const double rate = parse_file(argv[2]);
      if (i > 0) rates.add("parse, hand loop", "M rows/s", rate * 1e-6);
    }
    return finish(rates, json);
  }
  if (what == "copy") {
    for (int i = 0; i < passes; ++i) {
      rates.add("memcpy 2 MB", "GB/s", copy_rate(std::size_t{2} << 20, std::size_t{2} << 30));
      rates.add("memcpy 64 MB", "GB/s", copy_rate(std::size_t{64} << 20, std::size_t{2} << 30));
      rates.add("TCP 1 MB, one connection", "GB/s", tcp_rate(std::size_t{1} << 30));
    }
    return finish(rates, json);
  }
  fmt::print(stderr, "usage: floor_bench parse FILE [PASSES [JSON_FILE]] | copy [PASSES [JSON_FILE]]\n");
  return 2;
}
