#include "thalweg/group_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/completion.h"
#include "base/hash/hash.h"
#include "client/collective/group_turn.h"
#include "client/collective/sparse_all_reduce.h"
#include "client/group/group_call.h"
#include "client/replica/replica_algorithm.h"
#include "wire/messages.h"

namespace thalweg {
namespace {

using Wish = RankProgress::Wish;

Pending completed(Answer answer) { return Completion::ended(std::move(answer)); }
Pending completed(Status status) { return completed(Answer{std::move(status), {}, {}}); }

// What a rank says of its push to one table: dense: first row and rows; sparse: 0 and keys.
struct PushSize {
  std::uint64_t first = 0;
  std::uint64_t rows = 0;
  bool operator==(const PushSize&) const = default;
};
constexpr std::size_t kPushWords = 2;

}  // namespace

class GroupStore::Impl {
 public:
  struct Shared {
    std::span<float> sums;  // Dense: of the group's memory, for pushes that are added up; made when needed.
    StepPush push;          // This rank's.
  };

  Impl(Group& its_group, GroupStoreOptions its_options, Replica its_replica)
      : group(its_group),
        options(std::move(its_options)),
        replica(std::move(its_replica)),
        tables(replica.tables()) {}
  ~Impl() {
    for (const Shared& table : tables) group.free(table.sums.data());
  }

  Status check(TableId table, const Keys& keys) const;
  const StepPush& push_of(TableId table) const { return tables[table.value].push; }
  Status check_push(TableId table, const Keys& keys, const Rows& grads) const;
  // Takes part in the group's turns until this rank's wish is fulfilled.
  Status wish(Wish what, BarrierId barrier = {});
  void forget_pushes();
  bool has_pushed() const;
  // The first failure is what later requests repeat.
  const Status& stopped() const { return failure.ok() ? refusals.forgotten() : failure; }
  Status fail(Status status) {
    if (failure.ok() && !status.ok()) failure = status;
    return status;
  }

  Group& group;
  GroupStoreOptions options;
  Replica replica;
  std::vector<Shared> tables;
  SparseRows sparse_sum;  // Kept for its memory.
  Step step;
  Step seen;  // All pushes of earlier steps have been applied.
  Status failure;
  Refusals refusals;
  bool parted = false;  // The ranks take turns no more.

 private:
  Status take_turn(const RankProgress& mine, GroupTurn& turn);
  Status apply(std::span<const std::uint64_t> said, Step lowest);
  Status apply_to(TableId table, std::span<const PushSize> sizes, bool mine);
  Status add_up(TableId table, PushSize size, bool mine);
  Status add_up_sparse(TableId table, bool mine);
  Status gather(TableId table, std::span<const PushSize> sizes, bool mine);
  PushSize size_of(TableId table) const;
  std::size_t words() const { return RankProgress::kWords + kPushWords * tables.size(); }
};

Status GroupStore::Impl::check(TableId table, const Keys& keys) const {
  return failure.ok() ? replica.check(table, keys) : failure;
}

Status GroupStore::Impl::check_push(TableId table, const Keys& keys, const Rows& grads) const {
  if (step == kEndOfWork) return {Code::kUsage, "this rank has ended its work"};
  if (push_of(table).pushed) {
    return {Code::kUsage, fmt::format("second push to {} in step {}.{}; call advance() between them",
                                      replica.spec(table).name, step.epoch, step.index)};
  }
  return replica.check_push(table, keys, grads.span());
}

PushSize GroupStore::Impl::size_of(TableId table) const {
  const StepPush& push = push_of(table);
  if (!push.pushed || push.keys.size() == 0) return {};
  return {replica.is_dense(table) ? (*push.keys.values())[0] : 0, push.keys.size()};
}

Status GroupStore::Impl::wish(Wish what, BarrierId barrier) {
  if (!failure.ok() && what != Wish::kFailed) return failure;
  for (GroupTurn turn; !turn.done;) {
    if (Status status = take_turn({what, step, barrier}, turn); !status.ok()) {
      parted = true;
      return fail(std::move(status));
    }
  }
  return ok_status();
}

Status GroupStore::Impl::take_turn(const RankProgress& mine, GroupTurn& turn) {
  std::vector<std::uint64_t> words_mine(words()), said(words() * group.size());
  mine.write(words_mine.data());
  for (std::uint16_t t = 0; t < tables.size(); ++t) {
    const PushSize size = size_of(TableId{t});
    words_mine[RankProgress::kWords + kPushWords * t] = size.first;
    words_mine[RankProgress::kWords + kPushWords * t + 1] = size.rows;
  }
  if (Status status = group.all_gather<std::uint64_t>(words_mine, said); !status.ok()) return status;
  std::vector<RankProgress> stands;
  for (std::uint32_t r = 0; r < group.size(); ++r) stands.push_back(RankProgress::read(&said[r * words()]));
  turn = decide_turn(stands, group.rank());
  if (!turn.status.ok()) return turn.status;
  if (turn.applies) {
    if (Status status = apply(said, turn.lowest); !status.ok()) return status;
  }
  seen = turn.lowest_after;
  return ok_status();
}

Status GroupStore::Impl::apply(std::span<const std::uint64_t> said, Step lowest) {
  const bool mine = step == lowest;
  std::vector<PushSize> sizes(group.size());
  for (std::uint16_t t = 0; t < tables.size(); ++t) {
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      const std::uint64_t* const words_of = &said[r * words()];
      const bool takes_part = RankProgress::read(words_of).step == lowest;
      const std::uint64_t* const push = words_of + RankProgress::kWords + kPushWords * t;
      sizes[r] = takes_part ? PushSize{push[0], push[1]} : PushSize{};
    }
    if (Status status = apply_to(TableId{t}, sizes, mine); !status.ok()) return status;
  }
  return ok_status();
}

