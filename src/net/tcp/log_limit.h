// What anybody outside may cause any number of: the first few events of a minute are told, the others
// counted.
#pragma once

#include <cstdint>
#include <utility>

#include "base/instant.h"
#include "net/tcp/tcp_event.h"

namespace thalweg {

class LogLimit {
 public:
  LogLimit(TcpEvent::Kind kind, std::size_t lines_max, TcpCause cause = TcpCause::kOther)
      : kind_(kind), cause_(cause), lines_max_(lines_max) {}

  template <class Tell>
  void say(Instant now, const TcpEvent& event, const Tell& tell) {
    look(now, tell);
    if (lines_ == 0) until_ = now + kWindow;
    if (lines_ < lines_max_) {
      ++lines_;
      tell(event);
    } else {
      ++counted_;
    }
  }
  // Tells how many were only counted, once their minute is over.
  template <class Tell>
  void look(Instant now, const Tell& tell) {
    if (now >= until_) flush(tell);
  }
  template <class Tell>
  void flush(const Tell& tell) {
    lines_ = 0;
    if (counted_ == 0) return;
    TcpEvent rest;
    rest.kind = kind_;
    rest.reason.cause = cause_;
    rest.more = std::exchange(counted_, 0);
    tell(rest);
  }

 private:
  static constexpr Duration kWindow = std::chrono::minutes(1);

  const TcpEvent::Kind kind_;
  const TcpCause cause_;
  const std::size_t lines_max_;
  std::size_t lines_ = 0;  // Of this minute.
  std::uint64_t counted_ = 0;
  Instant until_{};
};

}  // namespace thalweg
