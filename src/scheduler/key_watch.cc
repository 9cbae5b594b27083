#include "scheduler/key_watch.h"

#include "base/planted.h"

namespace thalweg {

Result<bool> KeyWatch::look(StateStore& store) {
  there_.reset();
  const auto view = store.get(key_);
  if (!view) return view.status();
  if (!view->entries.contains(key_)) return true;
  there_ = view->revision;
  return false;
}

Result<bool> KeyWatch::gone(StateStore& store, Duration wait) {
  if (!there_) return look(store);
  const auto events = store.watch(key_, *there_, wait);
  if (events.status().code() == Code::kStale && !THALWEG_BUG(kForgottenAwaited)) return look(store);
  if (!events) return events.status();
  bool gone = false;
  for (const StateEvent& event : *events) {
    there_ = event.revision;
    if (event.change.key == key_) gone = !event.change.value;
  }
  if (gone) there_.reset();
  return gone;
}

}  // namespace thalweg
