#include "thalweg/node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "net/tcp/raw_peer_for_test.h"
#include "thalweg/drain.h"
#include "thalweg/job_status.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr TableId kNodeCounts{0};
constexpr std::uint32_t kNodeShards = 6, kNodeSteps = 12;
constexpr std::size_t kKeys = 60;

JobOptions node_options(Consistency mode = Consistency::sync()) {
  JobOptions options;
  options.tables.resize(1);
  options.tables[0].name = "counts";
  options.tables[0].ranges = 16;
  options.servers = 2;
  options.workers = 3;
  options.data_shards = kNodeShards;
  options.consistency = mode;
  options.timeout = 20s;
  return options;
}

Keys first_keys(std::size_t count) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), Key{0});
  return Keys::of(keys);
}

// Pushes what depends on the rows seen, so that an update too many or too few shows in every later row.
Task<Status> train_at_node(Store& store) {
  const Keys keys = first_keys(kKeys);
  while (store.step().index < kNodeSteps) {
    const Answer rows = co_await store.pull(kNodeCounts, keys);
    if (!rows.status.ok()) co_return rows.status;
    std::vector<float> grads(rows.rows.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
      grads[i] = std::sin(rows.rows[i] + static_cast<float>(i * (store.shard().value + 1)));
    }
    store.push(kNodeCounts, keys, Rows(std::move(grads))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  co_return ok_status();
}

Task<Status> add_ones(Store& store) {
  while (store.step().index < kNodeSteps) {
    store.push(kNodeCounts, first_keys(kKeys), Rows(std::vector<float>(kKeys, 1))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  co_return ok_status();
}

using Contents = std::map<Key, std::vector<float>>;

Contents node_contents(Job& job) {
  Contents out;
  const Status status = job.scan(
      kNodeCounts, [&](Key key, std::span<const float> row) { out[key].assign(row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// Lines for people, from any thread.
class Lines {
 public:
  std::function<void(const std::string&)> log() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      text_ += line + "\n";
    };
  }
  bool have(const std::string& words) const {
    const std::lock_guard lock(mutex_);
    return text_.find(words) != std::string::npos;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

NodeOptions at(const std::string& address) {
  NodeOptions node;
  node.scheduler = address;
  return node;
}

Job listening(JobOptions options, NodeOptions node = at("127.0.0.1:0")) {
  auto job = Job::listen(std::move(options), node);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job).value();
}

// Threads that stand for the processes of servers and workers: they share nothing but sockets.
class Nodes {
 public:
  ~Nodes() { join(); }
  void serve(const NodeOptions& node, const CustomRules& rules = {}) {
    start([node, rules] { return run_server(node, rules); });
  }
  void work(const NodeOptions& node, const Program& program) {
    start([node, program] { return run_worker(node, program); });
  }
  void all(const NodeOptions& node, const JobOptions& job, const Program& program) {
    for (std::uint32_t s = 0; s < job.servers; ++s) serve(node, job.rules);
    for (std::uint32_t w = 0; w < job.workers; ++w) work(node, program);
  }
  // How they ended, in the order in which they were started.
  const std::vector<Status>& join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return ends_;
  }

 private:
  void start(const std::function<Status()>& run) {
    const std::size_t place = threads_.size();
    {
      const std::lock_guard lock(mutex_);
      ends_.resize(place + 1);
    }
    threads_.emplace_back([this, run, place] {
      Status status = run();
      const std::lock_guard lock(mutex_);
      ends_[place] = std::move(status);
    });
  }
  std::mutex mutex_;
  std::vector<Status> ends_;
  std::vector<std::thread> threads_;
};

Contents by_nodes(const JobOptions& options, const Program& program) {
  Nodes nodes;
  Contents out;
  {
    Job job = listening(options);
    nodes.all(at(job.address()), options, program);
    const Status status = job.run();
    EXPECT_TRUE(status.ok()) << status.message();
    out = node_contents(job);
  }
  for (const Status& status : nodes.join()) EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

Contents in_process(const JobOptions& options, const Program& program) {
  auto job = Job::start(options);
  EXPECT_TRUE(job.ok()) << job.status().message();
  const Status status = job->run(program);
  EXPECT_TRUE(status.ok()) << status.message();
  return node_contents(*job);
}

TEST(Node, AJobOfNodesHasTheBitsOfOneInProcess) {
  JobOptions adagrad = node_options();
  adagrad.tables[0].rule.kind = RuleKind::kAdagrad;
  const Contents here = in_process(adagrad, train_at_node);
  EXPECT_EQ(here.size(), kKeys);
  EXPECT_EQ(by_nodes(adagrad, train_at_node), here);
  adagrad.combine = Combining::machine();
  EXPECT_EQ(by_nodes(adagrad, train_at_node), here);
}

TEST(Node, EveryPushCountsOnceInEveryMode) {
  for (const Consistency mode : {Consistency::sync(), Consistency::bounded(2), Consistency::async()}) {
    const Contents rows = by_nodes(node_options(mode), add_ones);
    EXPECT_EQ(rows.size(), kKeys);
    for (const auto& [key, row] : rows) EXPECT_EQ(row, std::vector<float>{kNodeShards * kNodeSteps}) << key;
  }
}

TEST(Node, RowsAreReadAfterTheWorkAndDuringIt) {
  const JobOptions wanted = node_options(Consistency::async());
  Nodes nodes;
  Job job = listening(wanted);
  nodes.all(at(job.address()), wanted, add_ones);
  EXPECT_TRUE(job.shard(ShardId{3}).read(kNodeCounts, first_keys(5)).ok());
  ASSERT_TRUE(job.run().ok());
  const auto rows = job.shard(ShardId{3}).read(kNodeCounts, first_keys(5));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ((*rows)[4], kNodeShards * kNodeSteps);
  BlockingStore store = job.shard(ShardId{0});
  for (const Status& status :
       {store.advance(), store.pull(kNodeCounts, first_keys(1)).status(), store.barrier({0, 0}),
        store.push(kNodeCounts, first_keys(1), Rows(std::vector<float>(1))), store.end_work()}) {
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("its workers'"), std::string::npos) << status.message();
  }
  EXPECT_EQ(job.clock(ShardId{0}), Step{});
  EXPECT_EQ(job.run().code(), Code::kUsage);               // Once.
  EXPECT_EQ(job.run(train_at_node).code(), Code::kUsage);  // The workers have it.
  for (int i = 0; i < 6000 && job.stats().rows != kKeys; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(job.stats().rows, kKeys);
}

class Doubled final : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 1; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    state[0] += 1;
    row[0] += 2 * grad[0] + state[0];
  }
};

JobOptions with_rule() {
  JobOptions out = node_options();
  out.tables[0].rule.kind = RuleKind::kCustom;
  out.tables[0].rule.custom = "doubled";
  out.rules["doubled"] = std::make_shared<Doubled>();
  return out;
}

TEST(Node, ServersApplyARuleOfTheApplication) {
  const Contents here = in_process(with_rule(), train_at_node);
  EXPECT_EQ(here.size(), kKeys);
  EXPECT_EQ(by_nodes(with_rule(), train_at_node), here);
}

// The product's own server has no rules.
TEST(Node, AServerWithoutTheRuleEndsTheJobNamingIt) {
  const JobOptions wanted = with_rule();
  Nodes nodes;
  {
    Job job = listening(wanted);
    nodes.serve(at(job.address()));
    nodes.serve(at(job.address()));
    for (std::uint32_t w = 0; w < wanted.workers; ++w) nodes.work(at(job.address()), train_at_node);
    const Status status = job.run();
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_EQ(status.message().find("server-"), 0u) << status.message();
    for (const char* words : {"'doubled'", "run_server()"}) {
      EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }
  }
  for (const Status& status : nodes.join()) EXPECT_EQ(status.code(), Code::kUsage) << status.message();
}

TEST(Node, AJobWhoseRuleNobodyKnowsDoesNotListen) {
  JobOptions unknown = with_rule();
  unknown.rules.clear();
  const Status status = Job::listen(unknown, at("127.0.0.1:0")).status();
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("'doubled'"), std::string::npos) << status.message();
}

TEST(Node, AFailingProgramEndsAllWithItsMessage) {
  const JobOptions wanted = node_options();
  Nodes nodes;
  {
    Job job = listening(wanted);
    nodes.all(at(job.address()), wanted, [](Store& store) -> Task<Status> {
      if (store.shard() == ShardId{4}) co_return Status(Code::kData, "row 17 is torn");
      co_return (co_await store.barrier({0, 0})).status;
    });
    const Status status = job.run();
    EXPECT_EQ(status.code(), Code::kData);
    EXPECT_NE(status.message().find(": row 17 is torn"), std::string::npos) << status.message();
    EXPECT_EQ(job.scan(kNodeCounts, [](Key, std::span<const float>) {}).code(), Code::kData);
  }
  for (const Status& status : nodes.join()) {
    EXPECT_NE(status.message().find("row 17 is torn"), std::string::npos) << status.message();
  }
}

TEST(Node, ADroppedJobEndsItsNodes) {
  const JobOptions wanted = node_options(Consistency::async());
  Nodes nodes;
  {
    Job job = listening(wanted);
    nodes.all(at(job.address()), wanted, [](Store& store) -> Task<Status> {
      for (;;) co_await store.yield();
    });
    EXPECT_TRUE(job.scan(kNodeCounts, [](Key, std::span<const float>) {}).ok());
  }
  for (const Status& status : nodes.join()) EXPECT_EQ(status.code(), Code::kAborted) << status.message();
}

TEST(Node, ClosingAsksProgramsElsewhereToEnd) {
  const JobOptions wanted = node_options(Consistency::async());
  Nodes nodes;
  Job job = listening(wanted);
  nodes.all(at(job.address()), wanted, [](Store& store) -> Task<Status> {
    while (!store.closing()) co_await store.yield();
    co_return ok_status();
  });
  std::thread closer([&] { job.close(); });
  const Status status = job.run();
  closer.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Node, ReportsReachTheApplicationOnceAndInOrder) {
  std::map<ShardId, std::string> seen;
  JobOptions wanted = node_options(Consistency::async());
  wanted.on_report = [&](ShardId shard, ReportId, std::string_view text) { seen[shard] += text; };
  by_nodes(wanted, [](Store& store) -> Task<Status> {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Answer told = co_await store.report({0, i}, std::to_string(i));
      if (!told.status.ok()) co_return told.status;
    }
    co_return ok_status();
  });
  EXPECT_EQ(seen.size(), kNodeShards);
  for (const auto& [shard, text] : seen) EXPECT_EQ(text, "012") << shard.value;
}

TEST(Node, NamesThoseWhoDoNotJoin) {
  Lines lines;
  NodeOptions impatient = at("127.0.0.1:0");
  impatient.patience = 1s;
  impatient.log = lines.log();
  Nodes nodes;
  {
    Job job = listening(node_options(), impatient);
    EXPECT_TRUE(lines.have(job.address() + "; waiting for server-0, server-1, worker-0, worker-1, worker-2"));
    nodes.serve(at(job.address()));
    const Status status = job.run();
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_NE(status.message().find("worker-0, worker-1, worker-2 did not join"), std::string::npos)
        << status.message();
    EXPECT_EQ(job.shard(ShardId{0}).read(kNodeCounts, first_keys(1)).status(), status);
    EXPECT_EQ(job.clock(ShardId{0}), Step{});
  }
  EXPECT_EQ(nodes.join()[0].code(), Code::kTimeout) << nodes.join()[0].message();
}

TEST(Node, SaysWhoComesWhileTheJobRuns) {
  Lines lines;
  NodeOptions node = at("127.0.0.1:0");
  node.log = lines.log();
  const JobOptions wanted = node_options(Consistency::async());
  Nodes nodes;
  Job job = listening(wanted, node);
  const auto forever = [](Store& store) -> Task<Status> {
    Status status;
    while (status.ok()) status = (co_await store.yield()).status;
    co_return status;
  };
  nodes.all(at(job.address()), wanted, forever);
  ASSERT_TRUE(job.shard(ShardId{0}).read(kNodeCounts, first_keys(1)).ok());  // It runs.
  nodes.work(at(job.address()), forever);
  const std::string words = "joined; it has 1 data shard of worker-0";
  for (int i = 0; i < 1000 && !lines.have(words); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(lines.have(words));
}

TEST(Node, JoiningNobodyNamesTheAddress) {
  NodeOptions nobody = at(listening(node_options()).address());  // It listens no more.
  nobody.patience = 1s;
  for (const Status& status : {run_server(nobody), run_worker(nobody, train_at_node)}) {
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_NE(status.message().find(nobody.scheduler), std::string::npos) << status.message();
    EXPECT_TRUE(status.message().ends_with(": Connection refused")) << status.message();
  }
}

TEST(Node, WhoeverAsksGivesUpSoonerWhereNobodyTakesItsCalls) {
  NodeOptions asks = at(listening(node_options()).address());  // It listens no more.
  asks.patience = 60s;
  asks.unmet_patience = 300ms;
  for (const Status& status : {job_status(asks).status(), drain_server(asks, 0).status()}) {
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_NE(status.message().find(" in 0.3 s: "), std::string::npos) << status.message();
  }
  const auto silent = RawPeer::listening();
  asks = at(fmt::format("127.0.0.1:{}", silent.second));
  asks.patience = 900ms;
  asks.unmet_patience = 300ms;
  const Status unanswered = job_status(asks).status();
  EXPECT_NE(unanswered.message().find(" in 0.3 s"), std::string::npos) << unanswered.message();
}

TEST(Node, ASecondSchedulerOnAPortIsRefused) {
  Job first = listening(node_options());
  const Status status = Job::listen(node_options(), at(first.address())).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("is in use by"), std::string::npos) << status.message();
}

TEST(Node, AServerThatComesLateGetsItsPartAndAllRowsStay) {
  Lines lines;
  NodeOptions node = at("127.0.0.1:0");
  node.log = lines.log();
  JobOptions wanted = node_options();
  wanted.servers = 1;
  Nodes nodes;
  {
    Job job = listening(wanted, node);
    nodes.all(at(job.address()), wanted, train_at_node);
    ASSERT_TRUE(job.run().ok());
    const Contents before = node_contents(job);
    EXPECT_EQ(before.size(), kKeys);
    nodes.serve(at(job.address()));
    const std::string words = "server-1 takes part; it has 8 key ranges, after ";
    for (int i = 0; i < 1000 && !lines.have(words); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(lines.have(words));
    EXPECT_EQ(node_contents(job), before);
  }
  for (const Status& status : nodes.join()) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Node, NamesTheOptionThatIsWrong) {
  const auto refused = [](void (*change)(NodeOptions&), Code code, const std::string& words) {
    NodeOptions node = at("127.0.0.1:0");
    node.patience = 200ms;
    change(node);
    for (const Status& status :
         {Job::listen(node_options(), node).status(), run_server(node), run_worker(node, train_at_node)}) {
      EXPECT_EQ(status.code(), code) << status.message();
      EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }
  };
  refused([](NodeOptions& o) { o.patience = 0s; }, Code::kUsage, "patience");
  refused([](NodeOptions& o) { o.patience = std::chrono::nanoseconds::max(); }, Code::kUsage, "patience");
  refused([](NodeOptions& o) { o.grace = 0s; }, Code::kUsage, "grace");
  refused([](NodeOptions& o) { o.grace = 2h; }, Code::kUsage, "grace");
  refused([](NodeOptions& o) { o.name.assign(1000, 'x'); }, Code::kUsage, "name");
  refused([](NodeOptions& o) { o.scheduler = "nonsense"; }, Code::kUsage, "nonsense");
  refused([](NodeOptions& o) { o.scheduler = o.listen = "0.0.0.0:0"; }, Code::kUsage, "insecure");

  EXPECT_EQ(run_worker(at("127.0.0.1:1"), nullptr).code(), Code::kUsage);
  auto job = Job::start(node_options());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->run().code(), Code::kUsage);
  EXPECT_EQ(job->address(), "");
  JobOptions wrong = node_options();
  wrong.data_shards = 0;
  EXPECT_EQ(Job::listen(wrong, at("127.0.0.1:0")).status().code(), Code::kUsage);
}

TEST(Node, AnOpenPortIsAnnounced) {
  Lines lines;
  NodeOptions open = at("0.0.0.0:0");
  open.insecure_no_auth = true;
  open.log = lines.log();
  listening(node_options(), open);
  EXPECT_TRUE(lines.have("can read and change the model"));
}

}  // namespace
}  // namespace thalweg
