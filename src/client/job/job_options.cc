#include "client/job/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "client/job/custom_rules.h"
#include "staleness/step_policy.h"
#include "table/validate.h"

namespace thalweg {
namespace {

Status check_number(const char* name, std::uint64_t value, std::uint64_t max) {
  if (value >= 1 && value <= max) return ok_status();
  return {Code::kUsage, fmt::format("JobOptions::{} is {}, expected 1 to {}", name, value, max)};
}

}  // namespace

Status check(const JobOptions& options) {
  const Status numbers[] = {
      check_number("servers", options.servers, limits::kNodesMax / 8),
      check_number("replicas", std::max(options.replicas, 1u),
                   std::min(options.servers, limits::kReplicasMax)),
      check_number("workers", options.workers, limits::kNodesMax / 8),
      check_number("data_shards", options.data_shards, limits::kShardsMax),
      check_number("threads", std::max<std::size_t>(options.threads, 1), limits::kThreadsMax),
      check_number("tables.size()", options.tables.size(), limits::kTablesMax)};
  for (const Status& status : numbers) {
    if (!status.ok()) return status;
  }
  if (options.consistency.kind > Consistency::Kind::kMaxWait ||
      options.combine.kind > Combining::Kind::kTreeBothWays) {
    return {Code::kUsage,
            fmt::format("JobOptions::consistency is of kind {} and combine of kind {}, expected "
                        "enumerators",
                        static_cast<unsigned>(options.consistency.kind),
                        static_cast<unsigned>(options.combine.kind))};
  }
  const bool combines = step_policy(options.consistency)->combines();
  const bool tree = options.combine.is_tree();
  const bool both_ways = options.combine.kind == Combining::Kind::kTreeBothWays;
  if (options.combine.kind != Combining::Kind::kNone && !combines) {
    return {Code::kUsage, "JobOptions::combine is for sync mode and softsync"};
  }
  if (both_ways && options.consistency.kind != Consistency::Kind::kFreeSoftsync) {
    return {Code::kUsage, "JobOptions::combine is a tree both ways, which is for free_softsync alone"};
  }
  if (tree != (options.combine.arity > 0)) {
    return {Code::kUsage, fmt::format("JobOptions::combine has arity {}, expected {}", options.combine.arity,
                                      tree ? "at least 1" : "0 unless it is a tree")};
  }
  if (options.replicas > 1 && !keeps_copies(options.consistency)) {
    return {Code::kUsage, "JobOptions::replicas is for sync, bounded and async mode"};
  }
  if (options.timeout <= Duration{0} || options.timeout > limits::kTimeoutMax) {
    return {Code::kUsage, fmt::format("JobOptions::timeout is {} ns, expected more than 0 and at most {} h",
                                      options.timeout.count(), limits::kTimeoutMax / std::chrono::hours(1))};
  }
  if (options.silence != Duration{0} &&
      (options.silence < limits::kSilenceMin || options.silence > options.timeout)) {
    return {Code::kUsage,
            fmt::format(
                "JobOptions::silence is {} ns, expected 0, or {} ms at least and at most the timeout, {} ns",
                options.silence.count(), limits::kSilenceMin / std::chrono::milliseconds(1),
                options.timeout.count())};
  }
  std::set<std::string> names;
  for (const TableSpec& table : options.tables) {
    if (table.name.empty() || table.name.size() > limits::kNameBytesMax) {
      return {Code::kUsage, fmt::format("a table's name of {} bytes, expected 1 to {}", table.name.size(),
                                        limits::kNameBytesMax)};
    }
    if (!names.insert(table.name).second) {
      return {Code::kUsage, fmt::format("table '{}' is given twice", table.name)};
    }
    const auto custom = find_rule(options.rules, table.rule.custom);
    if (Status status = check_spec(table, {0, table.ranges}, custom.get()); !status.ok()) return status;
  }
  return ok_status();
}

SchedulerOptions scheduler_options(const JobOptions& job) {
  SchedulerOptions out;
  out.servers = job.servers;
  out.replicas = std::max(job.replicas, 1u);
  out.workers = job.workers;
  out.shards = job.data_shards;
  out.consistency = job.consistency;
  out.combine = job.combine;
  out.tables = job.tables;
  out.timeout = job.timeout;
  out.suspect_after = job.silence > Duration{0} ? Duration(job.silence)
                                                : std::min<Duration>(out.suspect_after, job.timeout / 2);
  out.on_report = job.on_report;
  return out;
}

std::uint32_t replicas_of_processes(std::uint32_t wanted, std::uint32_t servers, Consistency consistency) {
  if (wanted != 0) return wanted;
  return servers >= 2 && keeps_copies(consistency) ? 2 : 1;
}

}  // namespace thalweg
