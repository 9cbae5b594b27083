#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "history.h"

namespace thalweg {
namespace {

Status bad_line(const std::string& path, std::size_t number, const char* expected) {
  return {Code::kData, fmt::format("{}:{}: expected {}", path, number, expected)};
}

// Each line that has its end.
template <typename Use>
Status each_line(const std::string& path, Use use) {
  std::ifstream in(path);
  if (!in) return {Code::kIo, fmt::format("{}: {}", path, std::strerror(errno))};
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) return ok_status();
    std::istringstream words(line);
    if (Status status = use(words, number); !status.ok()) return status;
  }
  return ok_status();
}

bool read_keys(std::istringstream& words, std::vector<std::uint64_t>& keys) {
  for (std::uint64_t key = 0; words >> key;) keys.push_back(key);
  return words.eof();
}

// "KEY COUNT... ; KEY COUNT... ;"
bool read_rows(std::istringstream& words, SeenPull& pull) {
  for (std::string word; words >> word;) {
    pull.keys.push_back(std::stoull(word));
    while (words >> word && word != ";") pull.counts.push_back(std::stof(word));
    if (word != ";") return false;
  }
  return !pull.keys.empty() && pull.counts.size() % pull.keys.size() == 0;
}

SeenPush* find_open(SeenByClient& seen, std::uint32_t shard, std::uint32_t step) {
  for (auto push = seen.pushes.rbegin(); push != seen.pushes.rend(); ++push) {
    if (push->shard == shard && push->step == step) return &*push;
  }
  return nullptr;
}

}  // namespace

Result<HistoryFile> HistoryFile::create(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) return Status(Code::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  return HistoryFile(file);
}

HistoryTime HistoryFile::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void HistoryFile::write(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fflush(file_.get());
}

void HistoryFile::begin_push(std::uint32_t shard, std::uint32_t step, std::span<const std::uint64_t> keys) {
  write(fmt::format("push {} {} {} {}\n", shard, step, now(), fmt::join(keys, " ")));
}

void HistoryFile::push_answered(std::uint32_t shard, std::uint32_t step) {
  write(fmt::format("answered {} {} {}\n", shard, step, now()));
}

void HistoryFile::pulled(const SeenPull& pull) {
  std::string line = fmt::format("pull {} {} {} {}", pull.shard, pull.step, pull.begun, pull.ended);
  const std::size_t columns = pull.keys.empty() ? 0 : pull.counts.size() / pull.keys.size();
  for (std::size_t i = 0; i < pull.keys.size(); ++i) {
    line += fmt::format(" {}", pull.keys[i]);
    for (std::size_t c = 0; c < columns; ++c) line += fmt::format(" {}", pull.counts[i * columns + c]);
    line += " ;";
  }
  write(line + "\n");
}

Result<SeenByClient> read_history(const std::string& path) {
  SeenByClient seen;
  seen.name = path.substr(path.rfind('/') + 1);
  const Status status = each_line(path, [&](std::istringstream& words, std::size_t number) -> Status {
    std::string what;
    std::uint32_t shard = 0, step = 0;
    HistoryTime at = 0;
    if (!(words >> what >> shard >> step >> at)) return bad_line(path, number, "WHAT SHARD STEP TIME");
    if (what == "push") {
      SeenPush push{shard, step, at, kNotYet, {}};
      if (!read_keys(words, push.keys)) return bad_line(path, number, "keys");
      seen.pushes.push_back(std::move(push));
    } else if (what == "answered") {
      SeenPush* const push = find_open(seen, shard, step);
      if (push == nullptr) return bad_line(path, number, "an answer to a push that was begun");
      push->answered = at;
    } else if (what == "pull") {
      SeenPull pull{shard, step, at, 0, {}, {}};
      if (!(words >> pull.ended) || !read_rows(words, pull)) return bad_line(path, number, "rows");
      seen.pulls.push_back(std::move(pull));
    } else {
      return bad_line(path, number, "push, answered or pull");
    }
    return ok_status();
  });
  if (!status.ok()) return status;
  return seen;
}

Result<FinalCounts> read_counts(const std::string& path) {
  FinalCounts counts;
  const Status status = each_line(path, [&](std::istringstream& words, std::size_t number) -> Status {
    std::uint64_t key = 0;
    if (!(words >> key)) return bad_line(path, number, "KEY COUNT...");
    for (float count = 0; words >> count;) counts[key].push_back(count);
    return words.eof() ? ok_status() : bad_line(path, number, "counts");
  });
  if (!status.ok()) return status;
  return counts;
}

}  // namespace thalweg
