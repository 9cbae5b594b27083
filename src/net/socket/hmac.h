// Keyed hashes: HMAC-SHA-256 (FIPS 198-1), by libsodium.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "thalweg/secret.h"

namespace thalweg {

using Proof = std::array<std::byte, 32>;

Proof hmac_sha256(const Secret& key, std::span<const std::byte> text);
// In a time that does not depend on where they differ.
bool same_proof(const Proof& a, const Proof& b);

}  // namespace thalweg
