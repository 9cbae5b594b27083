#include "net/tcp/tcp_event.h"

#include <fmt/format.h>

#include "base/frame.h"

namespace thalweg {

std::string to_text(const TcpEvent& event) {
  const std::string& why = event.reason.why;
  switch (event.kind) {
    case TcpEvent::Kind::kUnreached:
      return fmt::format("cannot connect to {} at {}: {}", node_name(*event.peer), event.where, why);
    case TcpEvent::Kind::kRefused:
      if (event.more > 0) return fmt::format("{} more connections refused", event.more);
      if (event.where.empty()) return "connection refused: " + why;
      return fmt::format("connection from {} refused: {}", event.where, why);
    case TcpEvent::Kind::kClosed:
      return fmt::format("connection with {} closed: {}", event.where, why);
    case TcpEvent::Kind::kLost:
      if (event.more > 0) return fmt::format("{} more peers lost", event.more);
      return fmt::format("lost {}: {}", node_name(*event.peer), why);
    case TcpEvent::Kind::kNotice:
      break;
  }
  return why;
}

std::string log_line(const TcpEvent& event) {
  return to_text(event) + (event.kind == TcpEvent::Kind::kUnreached ? "; trying again" : "");
}

}  // namespace thalweg
