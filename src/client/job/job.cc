#include "thalweg/job.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/mix.h"
#include "client/birth.h"
#include "client/job/blocking_calls.h"
#include "client/job/custom_rules.h"
#include "client/job/job_options.h"
#include "client/job/local_cluster.h"
#include "client/job/node_options.h"
#include "client/job/remote_cluster.h"
#include "client/job/shard_program.h"

namespace thalweg {
namespace {

constexpr Duration kEndPatience = std::chrono::seconds(5);
constexpr const char* kShardsElsewhere =
    "this job's data shards are its workers'; here scan() and BlockingStore::read() look at rows";

}  // namespace

class Job::Impl {
 public:
  explicit Impl(JobOptions options) : options_(std::move(options)) {}
  ~Impl() {
    if (cluster_ == nullptr) return;
    if (birth_.elsewhere()) {
      static_cast<void>(cluster_.release());
      return;
    }
    cluster_->stop(ended_well_ ? ok_status() : Status(Code::kAborted, "the job was dropped"));
    cluster_->wait(kEndPatience);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start() {
    LocalClusterOptions local;
    local.job = job_for_scheduler();
    local.threads = options_.threads;
    local.custom_rule = [this](const std::string& name) { return find_rule(options_.rules, name); };
    cluster_ = std::make_unique<LocalCluster>(std::move(local));
    calls_.emplace(*cluster_, options_.data_shards, options_.interrupted, nullptr);
    return cluster_->wait_started();
  }

  Status listen(const NodeOptions& node) {
    RemoteClusterOptions remote;
    remote.job = job_for_scheduler();
    remote.job.on_event = node.log;
    remote.listen = node.scheduler;
    const auto secret = job_secret(node, true);
    if (!secret) return secret.status();
    remote.secret = *secret;
    remote.insecure_no_auth = node.insecure_no_auth;
    remote.patience = node.patience;
    remote.grace = node.grace;
    remote.log = node.log;
    auto cluster = RemoteCluster::start(std::move(remote));
    if (!cluster) return cluster.status();
    address_ = (*cluster)->address();
    cluster_ = std::move(cluster).value();
    calls_.emplace(*cluster_, options_.data_shards, options_.interrupted, kShardsElsewhere);
    if (node.log) {
      node.log(fmt::format("scheduler listens on {}; waiting for {}", address_, cluster_->missing()));
    }
    return ok_status();
  }

  JobCluster& cluster() { return *cluster_; }
  BlockingStore::Calls& calls() { return *calls_; }
  const JobOptions& options() const { return options_; }
  const std::string& address() const { return address_; }

  Status run(const Program& program) {
    const bool here = cluster_->has_shards();
    if (here != static_cast<bool>(program)) {
      return {Code::kUsage, here ? "run() without a program is for a job that listens"
                                 : "the workers of a job that listens bring its program; call run() alone"};
    }
    if (birth_.elsewhere()) return made_elsewhere("job");
    if (ran_.exchange(true)) return {Code::kUsage, "a job runs programs once"};
    if (Status status = cluster_->wait_started(); !status.ok()) return status;
    if (here) begin(program);
    ended_well_ = cluster_->wait_until([&] { return ended_.size() == options_.data_shards; });
    if (here) calls_->refuse(nullptr);
    if (ended_well_) return ok_status();
    cluster_->wait_programs_gone();
    const Status status = cluster_->status();
    return status.ok() ? Status(Code::kAborted, "the job ended before its programs") : status;
  }

 private:
  void begin(const Program& program) {
    calls_->refuse("programs run on this job's shards");
    for (std::uint32_t s = 0; s < options_.data_shards; ++s) {
      const ShardId shard{s};
      cluster_->turn(shard, [&](Worker& worker, ShardStore&) { worker.run(shard, shard_program(program)); });
    }
  }

  SchedulerOptions job_for_scheduler() {
    SchedulerOptions job = scheduler_options(options_);
    job.on_program_end = [this](ShardId shard) { ended_.insert(shard); };
    return job;
  }

  const Birth birth_;
  const JobOptions options_;
  std::string address_;
  std::set<ShardId> ended_;  // Shards whose program returned OK; used in turns of the scheduler only.
  std::atomic<bool> ended_well_{false};
  std::atomic<bool> ran_{false};
  std::unique_ptr<JobCluster> cluster_;
  std::optional<BlockingStore::Calls> calls_;
};

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::Job(Job&& other) noexcept = default;
Job& Job::operator=(Job&& other) noexcept = default;
Job::~Job() = default;

Result<Job> Job::start(JobOptions options) {
  if (Status status = check(options); !status.ok()) return status;
  Job job(std::make_unique<Impl>(std::move(options)));
  if (Status status = job.impl_->start(); !status.ok()) return status;
  return job;
}

Result<Job> Job::listen(JobOptions options, const NodeOptions& node) {
  if (Status status = check(options); !status.ok()) return status;
  if (Status status = check(node); !status.ok()) return status;
  options.replicas = replicas_of_processes(options.replicas, options.servers, options.consistency);
  Job job(std::make_unique<Impl>(std::move(options)));
  if (Status status = job.impl_->listen(node); !status.ok()) return status;
  return job;
}

Status Job::run(Program program) { return impl_->run(program); }

const std::string& Job::address() const { return impl_->address(); }

BlockingStore Job::shard(ShardId shard) {
  THALWEG_CHECK(shard.value < impl_->options().data_shards, "the job has fewer data shards");
  return BlockingStore(impl_->calls(), shard);
}

Step Job::clock(ShardId shard) const { return impl_->calls().clock(shard); }

Status Job::scan(TableId table, const std::function<void(Key, std::span<const float>)>& row) {
  const auto& tables = impl_->options().tables;
  if (table.value >= tables.size()) {
    return {Code::kUsage, fmt::format("no table {}; the job has {}", table.value, tables.size())};
  }
  const TableSpec& spec = tables[table.value];
  for (std::uint16_t range = 0; range < spec.ranges; ++range) {
    Answer answer = impl_->calls().scan(table, RangeId{range});
    if (!answer.status.ok()) return answer.status;
    if (answer.keys.empty()) continue;
    const std::size_t width = answer.rows.size() / answer.keys.size();
    for (std::size_t i = 0; i < answer.keys.size(); ++i) {
      const Key key = spec.kind == TableSpec::Kind::kDense ? answer.keys[i] : unplace(answer.keys[i]);
      row(key, answer.rows.span().subspan(i * width, spec.dim));
    }
  }
  return ok_status();
}

JobStats Job::stats() const {
  const Counters counters = impl_->cluster().view().counters;
  return {counters[CounterId::kRows], counters[CounterId::kTableBytes],
          static_cast<std::uint32_t>(counters[CounterId::kStalenessMax])};
}

void Job::close() { impl_->cluster().close(); }

}  // namespace thalweg
