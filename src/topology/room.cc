#include "topology/room.h"

namespace thalweg {

const char* kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return "device";
    case NodeKind::kHost:
      return "host";
    case NodeKind::kNic:
      return "nic";
    case NodeKind::kSwitch:
      break;
  }
  return "switch";
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kMachine:
      return "machine";
    case Level::kRack:
      return "rack";
    case Level::kSite:
      break;
  }
  return "site";
}

}  // namespace thalweg
