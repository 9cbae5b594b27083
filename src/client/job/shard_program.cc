#include "client/job/shard_program.h"

#include <utility>

namespace thalweg {
namespace {

Task<Status> run_shard(Program program, ShardStore& store) {
  if (store.step() != kEndOfWork) {
    if (Status status = co_await program(store); !status.ok()) co_return status;
    if (Status status = (co_await store.end_work()).status; !status.ok()) co_return status;
  }
  co_return (co_await store.end_program()).status;
}

}  // namespace

ShardProgram shard_program(Program program) {
  return [program = std::move(program)](ShardStore& store, const wire::Map&) {
    return run_shard(program, store);
  };
}

}  // namespace thalweg
