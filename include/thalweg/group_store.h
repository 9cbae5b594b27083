// The shared parameters without servers: every rank of a group keeps all of them, and the ranks add up their
// pushes and apply the same update rule alike. Programs written for Store run on it unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/group.h"
#include "thalweg/ids.h"
#include "thalweg/job.h"
#include "thalweg/options.h"
#include "thalweg/rule.h"
#include "thalweg/status.h"
#include "thalweg/store.h"

namespace thalweg {

struct GroupStoreOptions {
  std::vector<TableSpec> tables;                                   // tables[i] is TableId{i}.
  std::map<std::string, std::shared_ptr<const CustomRule>> rules;  // By RuleSpec::custom.
  // How dense pushes of equal blocks are added up; unequal ones are gathered, sparse ones go as
  // Group::all_reduce_sparse() chooses. Of routes those without servers.
  RouteChoice route;
  // Gathers dense pushes too and adds them up by the tree over ranks that servers use for data shards:
  // the parameters then have the very bits that a job in sync mode gives them.
  bool in_rank_order = false;
  // Gets this rank's Store::report().
  std::function<void(ShardId, ReportId, std::string_view)> on_report;
};

// Lockstep (Consistency::sync()): a pull shows the steps that every rank has ended, or has no part in. The
// rank is the data shard. Requests block and are done when they return, so a program must not wait for
// another one of its thread. Requests of different ranks match as a Job's do, and besides: advance() returns
// when every rank has ended the step, so no rank may wait at a barrier in a step that others end; end_work()
// returns when every rank has called it. Ranks that wait for each other get kUsage, and the other ranks of
// one that failed kAborted.
class GroupStore final : public Store {
 public:
  // All ranks call it, with equal tables. `group` outlives the store. Errors: kUsage, also where a rank has
  // other tables, kAborted where it cannot have them, kIo, and those of Group.
  static Result<std::unique_ptr<GroupStore>> create(Group& group, GroupStoreOptions options);
  ~GroupStore() override;

  // Runs `program` on this rank, ends its work, and tells the others if it failed.
  Status run(const Program& program);

  ShardId shard() const override;
  bool closing() const override { return false; }
  Step step() const override;
  Pending push(TableId table, Keys keys, Rows grads) override;
  Pending pull(TableId table, Keys keys) override;
  Pending read(TableId table, Keys keys) override;
  Pending advance() override;
  Pending end_epoch() override;
  Pending end_work() override;
  Pending barrier(BarrierId id) override;
  Pending report(ReportId id, std::string text) override;
  Pending yield() override;

 private:
  class Impl;
  explicit GroupStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
