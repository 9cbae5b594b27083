#include "client/job/question.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "client/job/node_options.h"
#include "net/real_clock.h"
#include "net/tcp/tcp.h"

namespace thalweg {

Status ask_scheduler(const NodeOptions& options, Node& asker) {
  if (Status status = check(options); !status.ok()) return status;
  const auto secret = job_secret(options, false);
  if (!secret) return secret.status();
  const RealClock clock;
  std::string complaint;
  TcpOptions tcp;
  tcp.spin = Duration{};
  tcp.secret = *secret;
  tcp.insecure_no_auth = options.insecure_no_auth;
  tcp.log = [&complaint](const std::string& line) { complaint = line; };
  Tcp driver(clock, std::move(tcp));
  if (Status status = driver.introduce(kScheduler, options.scheduler); !status.ok()) return status;
  driver.add(worker_node(temporary_index()), asker);
  driver.run_until([&] { return asker.finished(); }, driver.now() + options.patience);
  if (asker.finished()) return ok_status();
  const double waited_s = std::chrono::duration<double>(options.patience).count();
  return {Code::kTimeout, fmt::format("no answer from a scheduler at {} in {:.1f} s{}{}", options.scheduler,
                                      waited_s, complaint.empty() ? "" : ": ", complaint)};
}

Status unreadable_answer() { return {Code::kIo, "the scheduler's answer cannot be read"}; }

}  // namespace thalweg
