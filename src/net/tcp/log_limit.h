// Lines about what anybody outside may cause any number of: the first few of a minute as they are, the others
// counted.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/instant.h"

namespace thalweg {

class LogLimit {
 public:
  // `what` names several of those: "connections refused".
  LogLimit(std::string what, std::size_t lines_max) : what_(std::move(what)), lines_max_(lines_max) {}

  template <class Log>
  void say(Instant now, const std::string& line, const Log& log) {
    look(now, log);
    if (lines_ == 0) until_ = now + kWindow;
    if (lines_ < lines_max_) {
      ++lines_;
      log(line);
    } else {
      ++counted_;
    }
  }
  // Says how many were only counted, once their minute is over.
  template <class Log>
  void look(Instant now, const Log& log) {
    if (now >= until_) flush(log);
  }
  template <class Log>
  void flush(const Log& log) {
    lines_ = 0;
    if (const auto counted = std::exchange(counted_, 0); counted > 0)
      log(fmt::format("{} more {}", counted, what_));
  }

 private:
  static constexpr Duration kWindow = std::chrono::minutes(1);

  const std::string what_;
  const std::size_t lines_max_;
  std::size_t lines_ = 0;  // Of this minute.
  std::uint64_t counted_ = 0;
  Instant until_{};
};

}  // namespace thalweg
