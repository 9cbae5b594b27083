// Ranks on this machine that measure among themselves: threads, or copies of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "thalweg/group.h"

namespace thalweg {

// Runs `body` once a rank, each with its group, over "shm", "tcp" or "inproc" (threads). This process, or
// thread, is rank 0; its status is returned. The others end with it. `costs_file`: GroupOptions' own, of
// processes.
Status run_local_ranks(std::uint32_t ranks, std::string_view transport,
                       const std::function<Status(Group& group)>& body, const std::string& costs_file = {});

}  // namespace thalweg
