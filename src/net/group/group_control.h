// What the processes of a group tell each other besides their streams: that one ends well, what each is
// doing, and because of whom operations cannot end. A thread of its own answers while the rank computes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "group/control.h"
#include "net/group/call_board.h"
#include "net/live_fabric.h"
#include "net/socket/file_descriptor.h"

namespace thalweg {

// From any thread.
class GroupControl final : public CallBoard {
 public:
  // `sockets[r]` is connected to rank r; none for this rank. `wake_fd`: an eventfd. `on_failed` is called
  // once, from the thread.
  GroupControl(std::uint32_t rank, std::vector<FileDescriptor> sockets, FileDescriptor wake_fd,
               Duration patience, std::function<void()> on_failed);
  ~GroupControl() override;  // Says goodbye, so that this rank's end is no failure.
  GroupControl(const GroupControl&) = delete;
  GroupControl& operator=(const GroupControl&) = delete;

  // Around each operation, which has a number then.
  std::uint64_t enter() { return entered_.fetch_add(1, std::memory_order_relaxed) + 1; }
  void leave(std::uint64_t operation) {
    if (told_in_.load(std::memory_order_relaxed) == operation) told_in_.store(0, std::memory_order_relaxed);
    left_.fetch_add(1, std::memory_order_relaxed);
  }
  // Instead of both, for one that never waits. Callers take turns.
  void pass() { passed_.store(passed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  // Says whom this rank waits for in the longest of its operations; again at least every kTellEvery while it
  // does.
  void tell(std::uint64_t operation, std::uint32_t waits_for, std::string doing);
  static constexpr Duration kTellEvery = Control::kTellEvery;

  // The time of an operation is up: finds the rank because of which, and tells all. Blocks, a few times the
  // patience.
  Verdict accuse(std::uint32_t waits_for, std::string doing);
  // The streams from `peer` ended, as `why` says: because of whom? What it had to say may still be on its
  // way, so this blocks until that has come, for the patience at most.
  Verdict explain_loss(std::uint32_t peer, Status why);
  // This rank ends an operation with an error; `guilty` may be itself.
  void give_up(std::uint32_t guilty, Status why);

  // Whether operations among all ranks cannot end any more; verdict() says because of whom.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Verdict verdict() const;                 // Precondition: failed().
  bool is_gone(std::uint32_t peer) const;  // It left, or is lost.
  // Is not to be in the group when it forms anew.
  bool is_out(std::uint32_t peer) const;
  // This rank forms the group anew without `peer`; others did so without this one.
  void leave_out(std::uint32_t peer);
  bool was_left_out() const;

  void show(std::uint32_t peer, const CallNote& note) override;
  std::optional<Verdict> ask(std::uint32_t peer, const CallNote& note) override;
  void judge(Verdict verdict) override { give_up(verdict.guilty, std::move(verdict.status)); }
  std::optional<Verdict> found() const override;

 private:
  struct Peer {
    FileDescriptor socket;
    std::vector<std::byte> in;
    std::vector<std::byte> out;
  };
  void run();
  void sleep();
  void hear(std::uint32_t rank);
  void on_message(std::uint32_t from, std::span<const std::byte> message);
  void put(std::uint32_t to, const Bytes& message);
  void flush(std::uint32_t rank);
  void lose(std::uint32_t rank, const std::string& why);
  void after_change();
  void wake() const;
  Verdict await_verdict(std::unique_lock<std::mutex>& lock);
  Activity activity() const;

  const std::function<void()> on_failed_;
  const FileDescriptor wake_fd_;
  std::atomic<std::uint64_t> entered_{0};
  std::atomic<std::uint64_t> left_{0};
  std::atomic<std::uint64_t> passed_{0};
  std::atomic<std::uint64_t> told_in_{0};  // The operation that tell() spoke of, while it lasts.
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  Control control_;
  std::vector<Peer> peers_;
  bool stopping_ = false;
  bool failure_told_ = false;
  std::thread thread_;
};

}  // namespace thalweg