Status GroupStore::Impl::apply_to(TableId table, std::span<const PushSize> sizes, bool mine) {
  const auto pushed = [](PushSize size) { return size.rows > 0; };
  const auto first = std::find_if(sizes.begin(), sizes.end(), pushed);
  if (first == sizes.end()) return ok_status();
  if (!replica.is_dense(table)) return add_up_sparse(table, mine);
  const bool alike =
      std::all_of(sizes.begin(), sizes.end(), [&](PushSize size) { return !pushed(size) || size == *first; });
  const bool sums = replica.spec(table).rule.kind != RuleKind::kAssign && !options.in_rank_order;
  return sums && alike ? add_up(table, *first, mine) : gather(table, sizes, mine);
}

Status GroupStore::Impl::add_up(TableId table, PushSize size, bool mine) {
  const TableSpec& spec = replica.spec(table);
  Shared& shared = tables[table.value];
  if (shared.sums.empty()) {
    auto sums = group.allocate<float>(spec.rows * spec.dim);
    if (!sums) return sums.status();
    shared.sums = *sums;
  }
  const std::span<float> sums = shared.sums.first(size.rows * spec.dim);
  const StepPush& push = shared.push;
  if (mine && push.pushed && push.keys.size() > 0) {
    std::copy(push.grads.span().begin(), push.grads.span().end(), sums.begin());
  } else {
    std::fill(sums.begin(), sums.end(), 0.0f);
  }
  if (Status status = group.all_reduce<float>(sums, Reduction::kSum, options.route); !status.ok())
    return status;
  const Keys rows = Keys::block(size.first, size.rows);
  if (Status status = replica.check_push(table, rows, sums); !status.ok())
    return status;  // They may overflow.
  replica.apply(table, rows, sums);
  return ok_status();
}

// By the tree over ranks that servers use for data shards.
Status GroupStore::Impl::add_up_sparse(TableId table, bool mine) {
  const StepPush& push = push_of(table);
  SparseCall call;
  if (mine && push.pushed && push.keys.size() > 0) {
    call.keys = *push.keys.values();
    call.rows = push.grads.span();
  }
  call.dim = replica.spec(table).dim;
  call.last_wins = replica.spec(table).rule.kind == RuleKind::kAssign;
  call.options.bytes_max = SparseOptions::kUnlimited;
  call.out = &sparse_sum;
  if (Status status = all_reduce_sparse(group, call); !status.ok()) return status;
  const Contribution sum{sparse_sum.keys, sparse_sum.rows, 0};
  replica.apply(table, {&sum, 1});
  return ok_status();
}

Status GroupStore::Impl::gather(TableId table, std::span<const PushSize> sizes, bool mine) {
  const std::size_t dim = replica.spec(table).dim;
  std::vector<std::size_t> floats_of;
  std::size_t floats_all = 0;
  for (const PushSize size : sizes) floats_all += floats_of.emplace_back(size.rows * dim);
  std::vector<float> grads(floats_all);
  std::span<const float> own_grads;
  const StepPush& push = push_of(table);
  if (mine && push.pushed && push.keys.size() > 0) own_grads = push.grads.span();
  if (Status status = group.all_gather<float>(own_grads, grads, floats_of); !status.ok()) return status;
  std::vector<Contribution> parts;
  std::size_t at = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    const Contribution part{std::span(&sizes[r].first, 1), std::span(grads).subspan(at, floats_of[r]),
                            static_cast<std::uint32_t>(r)};
    if (sizes[r].rows > 0) parts.push_back(part);
    at += floats_of[r];
  }
  replica.apply(table, parts);
  return ok_status();
}

void GroupStore::Impl::forget_pushes() {
  for (Shared& table : tables) table.push = {};
}

bool GroupStore::Impl::has_pushed() const {
  return std::any_of(tables.begin(), tables.end(), [](const Shared& table) { return table.push.pushed; });
}

GroupStore::GroupStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupStore::~GroupStore() = default;

