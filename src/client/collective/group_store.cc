#include "thalweg/group_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/completion.h"
#include "client/collective/group_turn.h"
#include "table/table.h"

namespace thalweg {
namespace {

using Wish = RankProgress::Wish;

Pending completed(Answer answer) {
  auto completion = std::make_shared<Completion>();
  completion->done = true;
  completion->answer = std::move(answer);
  return Completion::pending(std::move(completion));
}
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
    TableSpec spec;
    std::unique_ptr<Table> table;
    std::span<float> sums;  // Dense: of the group's memory, for pushes that are added up; made when needed.
    // This rank's push of the step.
    bool pushed = false;
    Keys keys;
    Rows grads;

    bool dense() const { return spec.kind == TableSpec::Kind::kDense; }
    RangeSpan all() const { return {0, spec.ranges}; }
  };

  Impl(Group& its_group, GroupStoreOptions its_options) : group(its_group), options(std::move(its_options)) {}
  ~Impl() {
    for (const Shared& table : tables) group.free(table.sums.data());
  }

  Status check(TableId table, const Keys& keys) const;
  Status check_push(const Shared& table, const Keys& keys, const Rows& grads) const;
  Answer read(const Shared& table, const Keys& keys) const;
  // Takes part in the group's turns until this rank's wish is fulfilled.
  Status wish(Wish what, BarrierId barrier = {});
  void forget_pushes();
  // The first failure is what later requests repeat.
  Status fail(Status status) {
    if (failure.ok() && !status.ok()) failure = status;
    return status;
  }

  Group& group;
  GroupStoreOptions options;
  std::vector<Shared> tables;
  Step step;
  Step seen;  // All pushes of earlier steps have been applied.
  Status failure;
  bool parted = false;  // The ranks take turns no more.

 private:
  Status take_turn(const RankProgress& mine, GroupTurn& turn);
  Status apply(std::span<const std::uint64_t> said, Step lowest);
  Status apply_to(Shared& table, std::span<const PushSize> sizes, bool mine);
  Status add_up(Shared& table, PushSize size, bool mine);
  Status gather(Shared& table, std::span<const PushSize> sizes, bool mine);
  PushSize size_of(const Shared& table) const;
  std::size_t words() const { return RankProgress::kWords + kPushWords * tables.size(); }
};

Status GroupStore::Impl::check(TableId table, const Keys& keys) const {
  if (!failure.ok()) return failure;
  if (table.value >= tables.size()) {
    return {Code::kUsage, fmt::format("no table {}; the store has {}", table.value, tables.size())};
  }
  const Shared& shared = tables[table.value];
  if (!keys.values() || keys.dense() != shared.dense()) {
    return {Code::kUsage, fmt::format("table {} takes Keys from Keys::{}()", shared.spec.name,
                                      shared.dense() ? "block" : "of")};
  }
  const auto& values = *keys.values();
  if (!shared.dense()) return shared.table->check_keys(values, shared.all());
  if (values[0] > shared.spec.rows || values[1] > shared.spec.rows - values[0]) {
    return {Code::kUsage, fmt::format("table {} has {} rows, asked for [{}, {})", shared.spec.name,
                                      shared.spec.rows, values[0], values[0] + values[1])};
  }
  return ok_status();
}

Status GroupStore::Impl::check_push(const Shared& table, const Keys& keys, const Rows& grads) const {
  const TableSpec& spec = table.spec;
  if (step == kEndOfWork) return {Code::kUsage, "this rank has ended its work"};
  if (keys.size() * spec.dim != grads.size()) {
    return {Code::kUsage, fmt::format("push to {}: {} keys of {} floats need {} values, got {}", spec.name,
                                      keys.size(), spec.dim, keys.size() * spec.dim, grads.size())};
  }
  if (table.pushed) {
    return {Code::kUsage, fmt::format("second push to {} in step {}.{}; call advance() between them",
                                      spec.name, step.epoch, step.index)};
  }
  if (keys.size() == 0) return ok_status();
  const std::span<const std::uint64_t> values(*keys.values());
  return table.table->check({table.dense() ? values.first(1) : values, grads.span()}, table.all());
}

