// Makes a group of processes: they meet, and each pair gets the transport that suits it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/machine_costs.h"
#include "net/group/process_group.h"
#include "thalweg/group_options.h"
#include "thalweg/status.h"

namespace thalweg {

Result<GroupTransport> parse_group_transport(std::string_view name);  // "auto", "shm", "tcp", "ucx"
const char* group_transport_name(GroupTransport transport);

// Blocks until all ranks are there. `costs`: of this machine, and `measured_routes`: RankPlace's own, which
// all ranks are told. Errors name the ranks that are missing or why this one was refused.
Result<std::unique_ptr<ProcessGroup>> form_group(const GroupOptions& options, const MachineCosts& costs = {},
                                                 std::uint64_t measured_routes = 0);

}  // namespace thalweg
