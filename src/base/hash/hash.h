// Hashes of frames, text and files, with the widest vectors that this machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace thalweg {

// Up to which XXH3 takes no vectors, so that whoever has it inline may call that.
inline constexpr std::size_t kHashedWithoutVectors = 240;

// XXH3-64, the same value on every machine.
std::uint64_t hash64(const void* data, std::size_t bytes);

// XXH3-128 of bytes that come one after the other, as 32 hex digits.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  void add(std::span<const std::byte> bytes);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg
