// Word count with all-to-all: each rank counts the words of its own text, sends each word's count to the rank
// that owns the word, and adds up what it is sent.
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/group.h"

using thalweg::Group;
using Counts = std::map<std::string, std::uint64_t>;

// A word in a fixed number of bytes, so that it travels as numbers.
struct Entry {
  std::uint64_t letters[2] = {};
  std::uint64_t count = 0;
};
constexpr std::size_t kNumbers = sizeof(Entry) / sizeof(std::uint64_t);

static Entry pack(const std::string& word, std::uint64_t count) {
  Entry entry;
  for (std::size_t i = 0; i < word.size() && i < 16; ++i) {
    entry.letters[i / 8] |= std::uint64_t{static_cast<unsigned char>(word[i])} << (i % 8 * 8);
  }
  entry.count = count;
  return entry;
}
static std::string word_of(const Entry& entry) {
  std::string word;
  for (std::size_t i = 0; i < 16; ++i) {
    const char letter = static_cast<char>(entry.letters[i / 8] >> (i % 8 * 8) & 255);
    if (letter != 0) word += letter;
  }
  return word;
}

static thalweg::Status count_words(Group& group, const std::string& text, Counts& owned) {
  Counts mine;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++mine[word];

  std::vector<std::vector<Entry>> by_owner(group.size());
  for (const auto& [word, count] : mine)
    by_owner[std::hash<std::string>()(word) % group.size()].push_back(pack(word, count));
  std::vector<std::uint64_t> out, in_counts(group.size());
  std::vector<std::size_t> to(group.size()), from(group.size());
  for (std::size_t owner = 0; owner < group.size(); ++owner) {
    to[owner] = by_owner[owner].size() * kNumbers;
    for (const Entry& entry : by_owner[owner])
      out.insert(out.end(), {entry.letters[0], entry.letters[1], entry.count});
  }
  // How much comes from each rank, then what.
  std::vector<std::uint64_t> out_counts(to.begin(), to.end());
  if (auto status = group.all_to_all<std::uint64_t>(out_counts, in_counts); !status.ok()) return status;
  std::size_t total = 0;
  for (std::size_t rank = 0; rank < group.size(); ++rank) total += from[rank] = in_counts[rank];
  std::vector<std::uint64_t> in(total);
  if (auto status = group.all_to_all<std::uint64_t>(out, in, to, from); !status.ok()) return status;
  for (std::size_t i = 0; i < in.size(); i += kNumbers)
    owned[word_of({{in[i], in[i + 1]}, in[i + 2]})] += in[i + 2];
  return thalweg::ok_status();
}

int main() {
  const std::vector<std::string> texts = {"the river runs", "the deep line of the river", "line by line"};
  std::vector<Group> groups = Group::in_process(3);
  std::mutex mutex;
  Counts all;
  std::vector<std::thread> threads;
  for (Group& group : groups) {
    threads.emplace_back([&, mine = std::move(group)]() mutable {
      Counts owned;
      const thalweg::Status status = count_words(mine, texts[mine.rank()], owned);
      const std::lock_guard lock(mutex);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
      all.merge(owned);  // Each word has one owner.
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [word, count] : all)
    std::printf("%s %llu\n", word.c_str(), static_cast<unsigned long long>(count));
  return all == Counts{{"by", 1}, {"deep", 1}, {"line", 3}, {"of", 1}, {"river", 2}, {"runs", 1}, {"the", 3}}
             ? 0
             : 1;
}
