// The matrix over live groups, by one rank.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "client/group/group_routes.h"
#include "client/group/group_threads_for_test.h"
#include "exchange/exchange_matrix_for_test.h"
#include "thalweg/group.h"

namespace thalweg {

class MatrixRank {
 public:
  explicit MatrixRank(Group& group) : group_(group) {}

  // Empty, or what is wrong.
  std::string run(const MatrixCase& c) {
    const ExchangeCase& what = c.what;
    CaseBuffers buffers(what, group_.rank());
    GroupCall call;
    call.operation = what.operation;
    call.in = buffers.in();
    call.out = buffers.out();
    call.count = what.count;
    call.type = what.type;
    call.combine = what.own_monoid ? Combine(monoid_for_test()) : Combine(what.reduction);
    call.root = what.root;
    call.peer = what.peer();
    call.route = RoutePlans::choice(c.plan, c.piece_bytes);
    const bool takes_part = what.operation != Operation::kPointToPoint || group_.rank() == what.root ||
                            group_.rank() == what.peer();
    const Status status = takes_part ? group_.run(call) : ok_status();
    return status.ok() ? buffers.check() : status.message();
  }

 private:
  Group& group_;
};

}  // namespace thalweg
