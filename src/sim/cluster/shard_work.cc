#include "sim/cluster/shard_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/barriers.h"
#include "base/mix.h"

namespace thalweg::sim {
namespace {

std::string shard_place(const ShardStore& store) {
  return fmt::format("shard {} (owner epoch {}) step {}.{}", store.shard().value, store.owner_epoch(),
                     store.step().epoch, store.step().index);
}

std::string report_text(ShardId shard, std::uint32_t epoch) {
  return fmt::format("shard {} ended epoch {}", shard.value, epoch);
}

}  // namespace

ShardProgram ShardWork::program() {
  return [this](ShardStore& store, const wire::Map&) { return run(store); };
}

Task<Status> ShardWork::run(ShardStore& store) {
  Run run;
  run.heir = store.owner_epoch() > 0;
  const std::uint32_t epochs = workload_.plan().epochs();
  const Step begin = store.step();
  if (workload_.plan().loads) {
    const Status loaded = (co_await store.barrier(kLoadedBarrier)).status;
    if (!loaded.ok()) co_return loaded;
  }
  if (begin != kEndOfWork && begin.epoch > 0 && begin.index == 0) {
    // The former owner may have fallen between its last push of an epoch and the meeting after it.
    const Status met = co_await meet(store, run, begin.epoch - 1);
    if (!met.ok()) co_return met;
  }
  while (store.step().epoch < epochs) {
    if (store.step().index == 0 && store.closing()) break;
    const std::uint32_t epoch = store.step().epoch;
    while (store.step().index < workload_.steps(store.shard(), epoch) && !store.closing()) {
      const Status stepped = co_await one_step(store, run);
      if (!stepped.ok()) co_return stepped;
    }
    const Status ended = co_await end_epoch(store, run);
    if (!ended.ok()) co_return ended;
  }
  if (run.ending) {
    const Status ended = (co_await *run.ending).status;
    if (!ended.ok()) co_return ended;
  }
  const Status settled = co_await settle(run, 0);
  if (!settled.ok()) co_return settled;
  if (workload_.plan().end_work || store.closing()) {
    const Status ended = (co_await store.end_work()).status;
    if (!ended.ok()) co_return ended;
  }
  done_.insert(store.shard());
  co_return (co_await store.barrier(kLastBarrier)).status;
}

ShardProgram ShardWork::observer() {
  return [this](ShardStore& store, const wire::Map&) { return observe(store); };
}

Task<Status> ShardWork::observe(ShardStore& store) {
  if (workload_.plan().loads && !loaded_) {
    const Status loaded = co_await load_all(store);
    if (!loaded.ok()) co_return loaded;
  }
  for (std::uint32_t epoch = 0; workload_.plan().looks && epoch < workload_.plan().epochs(); ++epoch) {
    const Status looked = co_await look(store, epoch);
    if (!looked.ok()) co_return looked;
  }
  co_return co_await read_all(store);
}

Task<Status> ShardWork::look(ShardStore& store, std::uint32_t epoch) {
  const Status ended = (co_await store.barrier({epoch, 1})).status;
  if (!ended.ok()) co_return ended;
  const Plan& plan = workload_.plan();
  for (std::uint16_t t = 0; t < plan.tables.size(); ++t) {
    if (!workload_.whole(TableId{t}) || !workload_.sums_all() || plan.stops()) continue;
    const auto& sums = workload_.oracle(TableId{t}, epoch);
    std::size_t found = 0;
    for (std::uint16_t range = 0; range < plan.tables[t].ranges; ++range) {
      const Answer answer = co_await store.scan(TableId{t}, RangeId{range});
      if (!answer.status.ok()) co_return answer.status;
      found += check_scan(TableId{t}, sums, answer);
    }
    if (found == sums.size()) continue;
    findings_.add(Checker::kReaders, fmt::format("behind pass {} a scan of table {} found {} of {} rows",
                                                 epoch, t, found, sums.size()));
  }
  looked_.insert(epoch);
  co_return (co_await store.barrier(observers_barrier(epoch))).status;
}

Task<Status> ShardWork::load_all(ShardStore& store) {
  std::vector<Pending> asked;
  for (std::uint16_t t = 0; t < workload_.plan().tables.size(); ++t) {
    for (std::uint16_t r = 0; r < workload_.plan().tables[t].ranges; ++r) {
      RowsToLoad rows = workload_.loaded(TableId{t}, RangeId{r});
      if (rows.keys.empty()) continue;
      asked.push_back(store.load(TableId{t}, RangeId{r}, std::move(rows.keys), Rows(std::move(rows.values))));
    }
  }
  for (Pending& one : asked) {
    const Status status = (co_await one).status;
    if (!status.ok()) co_return status;
  }
  co_return (co_await store.barrier(kLoadedBarrier)).status;
}

Task<Status> ShardWork::read_all(ShardStore& store) {
  const Status met = (co_await store.barrier(kLastBarrier)).status;
  if (!met.ok()) co_return met;
  if (!all_done()) findings_.add(Checker::kBarriers, "the last barrier opened before all shards were done");
  const Plan& plan = workload_.plan();
  std::vector<Contents> read(plan.tables.size());
  for (std::uint16_t t = 0; t < plan.tables.size(); ++t) {
    const bool known = workload_.whole(TableId{t}) && workload_.sums_all() && !plan.stops();
    const std::map<Key, std::vector<float>> none;
    const auto& sums = known ? workload_.oracle(TableId{t}, plan.epochs() - 1) : none;
    std::size_t found = 0;
    for (std::uint16_t range = 0; range < plan.tables[t].ranges; ++range) {
      const Answer answer = co_await store.scan(TableId{t}, RangeId{range});
      if (!answer.status.ok()) co_return answer.status;
      found += check_scan(TableId{t}, sums, answer);
      const auto rows = answer.rows.span();
      if (!answer.keys.empty()) read[t].width = rows.size() / answer.keys.size();
      read[t].keys.insert(read[t].keys.end(), answer.keys.begin(), answer.keys.end());
      read[t].rows.insert(read[t].rows.end(), rows.begin(), rows.end());
    }
    if (found != sums.size()) {
      findings_.add(Checker::kReaders,
                    fmt::format("a scan of table {} found {} of {} rows", t, found, sums.size()));
    }
  }
  saved_ = std::move(read);
  co_return ok_status();
}

// How many rows of `sums` the answer holds.
std::size_t ShardWork::check_scan(TableId table, const std::map<Key, std::vector<float>>& sums,
                                  const Answer& answer) {
  const TableSpec& spec = workload_.plan().tables[table.value];
  std::size_t found = 0;
  for (std::size_t i = 0; i < answer.keys.size(); ++i) {
    const Key key = spec.kind == TableSpec::Kind::kDense ? answer.keys[i] : unplace(answer.keys[i]);
    const auto sum = sums.find(key);
    if (sum == sums.end()) continue;
    ++found;
    const auto row = answer.rows.span().subspan(i * spec.dim, spec.dim);
    if (!std::equal(row.begin(), row.end(), sum->second.begin()))
      findings_.add(Checker::kReaders,
                    fmt::format("a scan of table {} gives another row {} than the sum of all pushes",
                                table.value, key));
  }
  return found;
}

Task<Status> ShardWork::one_step(ShardStore& store, Run& run) {
  const ShardId shard = store.shard();
  const Step step = store.step();
  const auto tables = static_cast<std::uint16_t>(workload_.plan().tables.size());
  struct Asked {
    TableId table;
    RowSet set;
    Pending pending;
  };
  std::vector<Asked> asked;
  for (std::uint16_t t = 0; t < tables; ++t) {
    if (auto set = workload_.pulled(TableId{t}, shard, step)) {
      Pending pending = store.pull(TableId{t}, set->keys);
      asked.push_back({TableId{t}, std::move(*set), std::move(pending)});
    }
  }
  std::vector<Rows> read(tables);
  const Instant begin = now_();
  for (Asked& one : asked) {
    const Answer answer = co_await one.pending;
    if (!answer.status.ok()) co_return answer.status;
    read[one.table.value] = answer.rows;
    check_pull(store, run, one.table, one.set, answer.rows.span());
  }
  pull_wait_ += now_() - begin;
  for (std::uint16_t t = 0; t < tables; ++t) {
    const auto set = workload_.pushed(TableId{t}, shard, step);
    if (!set) continue;
    Rows grads(workload_.gradients(TableId{t}, shard, step, *set, read[t].span()));
    run.unanswered.push_back(store.push(TableId{t}, set->keys, std::move(grads)));
  }
  const Status settled = co_await settle(run, workload_.plan().unanswered_max);
  if (!settled.ok()) co_return settled;
  const Status advanced = (co_await store.advance()).status;
  if (advanced.ok()) check_window(store);
  co_return advanced;
}

// What a shard may leave unanswered bounds its worker's memory.
void ShardWork::check_window(const ShardStore& store) {
  const Consistency::Kind kind = workload_.plan().consistency.kind;
  const std::uint64_t window = kind == Consistency::Kind::kSync           ? limits::kStepsInFlightSync
                               : kind == Consistency::Kind::kFreeSoftsync ? limits::kStepsInFlightFree
                                                                          : limits::kStepsInFlightMax;
  behind_max_ = std::max(behind_max_, store.steps_behind());
  if (store.steps_behind() < window) return;
  findings_.add(Checker::kWindow,
                fmt::format("{}: goes on, {} steps past one that is unanswered, expected fewer than {}",
                            shard_place(store), store.steps_behind(), window));
}

Task<Status> ShardWork::settle(Run& run, std::size_t keep) {
  while (run.unanswered.size() > keep) {
    const Status status = (co_await run.unanswered.front()).status;
    if (!status.ok()) co_return status;
    run.unanswered.pop_front();
  }
  co_return ok_status();
}

Task<Status> ShardWork::end_epoch(ShardStore& store, Run& run) {
  const std::uint32_t epoch = store.step().epoch;
  if (run.ending) {
    const Status before = (co_await *run.ending).status;
    if (!before.ok()) co_return before;
  }
  run.ending = store.end_epoch();
  // Without barriers the next epoch begins before the servers have answered.
  if (!workload_.plan().barriers) co_return ok_status();
  const Status ended = (co_await *run.ending).status;
  run.ending.reset();
  if (!ended.ok()) co_return ended;
  const Status met = co_await meet(store, run, epoch);
  co_return met;
}

Task<Status> ShardWork::meet(ShardStore& store, Run& run, std::uint32_t epoch) {
  if (!workload_.plan().barriers) co_return ok_status();
  const Status together = co_await barrier(store, {epoch, 0});
  if (!together.ok()) co_return together;
  for (std::uint16_t t = 0; t < workload_.plan().tables.size(); ++t) {
    const RowSet set = workload_.looked_at(TableId{t}, store.shard(), epoch);
    const Answer answer = co_await store.read(TableId{t}, set.keys);
    if (!answer.status.ok()) co_return answer.status;
    if (workload_.whole(TableId{t})) check_look(store, run, TableId{t}, epoch, set, answer.rows.span());
  }
  const Status reported = (co_await store.report({epoch, 1}, report_text(store.shard(), epoch))).status;
  if (!reported.ok()) co_return reported;
  const Status apart = co_await barrier(store, {epoch, 1});
  if (!apart.ok() || !workload_.plan().looks) co_return apart;
  const Status shown = (co_await store.barrier(observers_barrier(epoch))).status;
  if (shown.ok() && !looked_.contains(epoch) && !workload_.plan().stops()) {
    findings_.add(Checker::kBarriers, fmt::format("{} did not wait until the observer had looked at pass {}",
                                                  shard_place(store), epoch));
  }
  co_return shown;
}

Task<Status> ShardWork::barrier(ShardStore& store, BarrierId id) {
  came_to_barrier_[id].insert(store.shard());
  const Status status = (co_await store.barrier(id)).status;
  if (status.ok() && came_to_barrier_[id].size() < workload_.plan().shards &&
      (!workload_.plan().stops() || id == kLastBarrier)) {
    findings_.add(Checker::kBarriers,
                  fmt::format("{}: barrier {}.{} opened with {} of {} shards there", shard_place(store),
                              id.epoch, id.index, came_to_barrier_[id].size(), workload_.plan().shards));
  }
  co_return status;
}

void ShardWork::check_pull(const ShardStore& store, Run& run, TableId table, const RowSet& set,
                           std::span<const float> read) {
  const std::size_t dim = workload_.plan().tables[table.value].dim;
  if (read.size() != set.rows.size() * dim) {
    return findings_.add(Checker::kReaders,
                         fmt::format("{}: pull of table {} gave {} floats for {} rows of {}",
                                     shard_place(store), table.value, read.size(), set.rows.size(), dim));
  }
  if (!workload_.whole(table)) return;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    const auto counted = workload_.counter_of(table, set.rows[i]);
    if (counted) check_counter(store, run, table, *counted, read[i * dim]);
  }
}

