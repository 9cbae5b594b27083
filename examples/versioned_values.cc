// A list to which several programs add at once, at a ring of nodes some of which may die meanwhile:
//   versioned_values ADDR,ADDR,... SECRET_FILE [ITEM...]
// adds the items one by one, and shows the list. docs/quorum.md starts such a ring.
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "thalweg/quorum.h"

using namespace thalweg;

constexpr Key kList = 7;

void add_lines(const std::string& text, std::set<std::string>& items) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) items.insert(line);
}

std::string lines_of(const std::set<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += item + "\n";
  return text;
}

// What others put meanwhile stays beside it, and is merged by whoever gets both.
Status add(QuorumClient& client, const std::string& item) {
  std::set<std::string> items = {item};
  const Result<Versions> seen = client.get(kList);
  if (!seen) return seen.status();
  for (const std::string& version : seen->values) add_lines(version, items);  // Of all who put at once.
  if (Status status = client.put(kList, lines_of(items), seen->context); !status.ok()) return status;
  return ok_status();
}

Status run(int count, char** words) {
  if (count < 3) return {Code::kUsage, "expected ADDR,ADDR,... SECRET_FILE [ITEM...]"};
  QuorumClientOptions options;
  std::istringstream nodes(words[1]);
  for (std::string node; std::getline(nodes, node, ',');) options.ring.nodes.push_back(node);
  options.ring.secret_file = words[2];
  const auto client = QuorumClient::open(options);
  if (!client) return client.status();
  for (int i = 3; i < count; ++i) {
    if (Status status = add(**client, words[i]); !status.ok()) return status;
  }
  const Result<Versions> seen = (*client)->get(kList);
  if (!seen) return seen.status();
  std::set<std::string> items;
  for (const std::string& version : seen->values) add_lines(version, items);
  std::fputs(lines_of(items).c_str(), stdout);
  return ok_status();
}

int main(int count, char** words) {
  const Status status = run(count, words);
  if (!status.ok()) std::fprintf(stderr, "versioned_values: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
