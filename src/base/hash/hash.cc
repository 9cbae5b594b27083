#include "base/hash/hash.h"

#include <fmt/core.h>

#if THALWEG_XXH_DISPATCH
#include <immintrin.h>
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace thalweg {
namespace {

// xxHash 0.8.1 returns with the upper halves of vector registers in use, and then each instruction that is
// compiled for all machines of this kind has to merge them: what follows would compute at half its speed.
#if THALWEG_XXH_DISPATCH
__attribute__((target("avx"))) void zero_upper_halves() { _mm256_zeroupper(); }

void clear_upper_halves() {
  static const bool kHasThem = __builtin_cpu_supports("avx") != 0;
  if (kHasThem) zero_upper_halves();
}
#else
void clear_upper_halves() {}
#endif

}  // namespace

std::uint64_t hash64(const void* data, std::size_t bytes) {
  const std::uint64_t hash = XXH3_64bits(data, bytes);
  if (bytes > kHashedWithoutVectors) clear_upper_halves();
  return hash;
}

struct StreamHash::State {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> xxh{XXH3_createState(), XXH3_freeState};
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh.get()); }
StreamHash::~StreamHash() = default;

void StreamHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
  clear_upper_halves();
}

std::string StreamHash::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh.get());
  clear_upper_halves();
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace thalweg
