#include "cli/new_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/hint.h"

namespace thalweg {
namespace {

struct Packer {
  std::string_view ending, program;
};
constexpr Packer kPackers[] = {{".gz", "gzip"}, {".bz2", "bzip2"}, {".xz", "xz"}, {".zst", "zstd"}};

// Whose files have such names; null: nobody's.
const Packer* packer_of(std::string_view path) {
  const auto* const found =
      std::ranges::find_if(kPackers, [path](const Packer& packer) { return path.ends_with(packer.ending); });
  return found == std::end(kPackers) ? nullptr : found;
}

std::string part_of(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  return special ? path : path + ".part";
}

}  // namespace

Status is_no_input(const std::string& path, const std::vector<std::string>& inputs) {
  if (!std::filesystem::is_regular_file(path)) return ok_status();
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!std::filesystem::equivalent(path, input, error)) continue;
    return {Code::kUsage,
            fmt::format("{} would be written over the input {}; expected another place", path, input)};
  }
  return ok_status();
}

Status is_no_packed_name(const std::string& path) {
  const Packer* const packer = packer_of(path);
  if (packer == nullptr) return ok_status();
  return {Code::kUsage,
          fmt::format("{}: what is written is not packed; expected a name without {}", path, packer->ending)};
}

Status is_no_packed_name(const std::string& path, const std::string& what, std::string_view command) {
  const Packer* const packer = packer_of(path);
  if (packer == nullptr) return ok_status();
  return with_hint({Code::kUsage, fmt::format("{}: {} are written as plain text; expected a name without {}",
                                              path, what, packer->ending)},
                   fmt::format("without -o they go to standard output: thalweg {} ... | {} >FILE", command,
                               packer->program));
}

NewFile::NewFile(std::string path)
    : path_(std::move(path)), part_(part_of(path_)), file_(part_, std::ios::binary | std::ios::trunc) {}

NewFile::~NewFile() {
  if (!file_.is_open() || committed_) return;
  file_.close();
  if (part_ != path_) std::remove(part_.c_str());
}

Status NewFile::write(std::string_view text) {
  if (file_.write(text.data(), static_cast<std::streamsize>(text.size()))) return ok_status();
  return refused();
}

Status NewFile::commit() {
  if (!file_.is_open() || !file_.flush()) return refused();
  if (part_ != path_ && std::rename(part_.c_str(), path_.c_str()) != 0) return refused();
  committed_ = true;
  return ok_status();
}

Status NewFile::refused() const {
  return {Code::kIo, fmt::format("{}: cannot be written: {}", path_, std::strerror(errno))};
}

Status write_new_file(const std::string& path, std::string_view text) {
  NewFile file(path);
  if (Status written = file.write(text); !written.ok()) return written;
  return file.commit();
}

}  // namespace thalweg
