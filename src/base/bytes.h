// Immutable shared bytes, and a little-endian writer and reader for control messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"

namespace thalweg {

static_assert(std::endian::native == std::endian::little, "frames are little-endian in memory");

// Bytes that never change, kept alive by `owner`; copying shares them. Start is 8-byte aligned.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  // Takes a vector's elements without a copy.
  template <class T>
  static Bytes of(std::vector<T> values) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    const auto bytes = std::as_bytes(std::span<const T>(*owner));
    return {std::move(owner), bytes};
  }
  // Shares a vector that outlives nothing but this.
  template <class T>
  static Bytes share(std::shared_ptr<const std::vector<T>> values, std::size_t begin, std::size_t count) {
    const auto bytes = std::as_bytes(std::span<const T>(*values).subspan(begin, count));
    return {std::move(values), bytes};
  }
  static Bytes of(std::string_view text) { return of(std::vector<char>(text.begin(), text.end())); }

  std::span<const std::byte> span() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  std::string_view text() const {
    return {static_cast<const char*>(static_cast<const void*>(bytes_.data())), size()};
  }
  // Precondition: size() is a multiple of sizeof(T).
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(static_cast<const void*>(bytes_.data())), size() / sizeof(T)};
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  Bytes part(std::size_t offset, std::size_t count) const { return {owner_, bytes_.subspan(offset, count)}; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

class Writer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> Writer& put(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
    return *this;
  }
  Writer& put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
    return *this;
  }
  // That so many bytes are to come, which then take memory once.
  void expect(std::size_t bytes) { out_.reserve(bytes); }
  std::string_view text() const { return out_; }
  Bytes take() { return Bytes::of(out_); }

 private:
  std::string out_;
};

// Reading past the end turns ok() false and yields zeros; nothing is allocated before its length is checked.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  explicit Reader(const Bytes& bytes) : rest_(bytes.span()) {}
  explicit Reader(Bytes&&) = delete;  // It would outlive what it reads.
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> T get() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string get_text(std::size_t bytes_max) {
    const auto size = get<std::uint32_t>();
    if (size > bytes_max || size > rest_.size()) {
      fail();
      return {};
    }
    std::string text(static_cast<const char*>(static_cast<const void*>(rest_.data())), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  // A count of items that each take at least `item_bytes` more: refused when they cannot be there.
  std::uint32_t get_count(std::uint32_t count_max, std::size_t item_bytes) {
    const auto count = get<std::uint32_t>();
    if (count > count_max || count * item_bytes > rest_.size()) {
      fail();
      return 0;
    }
    return count;
  }
  void fail() { ok_ = false, rest_ = {}; }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace thalweg