Answer GroupStore::Impl::read(const Shared& table, const Keys& keys) const {
  std::vector<float> rows(keys.size() * table.spec.dim);
  const std::span<const std::uint64_t> values(*keys.values());
  if (!rows.empty()) table.table->read(table.dense() ? values.first(1) : values, rows);
  return {ok_status(), Rows(std::move(rows)), {}};
}

PushSize GroupStore::Impl::size_of(const Shared& table) const {
  if (!table.pushed || table.keys.size() == 0) return {};
  return {table.dense() ? (*table.keys.values())[0] : 0, table.keys.size()};
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
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const PushSize size = size_of(tables[t]);
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
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      const std::uint64_t* const words_of = &said[r * words()];
      const bool takes_part = RankProgress::read(words_of).step == lowest;
      const std::uint64_t* const push = words_of + RankProgress::kWords + kPushWords * t;
      sizes[r] = takes_part ? PushSize{push[0], push[1]} : PushSize{};
    }
    if (Status status = apply_to(tables[t], sizes, mine); !status.ok()) return status;
  }
  return ok_status();
}

Status GroupStore::Impl::apply_to(Shared& table, std::span<const PushSize> sizes, bool mine) {
  const auto pushed = [](PushSize size) { return size.rows > 0; };
  const auto first = std::find_if(sizes.begin(), sizes.end(), pushed);
  if (first == sizes.end()) return ok_status();
  const bool alike =
      std::all_of(sizes.begin(), sizes.end(), [&](PushSize size) { return !pushed(size) || size == *first; });
  const bool sums = table.dense() && table.spec.rule.kind != RuleKind::kAssign && !options.in_rank_order;
  return sums && alike ? add_up(table, *first, mine) : gather(table, sizes, mine);
}

Status GroupStore::Impl::add_up(Shared& table, PushSize size, bool mine) {
  if (table.sums.empty()) {
    auto sums = group.allocate<float>(table.spec.rows * table.spec.dim);
    if (!sums) return sums.status();
    table.sums = *sums;
  }
  const std::span<float> sums = table.sums.first(size.rows * table.spec.dim);
  if (mine && table.pushed && table.keys.size() > 0) {
    std::copy(table.grads.span().begin(), table.grads.span().end(), sums.begin());
  } else {
    std::fill(sums.begin(), sums.end(), 0.0f);
  }
  if (Status status = group.all_reduce<float>(sums, Reduction::kSum, options.route); !status.ok())
    return status;
  const Contribution whole{{&size.first, 1}, sums};
  if (Status status = table.table->check(whole, table.all()); !status.ok())
    return status;  // Sums may overflow.
  table.table->apply({&whole, 1});
  return ok_status();
}

Status GroupStore::Impl::gather(Shared& table, std::span<const PushSize> sizes, bool mine) {
  const std::size_t dim = table.spec.dim;
  std::vector<std::size_t> keys_of, floats_of;
  std::size_t keys_all = 0, floats_all = 0;
  for (const PushSize size : sizes) {
    keys_of.push_back(table.dense() ? std::min<std::size_t>(size.rows, 1) : size.rows);
    floats_of.push_back(size.rows * dim);
    keys_all += keys_of.back();
    floats_all += floats_of.back();
  }
  std::vector<std::uint64_t> keys(keys_all);
  std::vector<float> grads(floats_all);
  std::span<const std::uint64_t> own_keys;
  std::span<const float> own_grads;
  if (mine && table.pushed && table.keys.size() > 0) {
    own_keys = std::span<const std::uint64_t>(*table.keys.values()).first(keys_of[group.rank()]);
    own_grads = table.grads.span();
  }
  if (Status status = group.all_gather<std::uint64_t>(own_keys, keys, keys_of); !status.ok()) return status;
  if (Status status = group.all_gather<float>(own_grads, grads, floats_of); !status.ok()) return status;
  std::vector<Contribution> parts;
  std::size_t key_at = 0, float_at = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    const Contribution part{std::span(keys).subspan(key_at, keys_of[r]),
                            std::span(grads).subspan(float_at, floats_of[r]), static_cast<std::uint32_t>(r)};
    if (sizes[r].rows > 0) parts.push_back(part);
    key_at += keys_of[r];
    float_at += floats_of[r];
  }
  table.table->apply(parts);
  return ok_status();
}

