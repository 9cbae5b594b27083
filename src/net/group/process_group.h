// A rank's place in a group of processes: its streams to the others, and what they tell each other besides.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "net/group/group_connector.h"
#include "net/group/group_control.h"
#include "net/group/group_fabric.h"
#include "net/shm/shm_peer.h"
#include "net/ucx/ucx_group.h"
#include "thalweg/group_options.h"
#include "thalweg/status.h"

namespace thalweg {

class ProcessGroup final : public GroupFabric {
 public:
  // Connects this rank with all others, each by the transport that suits the pair.
  static Result<std::unique_ptr<ProcessGroup>> connect(const GroupOptions& options, Meeting meeting,
                                                       std::shared_ptr<GroupAcceptor> acceptor,
                                                       Instant deadline);
  ~ProcessGroup() override;

  std::uint32_t rank() const { return connector_.rank(); }
  std::uint32_t size() const { return connector_.size(); }
  std::vector<RankPlace> places() const override { return connector_.places(); }

  // The group without those who are lost, were given up, have left or do not come in time; ranks keep their
  // order. All that remain call it; the lowest of them leads. This group is not used afterwards.
  Result<std::unique_ptr<ProcessGroup>> regroup(Duration timeout);

  bool any_lost() override;
  Status peer_status(std::uint32_t peer) override;
  GroupControl* control() override { return control_.get(); }
  CallBoard* calls() override { return control_.get(); }

 private:
  ProcessGroup(const GroupOptions& options, GroupConnector connector, FileDescriptor wake_fd);
  Status connect_all(Instant deadline);
  Status begin_streams(std::uint32_t peer, const RankConnection& control, RankConnection& local,
                       Instant deadline);
  Status share_memory(std::vector<RankConnection> connections, Instant deadline);
  Status connect_over_ucx(const std::vector<FileDescriptor>& control, Instant deadline);
  std::unique_ptr<PairStreams> tcp_streams(std::uint32_t peer, RankConnection first);
  Instant watch_others(std::vector<pollfd>& watched) override;

  GroupOptions options_;
  GroupConnector connector_;
  std::unique_ptr<ShmSelf> shared_;  // Null where this rank shares memory with none.
  std::unique_ptr<UcxGroup> ucx_;    // Null where streams are not UCX's.
  bool awaits_callers_ = false;      // A channel was used that its peer has yet to open.
  std::unique_ptr<GroupControl> control_;
};

}  // namespace thalweg
