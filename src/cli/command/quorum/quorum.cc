// quorum get, put and status: a client of a ring of versioned values.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/view/printable.h"
#include "cli/work/quorum_ring.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

constexpr OptionRow kPutRows[] = {
    {.name = "put-context",
     .type = OptionType::kText,
     .group = "Ring",
     .help = "What a get of the key has given, '' where it has shown nothing: the put takes the place of all "
             "that it showed",
     .example = "7/0.5f3a2b1c:3",
     .placeholder = "CONTEXT",
     .flag = "context",
     .may_be_empty = true},
};

// What is no UTF-8 in hexadecimal digits.
ordered_json value_json(const std::string& value) {
  ordered_json out;
  if (printable(value, "\t\n\r") == value) {
    out["value"] = value;
    return out;
  }
  std::string hex;
  for (const char c : value) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  out["hex"] = hex;
  return out;
}

Status run_quorum_get(const Options& options, Output& out) {
  const auto asked = asked_ring_client(options);
  if (!asked) return asked.status();
  const auto key = asked_key(options.arguments()[0]);
  if (!key) return key.status();
  const auto client = QuorumClient::open(*asked);
  if (!client) return client.status();
  const auto versions = (*client)->get(*key);
  if (!versions) return versions.status();
  ordered_json values = ordered_json::array();
  std::string text;
  for (const std::string& value : versions->values) {
    values.push_back(value_json(value));
    text += fmt::format("value    {}\n", printable(value));
  }
  if (values.empty()) text = fmt::format("key {} has no value\n", *key);
  if (!values.empty()) text += fmt::format("context  {}\n", versions->context);
  if (values.size() > 1) {
    text += fmt::format("{} versions stand side by side; a put with this context takes the place of all\n",
                        values.size());
  }
  out.human(text);
  out.json({{"key", *key}, {"versions", values}, {"context", versions->context}});
  return ok_status();
}

// "-": all of standard input.
Result<std::string> asked_value(const std::string& word) {
  if (word != "-") return word;
  std::string value;
  char piece[65536];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, stdin)) {
    value.append(piece, got);
    if (value.size() > kVersionedValueBytesMax) break;  // Which the client refuses.
  }
  if (std::ferror(stdin) != 0) return Status{Code::kIo, "standard input cannot be read"};
  return value;
}

Status run_quorum_put(const Options& options, Output& out) {
  const auto asked = asked_ring_client(options);
  if (!asked) return asked.status();
  const auto key = asked_key(options.arguments()[0]);
  if (!key) return key.status();
  const auto value = asked_value(options.arguments()[1]);
  if (!value) return value.status();
  const auto client = QuorumClient::open(*asked);
  if (!client) return client.status();
  if (Status status = (*client)->put(*key, *value, options.maybe_text("put-context").value_or(""));
      !status.ok())
    return status;
  out.human(fmt::format("key {} has it, {} bytes\n", *key, value->size()));
  out.json({{"key", *key}, {"bytes", value->size()}});
  return ok_status();
}

ordered_json node_json(const QuorumNodeStatus& node) {
  ordered_json out = {{"node", node.number}, {"address", node.address}, {"answers", node.answers}};
  if (!node.why.empty()) out["why"] = node.why;
  if (!node.answers) return out;
  out["ring"] = fmt::format("{:016x}", node.ring);
  out.update(
      {{"replicas", node.replicas}, {"read", node.read}, {"write", node.write}, {"sloppy", node.sloppy}});
  out.update({{"as_named", node.as_named},
              {"complete", node.complete},
              {"keys", node.keys},
              {"bytes", node.bytes},
              {"hints", node.hints}});
  out.update({{"open", node.open}, {"silent", node.silent}, {"puts", node.puts}, {"gets", node.gets}});
  out.update({{"failed", node.failed}, {"refused", node.refused}, {"hints_kept", node.hints_kept}});
  out.update({{"hints_delivered", node.hints_delivered}, {"repaired", node.repaired}});
  out.update({{"synced", node.synced}, {"restored", node.restored}});
  return out;
}

