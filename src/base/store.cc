#include "thalweg/store.h"

namespace thalweg {

Task<Answer> push_pull(Store& store, TableId table, Keys keys, Rows grads) {
  Pending pushed = store.push(table, keys, std::move(grads));
  if (pushed.await_ready()) {
    Answer refused = co_await pushed;
    if (!refused.status) co_return refused;
  }
  Pending advanced = store.advance();
  Pending pulled = store.pull(table, std::move(keys));
  Answer end = co_await advanced;
  if (!end.status) co_return end;
  co_return co_await pulled;
}

}  // namespace thalweg