void GroupStore::Impl::forget_pushes() {
  for (Shared& table : tables) {
    table.pushed = false;
    table.keys = {};
    table.grads = {};
  }
}

GroupStore::GroupStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupStore::~GroupStore() = default;

Result<std::unique_ptr<GroupStore>> GroupStore::create(Group& group, GroupStoreOptions options) {
  auto impl = std::make_unique<Impl>(group, std::move(options));
  for (const TableSpec& spec : impl->options.tables) {
    const auto rule = impl->options.rules.find(spec.rule.custom);
    auto table =
        make_table(spec, {0, spec.ranges}, rule == impl->options.rules.end() ? nullptr : rule->second);
    if (!table) return table.status();
    auto& shared = impl->tables.emplace_back();
    shared.spec = spec;
    shared.table = std::move(table).value();
  }
  return std::unique_ptr<GroupStore>(new GroupStore(std::move(impl)));
}

Status GroupStore::run(const Program& program) {
  Task<Status> task = program(*this);
  task.handle().resume();
  Status status =
      task.done() ? task.take() : Status(Code::kUsage, "the program waits for something that is no request");
  if (status.ok()) return end_work().await_resume().status;
  if (!impl_->parted) (void)impl_->wish(Wish::kFailed);
  return impl_->fail(std::move(status));
}

ShardId GroupStore::shard() const { return ShardId{impl_->group.rank()}; }
Step GroupStore::step() const { return impl_->step; }

Pending GroupStore::push(TableId table, Keys keys, Rows grads) {
  if (Status status = impl_->check(table, keys); !status.ok()) return completed(std::move(status));
  auto& shared = impl_->tables[table.value];
  if (Status status = impl_->check_push(shared, keys, grads); !status.ok()) {
    return completed(status.code() == Code::kUsage ? status
                                                   : impl_->fail(status));  // As when a server refuses it.
  }
  shared.pushed = true;
  shared.keys = std::move(keys);
  shared.grads = std::move(grads);
  return completed(ok_status());
}

Pending GroupStore::pull(TableId table, Keys keys) {
  if (Status status = impl_->check(table, keys); !status.ok()) return completed(std::move(status));
  const auto& shared = impl_->tables[table.value];
  if (shared.pushed) {
    return completed(
        {Code::kUsage, fmt::format("pull from {} after the push of step {}.{}; pull first, or call "
                                   "advance() between them",
                                   shared.spec.name, impl_->step.epoch, impl_->step.index)});
  }
  if (impl_->seen < impl_->step) {
    if (Status status = impl_->wish(Wish::kSee); !status.ok()) return completed(std::move(status));
  }
  return completed(impl_->read(shared, keys));
}

Pending GroupStore::read(TableId table, Keys keys) {
  if (Status status = impl_->check(table, keys); !status.ok()) return completed(std::move(status));
  return completed(impl_->read(impl_->tables[table.value], keys));
}

Pending GroupStore::advance() {
  if (!impl_->failure.ok()) return completed(impl_->failure);
  if (impl_->step == kEndOfWork) return completed({Code::kUsage, "this rank has ended its work"});
  Status status = impl_->wish(Wish::kAdvance);
  impl_->forget_pushes();
  impl_->step = impl_->step.next();
  return completed(std::move(status));
}

Pending GroupStore::end_epoch() {
  const auto pushed = [](const Impl::Shared& table) { return table.pushed; };
  if (!impl_->failure.ok()) return completed(impl_->failure);
  if (impl_->step == kEndOfWork) return completed({Code::kUsage, "this rank has ended its work"});
  if (std::any_of(impl_->tables.begin(), impl_->tables.end(), pushed)) {
    return completed({Code::kUsage, "end_epoch() within a step; call advance() first"});
  }
  impl_->step = impl_->step.next_epoch();
  return completed(ok_status());
}

Pending GroupStore::end_work() {
  const auto pushed = [](const Impl::Shared& table) { return table.pushed; };
  if (!impl_->failure.ok()) return completed(impl_->failure);
  if (impl_->step == kEndOfWork) return completed(ok_status());
  if (std::any_of(impl_->tables.begin(), impl_->tables.end(), pushed)) {
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
