#include "sim/disk.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace thalweg {
namespace {

Status refused(const std::string& what, const std::string& path, const std::string& why) {
  return {Code::kIo, "cannot " + what + " " + path + ": " + why};
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void put(std::vector<std::byte>& into, std::uint64_t offset, std::span<const std::byte> bytes) {
  into.resize(std::max<std::size_t>(into.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), into.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

class SimDisk::Handle final : public File {
 public:
  Handle(SimDisk* writable, std::shared_ptr<Node> node, std::string path)
      : File(std::move(path)), disk_(writable), node_(std::move(node)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const Bytes& bytes = node_->bytes;
    if (offset > bytes.size() || out.size() > bytes.size() - offset) {
      return {Code::kModel, fmt::format("{} ends at byte {}", path(), bytes.size())};
    }
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return ok_status();
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    THALWEG_CHECK(disk_ != nullptr, "the file was opened for reading");
    return disk_->write(*node_, path(), offset, bytes);
  }

  Status sync() override {
    THALWEG_CHECK(disk_ != nullptr, "the file was opened for reading");
    if (Status status = disk_->begin("sync", path()); !status.ok()) return status;
    if (!disk_->syncs_) return ok_status();
    node_->synced_bytes = node_->bytes;
    node_->unsynced_writes.clear();
    return ok_status();
  }

  Result<std::uint64_t> size() const override { return std::uint64_t{node_->bytes.size()}; }

 private:
  SimDisk* disk_;  // Null for reading.
  std::shared_ptr<Node> node_;
};

class SimDisk::Hold final : public Claim {
 public:
  Hold(SimDisk& disk, std::shared_ptr<const Node> node) : disk_(disk), node_(std::move(node)) {
    disk_.claimed_.insert(node_.get());
  }
  ~Hold() override { disk_.claimed_.erase(node_.get()); }

 private:
  SimDisk& disk_;
  std::shared_ptr<const Node> node_;
};

SimDisk::SimDisk(std::uint64_t seed)
    : random_(seed), names_(random_.split(1)), root_(std::make_shared<Node>()) {
  root_->is_directory = true;
}

void SimDisk::restart() {
  failing_ = 0;
  dark_from_ = free_bytes_ = std::numeric_limits<std::uint64_t>::max();
  come_up(*root_);
}

void SimDisk::come_up(Node& node) {
  if (node.is_directory) {
    const std::uint64_t kept = random_.below(node.unsynced_entries.size() + 1);
    if (kept > 0) node.synced_entries = node.unsynced_entries[kept - 1];
    node.entries = node.synced_entries;
    node.unsynced_entries.clear();
    for (const auto& [name, child] : node.entries) come_up(*child);
    return;
  }
  for (const Write& write : node.unsynced_writes) {
    const std::uint64_t fate = random_.below(3);
    const std::size_t kept = fate == 0   ? 0
                             : fate == 1 ? write.bytes.size()
                                         : random_.below(write.bytes.size());
    if (kept > 0) put(node.synced_bytes, write.offset, std::span(write.bytes).first(kept));
  }
  node.bytes = node.synced_bytes;
  node.unsynced_writes.clear();
}

std::shared_ptr<SimDisk::Node> SimDisk::find(const std::string& path) const {
  std::shared_ptr<Node> at = root_;
  for (std::size_t begin = 1; at && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto found = at->entries.find(path.substr(begin, end - begin));
    at = found == at->entries.end() ? nullptr : found->second;
    begin = end + 1;
  }
  return at;
}

std::shared_ptr<SimDisk::Node> SimDisk::parent(const std::string& path) const {
  const std::shared_ptr<Node> node = find(path.substr(0, path.rfind('/')));
  return node && node->is_directory ? node : nullptr;
}

Status SimDisk::begin(const std::string& what, const std::string& path) {
  ++operations_;
  if (operations_ >= dark_from_) return refused(what, path, "the power is out");
  return operations_ == failing_ ? refused(what, path, "Input/output error") : ok_status();
}

Status SimDisk::write(Node& node, const std::string& path, std::uint64_t offset,
                      std::span<const std::byte> bytes) {
  if (bytes.empty()) return ok_status();
  const std::string what = fmt::format("write {} bytes at {} of", bytes.size(), offset);
  Status status = begin(what, path);
  std::size_t taken = status.ok() ? bytes.size() : random_.below(bytes.size());
  const std::uint64_t end_free = node.bytes.size() + free_bytes_;
  if (status.ok() && free_bytes_ < bytes.size() && offset + bytes.size() > end_free) {
    taken = end_free > offset ? end_free - offset : 0;
    status = refused(what, path, "No space left on device");
  }
  if (taken == 0) return status;
  const std::uint64_t grown = std::max<std::uint64_t>(node.bytes.size(), offset + taken) - node.bytes.size();
  free_bytes_ -= std::min(free_bytes_, grown);
  put(node.bytes, offset, bytes.first(taken));
  node.unsynced_writes.push_back(
      {offset, Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken))});
  return status;
}

std::string SimDisk::resolve(const std::string& path) const {
  THALWEG_CHECK(path.size() > 1 && path.front() == '/', "paths of a simulated disk are absolute");
  return path.back() == '/' ? path.substr(0, path.size() - 1) : path;
}

Result<std::unique_ptr<Claim>> SimDisk::claim(const std::string& path) {
  const std::shared_ptr<Node> node = find(path);
  if (!node) return Status(Code::kRetry, path + " is no longer there");
  if (claimed_.count(node.get()) != 0) return Status(Code::kRetry, path + " is in use");
  return std::unique_ptr<Claim>(std::make_unique<Hold>(*this, node));
}

Result<Entry> SimDisk::look(const std::string& path) const {
  const std::shared_ptr<Node> node = find(path);
  if (!node) return Entry::kNothing;
  return node->is_directory ? Entry::kDirectory : Entry::kFile;
}

Result<std::vector<std::string>> SimDisk::list(const std::string& directory) const {
  const std::shared_ptr<Node> node = find(directory);
  if (!node || !node->is_directory) return refused("list", directory, "no such directory");
  std::vector<std::string> names;
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

Status SimDisk::check_writable(const std::string& directory) const {
  const std::shared_ptr<Node> node = find(directory);
  return node && node->is_directory ? ok_status() : refused("write in", directory, "no such directory");
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path) const {
  const std::shared_ptr<Node> node = find(path);
  if (!node || node->is_directory) return refused("open", path, "no such file");
  return std::unique_ptr<File>(std::make_unique<Handle>(nullptr, node, path));
}

Result<std::unique_ptr<File>> SimDisk::create(const std::string& path) {
  if (Status status = begin("create", path); !status.ok()) return status;
  const std::shared_ptr<Node> directory = parent(path);
  if (!directory || find(path)) return refused("create", path, directory ? "it exists" : "no such directory");
  const auto node = directory->entries[name_of(path)] = std::make_shared<Node>();
  directory->unsynced_entries.push_back(directory->entries);
  return std::unique_ptr<File>(std::make_unique<Handle>(this, node, path));
}

Status SimDisk::make_directory(const std::string& path) {
  if (Status status = begin("create directory", path); !status.ok()) return status;
  const std::shared_ptr<Node> directory = parent(path);
  if (!directory || find(path)) {
    return refused("create directory", path, directory ? "it exists" : "no such directory");
  }
  const auto node = directory->entries[name_of(path)] = std::make_shared<Node>();
  node->is_directory = true;
  directory->unsynced_entries.push_back(directory->entries);
  return ok_status();
}

Status SimDisk::replace(const std::string& staged, const std::string& path) {
  if (Status status = begin("rename " + staged + " to", path); !status.ok()) return status;
  const std::shared_ptr<Node> directory = parent(path), from = find(staged), to = find(path);
  THALWEG_CHECK(directory && directory == parent(staged), "both lie in one directory");
  THALWEG_CHECK(from && (!to || to->is_directory == from->is_directory), "both are of one kind");
  const bool kept = to && to->is_directory && !to->entries.empty();
  directory->entries[name_of(path)] = from;
  directory->entries.erase(name_of(staged));
  if (kept) directory->entries[name_of(staged)] = to;
  directory->unsynced_entries.push_back(directory->entries);
  return ok_status();
}

Status SimDisk::remove(const std::string& path) {
  const std::shared_ptr<Node> node = find(path);
  if (!node) return ok_status();
  const Entries children = node->entries;
  for (const auto& [name, child] : children) {
    if (Status status = remove(path + "/" + name); !status.ok()) return status;
  }
  if (Status status = begin("remove", path); !status.ok()) return status;
  const std::shared_ptr<Node> directory = parent(path);
  directory->entries.erase(name_of(path));
  directory->unsynced_entries.push_back(directory->entries);
  free_bytes_ +=
      std::min(std::numeric_limits<std::uint64_t>::max() - free_bytes_, std::uint64_t{node->bytes.size()});
  return ok_status();
}

Status SimDisk::sync_directory(const std::string& path) {
  if (Status status = begin("sync", path); !status.ok()) return status;
  const std::shared_ptr<Node> node = find(path);
  if (!node || !node->is_directory) return refused("sync", path, "no such directory");
  if (!syncs_) return ok_status();
  node->synced_entries = node->entries;
  node->unsynced_entries.clear();
  return ok_status();
}

}  // namespace thalweg
