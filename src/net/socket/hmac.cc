#include "net/socket/hmac.h"

#include <sodium.h>

#include "base/check.h"

namespace thalweg {
namespace {

const unsigned char* as_unsigned(std::span<const std::byte> bytes) {
  const void* at = bytes.data();
  return static_cast<const unsigned char*>(at);
}

}  // namespace

Proof hmac_sha256(const Secret& key, std::span<const std::byte> text) {
  THALWEG_CHECK(sodium_init() >= 0, "libsodium can be used");
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, as_unsigned(key.bytes), key.bytes.size());
  crypto_auth_hmacsha256_update(&state, as_unsigned(text), text.size());
  Proof proof;
  static_assert(sizeof proof == crypto_auth_hmacsha256_BYTES);
  void* into = proof.data();
  crypto_auth_hmacsha256_final(&state, static_cast<unsigned char*>(into));
  return proof;
}

bool same_proof(const Proof& a, const Proof& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace thalweg
