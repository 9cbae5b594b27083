#include "thalweg/status.h"

#include <type_traits>

namespace thalweg {

static_assert(!std::is_constructible_v<bool, Status>, "`if (status)` reads as an error to some: ask ok()");

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kUsage:
      return "USAGE";
    case Code::kConfig:
      return "CONFIG";
    case Code::kData:
      return "DATA";
    case Code::kIo:
      return "IO";
    case Code::kRefused:
      return "REFUSED";
    case Code::kRetry:
      return "RETRY";
    case Code::kStale:
      return "STALE";
    case Code::kPeerLost:
      return "PEER_LOST";
    case Code::kTimeout:
      return "TIMEOUT";
    case Code::kNonFinite:
      return "NON_FINITE";
    case Code::kModel:
      return "MODEL";
    case Code::kAborted:
      return "ABORTED";
  }
  return "UNKNOWN";
}

}  // namespace thalweg
