// The fabric of ranks that are processes of one machine and have a socket to each other already.
#pragma once

#include <memory>
#include <vector>

#include "net/group/group_fabric.h"
#include "net/shm/shm_peer.h"

namespace thalweg {

class ShmFabric final : public GroupFabric {
 public:
  // `sockets[r]` is connected to rank r, whose fabric is made at the same time; none for this rank.
  // `crowded`: ranks outnumber the cores that they may use.
  static Result<std::unique_ptr<ShmFabric>> create(ShmOptions options, std::vector<FileDescriptor> sockets,
                                                   Duration timeout, bool crowded);
  ~ShmFabric() override { drop_streams(); }

 private:
  ShmFabric(std::unique_ptr<ShmSelf> self, std::vector<std::unique_ptr<ShmPeer>> peers, bool crowded,
            FileDescriptor wake_fd);

  std::unique_ptr<ShmSelf> self_;
};

}  // namespace thalweg
