// The matrix over live groups: every operation, element type, reduction and route, many sizes, in place and
// not.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/group_routes.h"
#include "client/group_threads_for_test.h"
#include "exchange/exchange_case_for_test.h"
#include "thalweg/group.h"

namespace thalweg {

// What one rank does in the matrix; stops at the first failure.
class MatrixRank {
 public:
  // Runs each `stride`-th case: an odd number, so that types and reductions take turns.
  explicit MatrixRank(Group& group, std::uint64_t stride = 1) : group_(group), stride_(stride) {}

  std::string run() {
    for (const std::string& name : routes_for_test()) {
      if (std::string wrong = run_route(name); !wrong.empty()) return name + ": " + wrong;
    }
    return run_route("shared");
  }
  std::uint64_t cases() const { return cases_; }

 private:
  std::string run_route(const std::string& name) {
    Plan plan = plan_for_test(name, group_.size());
    if (group_.size() == 1) plan.servers = 0;
    for (std::size_t o = 0; o < kOperations; ++o) {
      ExchangeCase c;
      c.operation = static_cast<Operation>(o);
      c.ranks = group_.size();
      c.servers = plan.servers;
      if (!check_plan(plan, c.operation, c.ranks)) continue;
      if (c.operation == Operation::kPointToPoint && c.ranks == 1) continue;
      if (std::string wrong = run_operation(plan, c); !wrong.empty()) return wrong;
    }
    return {};
  }
  std::string run_operation(const Plan& plan, ExchangeCase c) {
    const bool combines = c.operation == Operation::kAllReduce || c.operation == Operation::kReduce ||
                          c.operation == Operation::kReduceScatter;
    for (std::size_t t = 0; t < kDataTypes; ++t) {
      for (std::size_t r = 0; r < (combines ? kReductions : 1); ++r) {
        c.type = static_cast<DataType>(t);
        c.reduction = static_cast<Reduction>(r);
        if (c.reduction == Reduction::kReproducibleSum) continue;
        if (std::string wrong = run_sizes(plan, c); !wrong.empty()) return wrong;
      }
    }
    return {};
  }
  std::string run_sizes(const Plan& plan, ExchangeCase c) {
    const std::uint64_t n = c.ranks;
    std::vector<std::uint64_t> counts = {0, 1, n - 1, n + 1, 257};
    if (c.type == DataType::kF32 && c.reduction == Reduction::kSum)
      counts.insert(counts.end(), {1003, 70001});
    for (std::uint64_t count : counts) {
      if (turn_++ % stride_ != 0) continue;
      if (c.operation == Operation::kAllToAll) count = (count + n - 1) / n * n;
      c.count = count;
      for (const bool in_place : {false, true}) {
        c.in_place = in_place;
        c.root = static_cast<std::uint32_t>(cases_ % c.workers());
        Plan cut = plan;
        cut.channels =
            c.operation == Operation::kAllReduce && count > 1000 && plan.route != Route::kShared ? 2 : 1;
        const std::size_t piece_bytes = cases_ % 2 == 0 ? 0 : count > 10000 ? 30000 : 256;
        if (std::string wrong = run_case(cut, piece_bytes, c); !wrong.empty()) return c.name() + ": " + wrong;
      }
    }
    return {};
  }
  std::string run_case(const Plan& plan, std::size_t piece_bytes, const ExchangeCase& c) {
    ++cases_;
    CaseBuffers buffers(c, group_.rank());
    GroupCall call;
    call.operation = c.operation;
    call.in = buffers.in();
    call.out = buffers.out();
    call.count = c.count;
    call.type = c.type;
    call.combine = c.reduction;
    call.root = c.root;
    call.peer = c.peer();
    call.route = RouteChoice(std::make_shared<const RouteChoice::Plans>(plan, piece_bytes));
    const bool takes_part =
        c.operation != Operation::kPointToPoint || group_.rank() == c.root || group_.rank() == c.peer();
    const Status status = takes_part ? group_.run(call) : Status::ok();
    return status ? buffers.check() : status.message();
  }

  Group& group_;
  const std::uint64_t stride_;
  std::uint64_t turn_ = 0;
  std::uint64_t cases_ = 0;
};

}  // namespace thalweg
