#include "cluster/stale_notices.h"

#include "base/coverage/reached.h"
#include "base/limits.h"

namespace thalweg::cluster {

bool StaleNotices::is_due(Instant now, NodeId node, std::uint32_t map_epoch) {
  const auto [found, first] = told_.try_emplace(node);
  Notice& notice = found->second;
  if (!first && map_epoch <= notice.map_epoch && now < notice.again_at) {
    THALWEG_REACHED(kMapOldUnsaid);
    return false;
  }
  notice = {map_epoch, now + limits::kRetryFirst};
  return true;
}

}  // namespace thalweg::cluster
