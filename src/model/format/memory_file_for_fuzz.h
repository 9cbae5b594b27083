// Fuzz bytes as a file.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "node/disk.h"

namespace thalweg {

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::span<const std::byte> bytes) : File(std::move(path)), bytes_(bytes) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return {Code::kModel, path() + " ends early"};
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return ok_status();
  }
  Status write_at(std::uint64_t, std::span<const std::byte>) override { return {Code::kIo, "read only"}; }
  Status sync() override { return ok_status(); }
  Result<std::uint64_t> size() const override { return std::uint64_t{bytes_.size()}; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace thalweg