// Nodes that were told different rings do not hear each other.
void warn_of_other_rings(const std::vector<QuorumNodeStatus>& nodes, Output& out) {
  std::map<std::uint64_t, std::string> told;
  for (const QuorumNodeStatus& node : nodes) {
    if (!node.answers) continue;
    std::string& names = told[node.ring];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", node.number);
  }
  if (told.size() < 2) return;
  std::string all;
  for (const auto& [ring, names] : told) all += fmt::format("{}{}", all.empty() ? "" : " and ", names);
  out.warn(
      fmt::format("these nodes were told different rings, and do not hear each other: {}; all are to be "
                  "told the same nodes, in the same order, and the same counts",
                  all));
}

// Nodes that --ring leaves out are not asked, and nobody would miss them in the table.
void warn_of_unnamed_nodes(const std::vector<QuorumNodeStatus>& nodes, Output& out) {
  std::string names;
  for (const QuorumNodeStatus& node : nodes) {
    if (node.answers && !node.as_named) names += fmt::format("{}{}", names.empty() ? "" : ", ", node.number);
  }
  if (names.empty()) return;
  out.warn(
      fmt::format("--ring is not, word for word, the ring that nodes {} were told; nodes that it leaves "
                  "out are not shown here",
                  names));
}

Status run_quorum_status(const Options& options, Output& out) {
  const auto asked = asked_ring_client(options);
  if (!asked) return asked.status();
  const auto nodes = quorum_status(*asked);
  if (!nodes) return nodes.status();
  std::string text = fmt::format("{:<5} {:<22} {:<9} {:<8} {:>9} {:>12} {:>7} {:>10} {:>10}\n", "node",
                                 "address", "state", "N,R,W", "keys", "bytes", "hints", "puts", "gets");
  ordered_json list = ordered_json::array();
  for (const QuorumNodeStatus& node : *nodes) {
    list.push_back(node_json(node));
    text += fmt::format("{:<5} {:<22} ", node.number, node.address);
    if (!node.answers) {
      text += node.why.empty() ? "away" : "away      " + printable(node.why);
    } else {
      text +=
          fmt::format("{:<9} {:<8} {:>9} {:>12} {:>7} {:>10} {:>10}", node.complete ? "whole" : "restores",
                      fmt::format("{},{},{}", node.replicas, node.read, node.write), node.keys, node.bytes,
                      node.hints, node.puts, node.gets);
    }
    text += "\n";
  }
  out.human(text);
  warn_of_other_rings(*nodes, out);
  warn_of_unnamed_nodes(*nodes, out);
  out.json({{"nodes", list}});
  return ok_status();
}

}  // namespace

extern constinit const Command kQuorumGetCommand = {
    .path = "quorum get",
    .summary = "Get all versions of a key that a ring keeps, and the context that a put in their place needs",
    .example = "thalweg quorum get 7 --ring 127.0.0.1:7201,127.0.0.1:7202,127.0.0.1:7203",
    .run = run_quorum_get,
    .options = {kRingOptions, "ring-timeout"},
    .arguments = "KEY",
    .arguments_min = 1,
    .arguments_max = 1,
};

extern constinit const Command kQuorumPutCommand = {
    .path = "quorum put",
    .summary = "Put a value of a key into a ring, beside or in place of the versions that it has",
    .example = "thalweg quorum put 7 hello --ring 127.0.0.1:7201,127.0.0.1:7202,127.0.0.1:7203",
    .run = run_quorum_put,
    .options = {kRingOptions, "ring-timeout"},
    .own = kPutRows,
    .arguments = "KEY VALUE",
    .arguments_min = 2,
    .arguments_max = 2,
};

extern constinit const Command kQuorumStatusCommand = {
    .path = "quorum status",
    .summary = "Show how each node of a ring of versioned values is, and what it keeps",
    .example = "thalweg quorum status --ring 127.0.0.1:7201,127.0.0.1:7202,127.0.0.1:7203",
    .run = run_quorum_status,
    .options = {kRingOptions, "ring-timeout"},
};

}  // namespace thalweg
