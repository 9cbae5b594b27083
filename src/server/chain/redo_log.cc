#include "server/chain/redo_log.h"

#include <set>
#include <utility>

namespace thalweg {

void RedoLog::add(Step step, RangeSpan ranges, Payload change) {
  if (change.empty()) return;
  records_.push_back({step, ranges, std::move(change)});
  bytes_ += records_.back().bytes();
}

void RedoLog::redo(std::size_t steps_left, const Apply& apply) {
  std::set<Step> left;
  for (const Record& record : records_) {
    if (steps_left == 0) break;
    left.insert(record.step);
    if (left.size() > steps_left) left.erase(left.begin());
  }
  std::erase_if(records_, [&](const Record& record) {
    if (!left.empty() && record.step >= *left.begin()) return false;
    apply(record.step, record.ranges, record.change);
    bytes_ -= record.bytes();
    return true;
  });
}

}  // namespace thalweg
