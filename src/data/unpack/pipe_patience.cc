#include "data/unpack/pipe_patience.h"

#include <poll.h>

#include <utility>

namespace thalweg {
namespace {

constexpr int kAskEveryMs = 100;
thread_local PipePatience* patience = nullptr;

}  // namespace

PipePatience::PipePatience(std::function<bool()> over)
    : over_(std::move(over)), outer_(std::exchange(patience, this)) {}
PipePatience::~PipePatience() { patience = outer_; }

bool PipePatience::is_limited() { return patience != nullptr; }

Status PipePatience::wait(int fd) {
  if (patience == nullptr) return ok_status();
  pollfd writer{fd, POLLIN, 0};
  while (::poll(&writer, 1, kAskEveryMs) <= 0) {
    if (patience->over_()) return {Code::kAborted, "interrupted while a pipe had nothing to read"};
  }
  return ok_status();
}

}  // namespace thalweg
