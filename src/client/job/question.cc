#include "client/job/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/job/node_options.h"
#include "net/real_clock.h"
#include "net/socket/address.h"
#include "net/tcp/tcp.h"

namespace thalweg {
namespace {

// Of several schedulers each, in turn, at most.
constexpr Duration kAskedFor = std::chrono::milliseconds(500);
// Whoever waits for longer is told what for.
constexpr Duration kQuietFor = std::chrono::seconds(2);

}  // namespace

Status ask_scheduler(const NodeOptions& options, Node& asker) {
  NodeOptions checked = options;
  checked.log = nullptr;  // Who only asks gives nothing away.
  if (Status status = check(checked); !status.ok()) return status;
  const auto secret = job_secret(options, false);
  if (!secret) return secret.status();
  const RealClock clock;
  TcpEvent last;
  TcpOptions tcp;
  tcp.spin = Duration{};
  tcp.secret = *secret;
  tcp.insecure_no_auth = options.insecure_no_auth;
  tcp.tell = [&last](const TcpEvent& event) { last = event; };
  Tcp driver(clock, std::move(tcp));
  const std::vector<std::string> schedulers = addresses_in(options.scheduler);
  driver.add(worker_node(temporary_index()), asker);
  const Instant begin = driver.now();
  const Duration unmet = std::min(options.patience, options.unmet_patience.value_or(options.patience));
  const auto patience = [&] { return driver.stats().calls_taken > 0 ? options.patience : unmet; };
  Instant tell_at = options.log ? driver.now() + kQuietFor : kNever;
  const Duration each = schedulers.size() == 1
                            ? options.patience
                            : std::min(kAskedFor, options.patience / static_cast<int>(schedulers.size()));
  // One of them leads; the others do not listen, or answer nothing.
  for (std::size_t turn = 0; !asker.finished() && driver.now() < begin + patience(); ++turn) {
    const std::string& address = schedulers[turn % schedulers.size()];
    if (Status status = driver.introduce(kScheduler, address); !status.ok()) return status;
    const Instant next = std::min(begin + patience(), driver.now() + each);
    driver.run_until([&] { return asker.finished(); }, std::min(next, tell_at));
    if (driver.now() >= tell_at) {
      tell_at = kNever;
      if (!asker.finished() && !to_text(last).empty()) options.log(log_line(last));
      driver.run_until([&] { return asker.finished(); }, next);
    }
  }
  if (asker.finished()) return ok_status();
  checked.patience = patience();
  return no_answer("a scheduler", checked, to_text(last));
}

Status no_answer(std::string_view whom, const NodeOptions& options, const std::string& complaint) {
  const double waited_s = std::chrono::duration<double>(options.patience).count();
  return {Code::kTimeout, fmt::format("no answer from {} at {} in {:.1f} s{}{}", whom, options.scheduler,
                                      waited_s, complaint.empty() ? "" : ": ", complaint)};
}

Status unreadable_answer() { return {Code::kIo, "the scheduler's answer cannot be read"}; }

}  // namespace thalweg
