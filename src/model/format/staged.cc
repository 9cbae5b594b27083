#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model/format/file.h"

namespace thalweg {
namespace {

constexpr int kNamesTried = 16;
constexpr std::string_view kMark = ".tmp-";
constexpr std::size_t kDigits = 16;

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// Whether such a name is drawn for `target`.
bool is_temporary(std::string_view name, std::string_view target) {
  if (name.size() != target.size() + kMark.size() + kDigits || !name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(kMark)) return false;
  name.remove_prefix(kMark.size());
  return name.find_first_not_of("0123456789abcdef") == name.npos;
}

// What killed processes have left beside `target`. At worst it stays.
void remove_left_behind(Disk& disk, const std::string& target) {
  const std::filesystem::path path = target;
  const std::string parent = path.parent_path().string(), own = path.filename().string();
  const Result<std::vector<std::string>> names = disk.list(parent);
  if (!names) return;
  bool synced = false;
  for (const std::string& name : *names) {
    if (!is_temporary(name, own)) continue;
    const std::string left = (path.parent_path() / name).string();
    const Result<std::unique_ptr<Claim>> claim = disk.claim(left);
    if (!claim) continue;
    // It may be the model that `target` named before, and would again if power were lost now.
    if (!synced && !disk.sync_directory(parent).ok()) return;
    synced = true;
    (void)disk.remove(left);
  }
}

// A name beside `target` that `make` made something of, and the claim on it.
struct Staged {
  std::string path;
  std::unique_ptr<Claim> claim;
};
template <class Make>
Result<Staged> stage(Disk& disk, const std::string& target, const Make& make) {
  remove_left_behind(disk, target);
  Status status;
  for (int tried = 0; tried < kNamesTried; ++tried) {
    const std::string path = fmt::format("{}{}{:016x}", target, kMark, disk.draw());
    status = make(path);
    if (!status.ok()) {
      const Result<Entry> found = disk.look(path);
      if (!found || *found == Entry::kNothing) return status;
      continue;  // Somebody else's.
    }
    Result<std::unique_ptr<Claim>> claim = disk.claim(path);
    if (claim) return Staged{path, std::move(*claim)};
    if (claim.status().code() != Code::kRetry) return Staged{path, nullptr};
    status = claim.status();  // Another took it for left behind before it was claimed.
  }
  return status;
}

}  // namespace

Result<StagedDirectory> StagedDirectory::create(Disk& disk, const std::string& path) {
  std::string target = disk.resolve(path);
  Result<Staged> staged = stage(disk, target, [&](const std::string& at) { return disk.make_directory(at); });
  if (!staged) return staged.status();
  return StagedDirectory(disk, std::move(target), std::move(staged->path), std::move(staged->claim));
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : disk_(other.disk_),
      path_(std::move(other.path_)),
      staging_(std::exchange(other.staging_, {})),
      claim_(std::move(other.claim_)) {}

StagedDirectory::~StagedDirectory() {
  if (!staging_.empty()) (void)disk_->remove(staging_);
}

Status StagedDirectory::commit() {
  if (Status status = disk_->sync_directory(staging_); !status.ok()) return status;
  if (Status status = disk_->replace(staging_, path_); !status.ok()) return status;
  // Now `staging_` names what was replaced. It goes once it is certain that no crash brings it back.
  const std::string replaced = std::exchange(staging_, {});
  claim_.reset();
  if (Status status = disk_->sync_directory(parent_of(path_)); !status.ok()) return status;
  (void)disk_->remove(replaced);  // At worst it is left behind.
  return ok_status();
}

Result<StagedFile> StagedFile::create(Disk& disk, const std::string& path) {
  std::string target = disk.resolve(path);
  const Result<Entry> found = disk.look(target);
  if (!found) return found.status();
  if (*found != Entry::kNothing && *found != Entry::kFile) {
    return Status(Code::kIo, "cannot write " + path + ": something that is not a regular file is in the way");
  }
  std::unique_ptr<File> file;
  Result<Staged> staged = stage(disk, target, [&](const std::string& at) {
    Result<std::unique_ptr<File>> created = disk.create(at);
    if (created) file = std::move(*created);
    return created.status();
  });
  if (!staged) return staged.status();
  return StagedFile(disk, std::move(target), std::move(file), std::move(staged->claim));
}

StagedFile::StagedFile(StagedFile&& other) noexcept = default;

StagedFile::~StagedFile() {
  if (file_) (void)disk_->remove(file_->path());
}

Status StagedFile::commit() {
  if (Status status = file_->sync(); !status.ok()) return status;
  if (Status status = disk_->replace(file_->path(), path_); !status.ok()) return status;
  file_.reset();
  return disk_->sync_directory(parent_of(path_));
}

}  // namespace thalweg