namespace {

// OK where all ranks have the same tables; `own`: whether this rank can have its own.
Status agree_on_tables(Group& group, const std::vector<TableSpec>& tables, const Status& own) {
  wire::Map map;
  map.tables = tables;
  const auto bytes = wire::encode(map);
  const std::uint64_t mine[] = {own.ok() ? 1U : 0U, hash64(bytes.span().data(), bytes.span().size())};
  std::vector<std::uint64_t> said(std::size(mine) * group.size());
  const Status told = group.all_gather<std::uint64_t>(mine, said);
  if (!own.ok()) return own;
  if (!told.ok()) return told;
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (said[2 * rank] == 0) return {Code::kAborted, fmt::format("rank {} cannot have its tables", rank)};
    if (said[2 * rank + 1] == said[1]) continue;
    return {Code::kUsage,
            fmt::format("rank {} has other tables than rank 0; expected the same, with the same "
                        "rules and initial values, at all ranks",
                        rank)};
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<GroupStore>> GroupStore::create(Group& group, GroupStoreOptions options) {
  if (Status status = check_all_contribute("GroupStoreOptions::route", options.route); !status.ok())
    return status;
  auto replica = Replica::make(options.tables, options.rules, false);
  Status agreed = agree_on_tables(group, options.tables, replica.status());
  if (!agreed.ok()) return agreed;
  return std::unique_ptr<GroupStore>(
      new GroupStore(std::make_unique<Impl>(group, std::move(options), std::move(replica).value())));
}

Status GroupStore::run(const Program& program) {
  Task<Status> task = program(*this);
  task.handle().resume();
  Status status =
      task.done() ? task.take() : Status(Code::kUsage, "the program waits for something that is no request");
  if (status.ok()) return end_work().take().status;
  if (!impl_->parted) (void)impl_->wish(Wish::kFailed);
  return impl_->fail(std::move(status));
}

ShardId GroupStore::shard() const { return ShardId{impl_->group.rank()}; }
Step GroupStore::step() const { return impl_->step; }

Pending GroupStore::push(TableId table, Keys keys, Rows grads) {
  if (Status status = impl_->check(table, keys); !status.ok())
    return impl_->refusals.refuse(std::move(status));
  if (Status status = impl_->check_push(table, keys, grads); !status.ok()) {
    // Another one is as when a server refuses it.
    return status.code() == Code::kUsage ? impl_->refusals.refuse(std::move(status))
                                         : completed(impl_->fail(std::move(status)));
  }
  impl_->tables[table.value].push = {true, std::move(keys), std::move(grads)};
  return completed(ok_status());
}

Pending GroupStore::pull(TableId table, Keys keys) {
  if (Status status = impl_->check(table, keys); !status.ok()) return completed(std::move(status));
  if (impl_->push_of(table).pushed) {
    return completed(
        {Code::kUsage, fmt::format("pull from {} after the push of step {}.{}; pull first, or call "
                                   "advance() between them",
                                   impl_->replica.spec(table).name, impl_->step.epoch, impl_->step.index)});
  }
  if (impl_->seen < impl_->step) {
    if (Status status = impl_->wish(Wish::kSee); !status.ok()) return completed(std::move(status));
  }
  return completed(Answer{ok_status(), impl_->replica.read(table, keys), {}});
}

Pending GroupStore::read(TableId table, Keys keys) {
  if (Status status = impl_->check(table, keys); !status.ok()) return completed(std::move(status));
  return completed(Answer{ok_status(), impl_->replica.read(table, keys), {}});
}

Pending GroupStore::advance() {
  if (const Status& why = impl_->stopped(); !why.ok()) return completed(why);
  if (impl_->step == kEndOfWork) return completed({Code::kUsage, "this rank has ended its work"});
  Status status = impl_->wish(Wish::kAdvance);
  impl_->forget_pushes();
  impl_->step = impl_->step.next();
  return completed(std::move(status));
}

Pending GroupStore::end_epoch() {
  if (const Status& why = impl_->stopped(); !why.ok()) return completed(why);
  if (impl_->step == kEndOfWork) return completed({Code::kUsage, "this rank has ended its work"});
  if (impl_->has_pushed()) {
    return completed({Code::kUsage, "end_epoch() within a step; call advance() first"});
  }
  impl_->step = impl_->step.next_epoch();
  return completed(ok_status());
}

Pending GroupStore::end_work() {
  if (const Status& why = impl_->stopped(); !why.ok()) return completed(why);
  if (impl_->step == kEndOfWork) return completed(ok_status());
  if (impl_->has_pushed()) {
    Status status = impl_->wish(Wish::kAdvance);
    impl_->forget_pushes();
    if (!status.ok()) return completed(std::move(status));
  }
  impl_->step = kEndOfWork;
  return completed(impl_->wish(Wish::kSee));
}

Pending GroupStore::barrier(BarrierId id) { return completed(impl_->wish(Wish::kBarrier, id)); }

Pending GroupStore::report(ReportId id, std::string text) {
  if (impl_->options.on_report) impl_->options.on_report(shard(), id, text);
  return completed(impl_->failure);
}

Pending GroupStore::yield() { return completed(impl_->failure); }

}  // namespace thalweg
