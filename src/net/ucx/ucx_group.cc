#include "net/ucx/ucx_group.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "net/live_fabric.h"
#include "net/ucx/ucx_streams.h"

namespace thalweg {
namespace {

class PresentUcxGroup final : public UcxGroup {
 public:
  PresentUcxGroup(std::uint32_t rank, std::uint32_t ranks, std::unique_ptr<UcxPort> port)
      : rank_(rank), streams_(ranks), names_(ranks), port_(std::move(port)) {}

  Result<std::vector<std::byte>> address() const override { return port_->address(); }

  Result<std::unique_ptr<PairStreams>> connect(std::uint32_t peer, std::string name, bool local,
                                               std::span<const std::byte> address) override {
    const std::lock_guard lock(port_->mutex());
    const bool leads = peer == (rank_ == 0 ? 1U : 0U);
    auto streams = std::make_unique<UcxStreams>(rank_, peer, name, leads, *port_);
    if (Status made = port_->connect(peer, address, local, *streams); !made.ok()) {
      return Status(made.code(), fmt::format("{} cannot be reached: {}", name, made.message()));
    }
    streams_[peer] = streams.get();
    names_[peer] = std::move(name);
    return std::unique_ptr<PairStreams>(std::move(streams));
  }

  Status greet(Instant deadline) override {
    const std::lock_guard lock(port_->mutex());
    for_all([](std::uint32_t, UcxStreams& peer) { peer.greet(); });
    for (;;) {
      Status status;
      bool met = true;
      for_all([&](std::uint32_t peer, const UcxStreams& streams) {
        // One that has greeted may have left again.
        if (streams.greeted() && (!streams.loss().ok() || port_->under_way(peer) == 0)) return;
        met = false;
        if (status.ok()) status = streams.loss();
        if (status.ok() && live_now() >= deadline)
          status = Status(Code::kTimeout, names_[peer] + " was not reached over UCX in time");
      });
      if (met || !status.ok()) return status;
      port_->wait(deadline);
    }
  }

  void leave(Instant deadline, const std::function<bool(std::uint32_t)>& is_gone) override {
    const std::lock_guard lock(port_->mutex());
    const auto goes = [&](std::uint32_t peer, const UcxStreams& streams) {
      return streams.loss().ok() && !is_gone(peer);
    };
    for (bool waits = true; waits && live_now() < deadline;) {
      waits = false;
      for_all([&](std::uint32_t peer, const UcxStreams& streams) {
        waits = waits || (port_->under_way(peer) > 0 && goes(peer, streams));
      });
      if (waits) port_->wait(deadline);
    }
    for_all([&](std::uint32_t peer, UcxStreams& streams) {
      if (goes(peer, streams)) streams.leave();
    });
  }

 private:
  template <class Visit>
  void for_all(const Visit& visit) {
    for (std::uint32_t peer = 0; peer < streams_.size(); ++peer) {
      if (streams_[peer]) visit(peer, *streams_[peer]);
    }
  }

  const std::uint32_t rank_;
  std::vector<UcxStreams*> streams_;  // By peer.
  std::vector<std::string> names_;
  std::unique_ptr<UcxPort> port_;
};

}  // namespace

Status UcxGroup::available() { return UcxLibrary::load().status(); }

Result<std::unique_ptr<UcxGroup>> UcxGroup::open(std::uint32_t rank, std::uint32_t ranks, bool loopback) {
  Result<std::unique_ptr<UcxPort>> port = UcxPort::open(ranks, loopback);
  if (!port) return port.status();
  return std::unique_ptr<UcxGroup>(new PresentUcxGroup(rank, ranks, *std::move(port)));
}

}  // namespace thalweg