void ShardWork::check_counter(const ShardStore& store, Run& run, TableId table, ShardId counted,
                              float value) {
  const Consistency& mode = workload_.plan().consistency;
  const bool own = counted == store.shard();
  const Step now = store.step();
  const auto before = [&](Step step) {
    return static_cast<float>(workload_.pushes_before(table, counted, step));
  };
  float least = 0, most = before({~0u, 0});
  if (mode.kind == Consistency::Kind::kSync) {
    least = most = before(now);
  } else if (own) {
    least = before(now);
    if (!run.heir) most = least;
    // Of all shards' pushes to a range fewer than these are no update yet.
    if (mode.kind == Consistency::Kind::kSoftsync)
      least = std::max(0.0f, least - static_cast<float>(pushes_an_update(workload_.plan()) - 1));
    if (!workload_.sums_all() || mode.kind == Consistency::Kind::kFreeSoftsync) least = 0;
  } else if (mode.kind == Consistency::Kind::kBounded) {
    least = before({now.epoch, now.index - std::min(now.index, mode.bound)});
  }
  if (workload_.plan().stops() && !own) least = 0;  // It may have ended earlier than planned.
  float& last = run.counters[{table, counted}];
  least = std::max(least, last);
  if (value < least || value > most || value != std::floor(value)) {
    findings_.add(Checker::kReaders,
                  fmt::format("{}: a pull of table {} reflects {} pushes of shard {}, expected {} to {}",
                              shard_place(store), table.value, value, counted.value, least, most));
  }
  last = value;
}

