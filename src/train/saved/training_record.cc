#include "train/saved/training_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/hash/hash.h"

namespace thalweg {
namespace {

std::string date_of_now() {
  std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  if (const char* const told = std::getenv("SOURCE_DATE_EPOCH")) {
    std::int64_t number = 0;
    const auto read = std::from_chars(told, told + std::strlen(told), number);
    if (read.ec == std::errc() && *read.ptr == '\0') seconds = static_cast<std::time_t>(number);
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

// Of up to kTrainedFileEnd bytes from `at`; empty where they cannot be read.
std::string hash_from(std::ifstream& file, std::uint64_t at, std::uint64_t count) {
  std::vector<char> bytes(static_cast<std::size_t>(std::min<std::uint64_t>(count, kTrainedFileEnd)));
  file.seekg(static_cast<std::streamoff>(at));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) return {};
  return fmt::format("{:016x}", hash64(bytes.data(), bytes.size()));
}

TrainedFile trained_file(const std::string& name, bool is_file) {
  TrainedFile out{name, 0, {}, {}};
  struct stat info {};
  if (!is_file || ::stat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return out;
  out.bytes = static_cast<std::uint64_t>(info.st_size);
  std::ifstream file(name, std::ios::binary);
  out.head = hash_from(file, 0, out.bytes);
  out.tail = hash_from(file, out.bytes - std::min<std::uint64_t>(out.bytes, kTrainedFileEnd), out.bytes);
  return out;
}

}  // namespace

TrainingRecord training_record(const TrainSpec& spec, const DataSet* data) {
  TrainingRecord out;
  out.date = date_of_now();
  out.batch = spec.batch_rows;
  out.data_shards = spec.shards;
  out.epochs = spec.epochs;
  if (data == nullptr) return out;
  const bool are_files = spec.train.from_command.empty() && data->rows_in_memory() == 0;
  const std::vector<std::string> names = data->paths();
  const std::size_t count = std::min(names.size(), TrainingRecord::kFilesMax);
  for (std::size_t f = 0; f < count; ++f) out.files.push_back(trained_file(names[f], are_files));
  out.files_left_out = names.size() - count;
  return out;
}

}  // namespace thalweg
