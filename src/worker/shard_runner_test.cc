#include "worker/shard_runner.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

constexpr ShardId kShard{0};

Task<Answer> wait_for(Pending request, int& went_on) {
  Answer answer = co_await request;
  ++went_on;
  co_return answer;
}

// Two parts wait; where the first has failed the program ends, and the second with it.
Task<Status> end_with_first(ShardStore& store, int& went_on) {
  Task<Answer> first = wait_for(store.report({0, 1}, "first"), went_on);
  Task<Answer> second = wait_for(store.report({0, 2}, "second"), went_on);
  second.handle().resume();
  co_return (co_await first).status;
}

void compute_all(ShardRunner& runner) {
  for (runner.choose(); runner.computing(); runner.choose()) {
    runner.take_work()->compute();
    (void)runner.computed();
  }
}

TEST(ShardRunner, APartThatIsGoneIsNotResumed) {
  const WorkerTurn turn{};
  int went_on = 0;
  ShardRunner runner(turn,
                     [&](ShardStore& store, const wire::Map&) { return end_with_first(store, went_on); });
  wire::Map map;
  map.epoch = 1;
  runner.take_map(map);
  runner.add(kShard, 0);
  runner.start(kShard, {});
  compute_all(runner);
  ASSERT_EQ(went_on, 0);
  const std::vector<StoreCall> calls = runner.store(kShard)->take_calls();
  ASSERT_EQ(calls.size(), 2u);
  runner.tell(kShard, [&](ShardStore& store) {
    for (const StoreCall& call : calls) store.answer(*call.completion, {{Code::kIo, "full"}, {}, {}});
  });
  compute_all(runner);
  EXPECT_EQ(went_on, 1);
  const std::vector<Status> ended = runner.take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code(), Code::kIo);
}

}  // namespace
}  // namespace thalweg