void ShardWork::check_look(const ShardStore& store, const Run& run, TableId table, std::uint32_t epoch,
                           const RowSet& set, std::span<const float> read) {
  // An heir may look while others, past the second barrier, are in the next epoch.
  if (run.heir || workload_.plan().stops() || !workload_.sums_all()) return;
  const std::size_t dim = workload_.plan().tables[table.value].dim;
  const auto& sums = workload_.oracle(table, epoch);
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    const auto sum = sums.find(set.rows[i]);
    for (std::size_t c = 0; c < dim; ++c) {
      const float expected = sum == sums.end() ? 0.0f : sum->second[c];
      if (read[i * dim + c] == expected) continue;
      return findings_.add(
          Checker::kReaders,
          fmt::format("{}: after epoch {}, table {} row {} column {} reads {}, expected {}",
                      shard_place(store), epoch, table.value, set.rows[i], c, read[i * dim + c], expected));
    }
  }
}

void ShardWork::on_report(ShardId shard, ReportId number, std::string_view text) {
  const auto last = reported_.find(shard);
  if (last != reported_.end() && number <= last->second) {
    findings_.add(Checker::kReports,
                  fmt::format("report {}.{} of shard {} came after {}.{}", number.epoch, number.index,
                              shard.value, last->second.epoch, last->second.index));
  }
  if (text != report_text(shard, number.epoch))
    findings_.add(Checker::kReports, fmt::format("report of shard {} reads '{}'", shard.value, text));
  reported_[shard] = number;
}

}  // namespace thalweg::sim
