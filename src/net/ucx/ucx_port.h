// A rank's place in UCX's network: a worker with one endpoint for each peer, and active messages between
// them.
#pragma once

#include <poll.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/instant.h"
#include "net/ucx/ucx_library.h"
#include "thalweg/status.h"

namespace thalweg {

// Before the bytes of each message, as it lies in memory: UCX itself connects no machines of unlike byte
// order.
struct UcxHeader {
  enum class Kind : std::uint8_t { kHello, kData, kRoom, kFarewell };
  std::uint32_t from = 0;  // The sender's rank.
  std::uint16_t channel = 0;
  Kind kind = Kind::kHello;
  std::uint8_t zero = 0;
  std::uint64_t at = 0;  // What it means depends on the kind.
};
static_assert(sizeof(UcxHeader) == 16);

// One peer, to whom the port tells what comes from it.
class UcxPeer {
 public:
  virtual ~UcxPeer() = default;
  // Where `size` bytes go, which is above 0; null when no peer sends that.
  virtual std::byte* place(const UcxHeader& header, std::size_t size) = 0;
  // It has come, and its bytes are where place() said.
  virtual void on_message(const UcxHeader& header, std::size_t size) = 0;
  virtual void on_loss(const std::string& why) = 0;  // Nothing comes or goes any more.
};

class UcxPort {
 public:
  // `loopback`: no other machine shall reach it. Errors: kUsage without the library, else kIo.
  static Result<std::unique_ptr<UcxPort>> open(std::uint32_t ranks, bool loopback);
  ~UcxPort();  // Endpoints end in good order where they can; peers are still told.
  // To be held in all that follows, and in calls of its peers. A thread makes progress with messages that are
  // under way while the rank does something else.
  std::mutex& mutex() { return mutex_; }
  UcxPort(const UcxPort&) = delete;
  UcxPort& operator=(const UcxPort&) = delete;

  Result<std::vector<std::byte>> address() const;
  // `peer` outlives the port. `local`: it runs on this machine, where UCX uses shared memory if it may.
  Status connect(std::uint32_t rank, std::span<const std::byte> address, bool local, UcxPeer& peer);
  // `data` stays until the message has gone, or the port. A failure is the peer's loss.
  void send(std::uint32_t rank, const UcxHeader& header, const std::byte* data = nullptr,
            std::size_t size = 0);
  // Messages to the peer that have not left this rank.
  std::uint32_t under_way(std::uint32_t rank) const { return endpoints_[rank].under_way; }

  void progress();
  // Whether poll() on fd() would miss nothing from now on, until the next call.
  bool arm();
  // Around the poll(), which is the rank's own.
  void set_asleep(bool asleep);
  int fd() const { return fd_; }
  // Makes progress until then, or a little; sleeps when there is none to make.
  void wait(Instant until);

 private:
  struct Endpoint {
    ucp_ep_h ep = nullptr;
    UcxPeer* peer = nullptr;
    bool lost = false;
    std::uint32_t under_way = 0;
  };
  // A message until UCX has done with it.
  struct Pending {
    UcxPort* port = nullptr;
    std::uint32_t rank = 0;  // Of the peer.
    UcxHeader header;
  };
  UcxPort(const UcxLibrary& library, std::uint32_t ranks) : ucx_(library), endpoints_(ranks) {}
  Status start(bool loopback);
  Status failed(const char* what, ucs_status_t status) const;
  void lose(std::uint32_t rank, ucs_status_t status);
  void close_endpoints();
  void take(const UcxHeader& header, const void* data, std::size_t size);
  void on_sent(Pending* pending, ucs_status_t status);
  void begin_pushing();
  void push();

  const UcxLibrary ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int fd_ = -1;
  std::vector<Endpoint> endpoints_;  // By rank.
  std::deque<Pending> pending_;      // All that there ever were; used again and again.
  std::vector<Pending*> unused_;
  std::uint64_t all_under_way_ = 0;
  std::uint64_t turns_ = 0;  // Of progress().
  bool armed_ = false;
  bool asleep_ = false;
  bool pushes_ = false;  // The thread looks after messages that are under way.
  bool stopping_ = false;
  std::mutex mutex_;  // Guards all of it.
  std::condition_variable changed_;
  std::thread pusher_;
};

}  // namespace thalweg
