// Small control messages over the links of a fabric: fixed records, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "node/fabric.h"

namespace thalweg {

struct Record {
  std::uint32_t kind = 0;
  std::uint32_t number = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
static_assert(sizeof(Record) == 24 && std::is_trivially_copyable_v<Record>);

// Both directions of one link. What cannot be sent yet is kept.
class RecordLink {
 public:
  explicit RecordLink(Link link) : link_(link) {}

  void put(const Record& record) { put(&record, sizeof record); }
  void put(std::string_view text) { put(text.data(), text.size()); }
  void flush(Fabric& fabric) {
    while (sent_ < out_.size()) {
      const Piece piece{out_.data() + sent_, out_.size() - sent_};
      const std::size_t taken = fabric.write(link_, {&piece, 1});
      if (taken == 0) return;
      sent_ += taken;
    }
    out_.clear();
    sent_ = 0;
  }
  bool sent() const { return out_.empty(); }

  // `size` bytes, once all have come; they are consumed then. Valid until the next call.
  std::optional<std::span<const std::byte>> take(Fabric& fabric, std::size_t size) {
    in_.resize(size);
    while (got_ < size) {
      const std::size_t got = fabric.read(link_, in_.data() + got_, size - got_);
      if (got == 0) return std::nullopt;
      got_ += got;
    }
    got_ = 0;
    return in_;
  }

 private:
  void put(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), bytes, bytes + size);
  }

  Link link_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
  std::vector<std::byte> in_;
  std::size_t got_ = 0;
};

}  // namespace thalweg
