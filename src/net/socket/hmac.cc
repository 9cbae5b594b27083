#include "net/socket/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace thalweg {

Proof hmac_sha256(const Secret& key, std::span<const std::byte> text) {
  Proof proof;
  unsigned size = 0;
  const void* from = text.data();
  void* into = proof.data();
  const unsigned char* made =
      HMAC(EVP_sha256(), key.bytes.data(), static_cast<int>(key.bytes.size()),
           static_cast<const unsigned char*>(from), text.size(), static_cast<unsigned char*>(into), &size);
  THALWEG_CHECK(made != nullptr && size == proof.size(), "libcrypto has HMAC-SHA-256");
  return proof;
}

bool same_proof(const Proof& a, const Proof& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace thalweg
