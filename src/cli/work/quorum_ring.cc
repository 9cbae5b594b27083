#include "cli/work/quorum_ring.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <vector>

#include "base/hint.h"
#include "cli/options/option_table.h"

namespace thalweg {
namespace {

constexpr std::size_t kRingFileLinesMax = 10'000;

// Blank lines and those that begin with # are none.
Result<std::vector<std::string>> nodes_in_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status{Code::kUsage, fmt::format("--ring {}: no such file, and no address; expected "
                                            "HOST:PORT,HOST:PORT,... or a file with one of them on each line",
                                            path)};
  }
  std::vector<std::string> nodes;
  std::string line;
  for (std::size_t lines = 0; std::getline(file, line); ++lines) {
    if (lines == kRingFileLinesMax)
      return Status{Code::kUsage, fmt::format("--ring {}: more than {} lines", path, kRingFileLinesMax)};
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    nodes.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return nodes;
}

}  // namespace

Result<QuorumRing> asked_ring(const Options& options) {
  const auto text = options.maybe_text("ring");
  if (!text) {
    return with_hint(
        {Code::kUsage,
         fmt::format("thalweg {} needs --ring ADDR,ADDR,..., the nodes of the ring", options.command().path)},
        options.command().example);
  }
  QuorumRing ring;
  if (text->find(':') == text->npos) {
    auto nodes = nodes_in_file(*text);
    if (!nodes) return nodes.status();
    ring.nodes = *std::move(nodes);
  } else {
    for (const std::string_view node : split(*text, ',')) ring.nodes.emplace_back(node);
  }
  ring.secret_file = options.maybe_text("secret-file").value_or("");
  ring.insecure_no_auth = options.flag("insecure-no-auth");
  return ring;
}

Result<QuorumClientOptions> asked_ring_client(const Options& options) {
  auto ring = asked_ring(options);
  if (!ring) return ring.status();
  QuorumClientOptions client;
  client.ring = *std::move(ring);
  client.deadline = options.duration("ring-timeout");
  return client;
}

Result<Key> asked_key(std::string_view text) {
  Key key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (error == std::errc{} && end == text.data() + text.size() && key != kReservedKey) return key;
  return Status{Code::kUsage,
                fmt::format("'{}' is no key; expected a whole number from 0 to 18446744073709551614", text)};
}

}  // namespace thalweg
