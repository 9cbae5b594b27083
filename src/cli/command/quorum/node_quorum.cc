// node quorum: a node of a ring of versioned values.
#include <algorithm>

#include "cli/command/command.h"
#include "cli/options/memory_limit.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/signals.h"
#include "cli/view/output.h"
#include "cli/work/quorum_ring.h"

namespace thalweg {
namespace {

constexpr std::string_view kRingGroup = "Ring";

constexpr OptionRow kNodeQuorumRows[] = {
    {.name = "ring-number",
     .type = OptionType::kInt,
     .group = kRingGroup,
     .help = "Which of the ring's nodes this is, from 0; unset is the one at --listen",
     .example = "1",
     .placeholder = "I",
     .low = 0,
     .high = 255,
     .flag = "number"},
    {.name = "ring-replicas",
     .type = OptionType::kInt,
     .group = kRingGroup,
     .help = "Nodes that have each key (N), its homes; unset is 3, or all where there are fewer",
     .example = "3",
     .placeholder = "N",
     .low = 1,
     .high = 5,
     .flag = "replicas"},
    {.name = "ring-read",
     .type = OptionType::kInt,
     .group = kRingGroup,
     .help = "Homes that answer a get (R); unset is more than half of them",
     .example = "2",
     .placeholder = "R",
     .low = 1,
     .high = 5,
     .flag = "read"},
    {.name = "ring-write",
     .type = OptionType::kInt,
     .group = kRingGroup,
     .help = "Homes that have a put before it is answered (W); unset is more than half of them",
     .example = "2",
     .placeholder = "W",
     .low = 1,
     .high = 5,
     .flag = "write"},
    {.name = "sloppy",
     .type = OptionType::kFlag,
     .group = kRingGroup,
     .help = "Who stands in for a home counts as one: puts go on while one home lives, and gets may be old",
     .example = ""},
    {.name = "ring-deadline",
     .type = OptionType::kDuration,
     .group = kRingGroup,
     .help = "Longest time for one request, after which it fails and says who did not answer",
     .example = "500ms",
     .fallback = "1s",
     .placeholder = "SECONDS",
     .low = 0.01,
     .high = 3600,
     .flag = "deadline"},
    {.name = "ring-patience",
     .type = OptionType::kDuration,
     .group = kRingGroup,
     .help = "Pass over a node that has not answered for so long",
     .example = "100ms",
     .fallback = "200ms",
     .placeholder = "SECONDS",
     .low = 0.001,
     .high = 3600,
     .flag = "patience"},
    {.name = "compare-every",
     .type = OptionType::kDuration,
     .group = kRingGroup,
     .help = "Time from one comparison with another node to the next; hints are handed over as often",
     .example = "10s",
     .fallback = "1s",
     .placeholder = "SECONDS",
     .low = 0.01,
     .high = 3600},
    {.name = "hints-max",
     .type = OptionType::kInt,
     .group = kRingGroup,
     .help = "Most keys to keep for nodes that are away",
     .example = "10000",
     .fallback = "65536",
     .placeholder = "COUNT",
     .low = 0,
     .high = 1e8},
    {.name = "ring-memory",
     .type = OptionType::kText,
     .group = kRingGroup,
     .help = "Most memory for versions and hints; above it puts are refused",
     .example = "8G",
     .fallback = "1Gi",
     .placeholder = "SIZE",
     .flag = "memory"},
    {.name = "ring-state",
     .type = OptionType::kText,
     .group = kRingGroup,
     .help = "Directory for a log of what the node has; unset, that ends with the process",
     .example = "node-0",
     .placeholder = "DIR",
     .flag = "state"},
};

std::uint32_t count_or_unset(const Options& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.maybe_integer(name).value_or(0));
}

Status run_node_quorum(const Options& options, Output& out) {
  auto ring = asked_ring(options);
  if (!ring) return ring.status();
  QuorumNodeOptions node;
  node.ring = *std::move(ring);
  node.listen = options.maybe_text("listen").value_or("");
  if (const auto number = options.maybe_integer("ring-number"))
    node.number = static_cast<std::uint32_t>(*number);
  node.replicas = count_or_unset(options, "ring-replicas");
  node.read = count_or_unset(options, "ring-read");
  node.write = count_or_unset(options, "ring-write");
  node.sloppy = options.flag("sloppy");
  node.deadline = options.duration("ring-deadline");
  node.patience = options.duration("ring-patience");
  node.compare_every = options.duration("compare-every");
  node.hints_max = static_cast<std::uint32_t>(options.integer("hints-max"));
  const auto memory = parse_memory(options.text("ring-memory"));
  if (!memory) return memory.status();
  node.bytes_max = *memory;
  node.state = options.maybe_text("ring-state").value_or("");
  if (node.ring.insecure_no_auth) {
    out.warn("--insecure-no-auth: whoever is on the way to this node can read and change the values");
  }
  node.log = [&out](const std::string& line) { out.note(line); };
  node.stop = &catch_own_interrupts();
  return run_quorum_node(node);
}

}  // namespace

extern constinit const Command kNodeQuorumCommand = {
    .path = "node quorum",
    .summary = "Run one node of a ring that keeps versioned values by quorums",
    .example =
        "thalweg node quorum --ring 127.0.0.1:7201,127.0.0.1:7202,127.0.0.1:7203 --listen 127.0.0.1:7201",
    .run = run_node_quorum,
    .options = {kRingOptions, "listen"},
    .own = kNodeQuorumRows,
};

}  // namespace thalweg
