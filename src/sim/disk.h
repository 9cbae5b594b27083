// A disk in memory that runs full, fails, loses power and forgets what was not synced, all from a seed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "node/disk.h"

namespace thalweg {

// Holds "/" and what is made in it; paths are absolute and there are no links.
class SimDisk final : public Disk {
 public:
  explicit SimDisk(std::uint64_t seed);

  // Operations count from 1: every call of a Disk or File that can fail, but those of const Disk.
  std::uint64_t operations() const { return operations_; }
  void fail_operation(std::uint64_t number) { failing_ = number; }   // That one only. A write is torn.
  void lose_power_at(std::uint64_t number) { dark_from_ = number; }  // It and all later ones fail.
  void set_free_bytes(std::uint64_t bytes) { free_bytes_ = bytes; }
  void ignore_syncs() { syncs_ = false; }  // A disk that lies, to see that a check can fail.
  // The machine comes up again: each directory has its synced entries or those after some later operation;
  // each file has its synced bytes and of every later write all, a first part or nothing. Faults are over.
  void restart();

  std::string resolve(const std::string& path) const override;
  Result<Entry> look(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  Status check_writable(const std::string& directory) const override;
  Result<std::unique_ptr<File>> open(const std::string& path) const override;
  std::uint64_t draw() override { return names_.next(); }
  Result<std::unique_ptr<Claim>> claim(const std::string& path) override;
  Result<std::unique_ptr<File>> create(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status replace(const std::string& staged, const std::string& path) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;

 private:
  struct Node;
  class Handle;
  class Hold;
  using Entries = std::map<std::string, std::shared_ptr<Node>>;
  using Bytes = std::vector<std::byte>;
  struct Write {
    std::uint64_t offset = 0;
    Bytes bytes;
  };
  struct Node {
    bool is_directory = false;
    Entries entries, synced_entries;
    std::vector<Entries> unsynced_entries;  // After each operation since the last sync.
    Bytes bytes, synced_bytes;
    std::vector<Write> unsynced_writes;
  };

  std::shared_ptr<Node> find(const std::string& path) const;
  // What `path` is an entry of; null when there is no such directory.
  std::shared_ptr<Node> parent(const std::string& path) const;
  Status begin(const std::string& what, const std::string& path);
  Status write(Node& node, const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes);
  void come_up(Node& node);

  Random random_, names_;
  std::shared_ptr<Node> root_;
  std::uint64_t operations_ = 0;
  std::uint64_t failing_ = 0;
  std::uint64_t dark_from_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t free_bytes_ = std::numeric_limits<std::uint64_t>::max();
  bool syncs_ = true;
  std::set<const Node*> claimed_;
};

}  // namespace thalweg
