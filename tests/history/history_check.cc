// Checks what the clients of a job wrote down of it (history.h):
//   history_check FOLDER SHARDS STEPS BOUND|free [KILLS]
// FOLDER has a file `counts`, the rows at the end, and a file client-* for each client. Says each anomaly,
// the first 20 of a check, and last a line of JSON. KILLS is a file of moments, a line for each: of each it
// says for how many milliseconds nobody was answered then, and the shard that waited longest, and how many
// answers there were in the 5 seconds before and behind it. The exit code is 1 where there is an anomaly.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "history.h"

namespace thalweg {
namespace {

constexpr std::size_t kShown = 20;
constexpr HistoryTime kSecond = 1'000'000'000;

int fail(const Status& status) {
  fmt::print(stderr, "error: {}\n", status.message());
  return 2;
}

std::string told_of_kills(const char* path, const std::vector<SeenByClient>& clients) {
  const HistoryAnswers answers(clients);
  std::string told;
  std::ifstream in(path);
  for (HistoryTime at = 0; in >> at;) {
    const HistoryGap gap = answers.gap(at, 2 * kSecond);
    told += fmt::format("{}{{\"nobody_ms\":{:.3f},\"worst_shard_ms\":{:.3f},\"answers\":{}}}",
                        told.empty() ? "" : ",", static_cast<double>(gap.nobody) / 1e6,
                        static_cast<double>(gap.worst_shard) / 1e6,
                        answers.count(at - 5 * kSecond, at + 5 * kSecond));
  }
  return fmt::format(",\"seconds\":{:.3f},\"answers\":{},\"kills\":[{}]",
                     static_cast<double>(answers.last() - answers.first()) / 1e9,
                     answers.count(answers.first(), answers.last() + 1), told);
}

int main_of(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: history_check FOLDER SHARDS STEPS BOUND|free [KILLS]\n");
    return 2;
  }
  const std::string folder = argv[1], bound = argv[4];
  HistoryRules rules;
  rules.shards = static_cast<std::uint32_t>(std::atoi(argv[2]));
  rules.steps = static_cast<std::uint32_t>(std::atoi(argv[3]));
  if (bound != "free") rules.bound = static_cast<std::uint32_t>(std::atoi(bound.c_str()));
  std::vector<SeenByClient> clients;
  std::size_t pushes = 0, pulls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("client-")) continue;
    auto client = read_history(entry.path().string());
    if (!client) return fail(client.status());
    pushes += client->pushes.size();
    pulls += client->pulls.size();
    clients.push_back(*std::move(client));
  }
  const auto counts = read_counts(folder + "/counts");
  if (!counts) return fail(counts.status());
  const auto anomalies = check_history(rules, clients, *counts);
  if (!anomalies) return fail(anomalies.status());
  std::map<std::string, std::size_t> of_check;
  for (const Anomaly& anomaly : *anomalies) {
    if (++of_check[name_of(anomaly.check)] <= kShown)
      fmt::print("{}: {}\n", name_of(anomaly.check), anomaly.text);
  }
  fmt::print("{{\"clients\":{},\"pushes\":{},\"pulls\":{},\"anomalies\":{}{}}}\n", clients.size(), pushes,
             pulls, anomalies->size(), argc > 5 ? told_of_kills(argv[5], clients) : "");
  return anomalies->empty() ? 0 : 1;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) { return thalweg::main_of(argc, argv); }
