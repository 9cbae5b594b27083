// Counts the words of the files given, or of a text of its own: threads of the application push, nobody
// pulls.
//   word_count [FILE...]
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/job.h"

using namespace thalweg;

constexpr TableId kCounts{0};
constexpr std::size_t kBatch = 1000;

const char* const kText =
    "the river runs to the sea and the sea does not fill the deepest line of a valley is where the water "
    "goes and where the water goes the boats go too";

std::vector<std::string> words_of(std::istream& in) {
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    std::erase_if(word, [](unsigned char c) { return std::isalnum(c) == 0; });
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

Key key_of(const std::string& word) { return std::hash<std::string>{}(word) >> 1; }

// Pushes the words in batches. A word that comes twice in a batch is one key, whose counts add up.
Status count(BlockingStore store, const std::vector<std::string>& words) {
  for (std::size_t begin = 0; begin < words.size(); begin += kBatch) {
    const std::size_t end = std::min(words.size(), begin + kBatch);
    std::vector<Key> batch(end - begin);
    std::transform(words.begin() + static_cast<std::ptrdiff_t>(begin),
                   words.begin() + static_cast<std::ptrdiff_t>(end), batch.begin(), key_of);
    std::vector<std::uint32_t> at;
    const Keys keys = Keys::of(batch, &at);
    std::vector<float> counts(keys.size());
    for (const std::uint32_t i : at) counts[i] += 1;
    if (Status status = store.push(kCounts, keys, Rows(std::move(counts))); !status.ok()) return status;
    if (Status status = store.advance(); !status.ok()) return status;
  }
  return store.end_work();
}

int main(int argc, char** argv) {
  std::vector<std::vector<std::string>> texts;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    if (!file) return std::fprintf(stderr, "%s: cannot be read\n", argv[i]), 1;
    texts.push_back(words_of(file));
  }
  std::istringstream own(kText);
  if (texts.empty()) texts.push_back(words_of(own));

  JobOptions options;
  options.servers = 2;
  options.data_shards = static_cast<std::uint32_t>(texts.size());
  options.consistency = Consistency::async();
  options.tables.resize(1);
  options.tables[0].name = "counts";  // Its rule is to add, unless another is named.
  auto job = Job::start(options);
  if (!job) return std::fprintf(stderr, "%s\n", job.status().message().c_str()), 1;

  std::vector<Status> ended(texts.size());
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < texts.size(); ++i)
    threads.emplace_back([&, i] { ended[i] = count(job->shard(ShardId{i}), texts[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : ended)
    if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;

  std::map<Key, std::string> names;
  double expected = 0, total = 0;
  for (const auto& text : texts) {
    for (const std::string& word : text) names[key_of(word)] = word;
    expected += static_cast<double>(text.size());
  }
  std::vector<std::pair<float, std::string>> top;
  const Status seen = job->scan(kCounts, [&](Key key, std::span<const float> row) {
    total += row[0];
    top.emplace_back(row[0], names[key]);
  });
  if (!seen.ok()) return std::fprintf(stderr, "%s\n", seen.message().c_str()), 1;
  std::sort(top.rbegin(), top.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(top.size(), 10); ++i)
    std::printf("%8.0f  %s\n", top[i].first, top[i].second.c_str());
  std::printf("%8.0f  words in all, %zu different\n", total, top.size());
  return total == expected && top.size() == names.size() ? 0 : 1;
}
