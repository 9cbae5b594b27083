// What a scheduler shows to a state store that asks for it, and by what it knows that store.
#pragma once

#include <string>

namespace thalweg {

// Files in PEM. Empty: none; for `ca` then those of the system count.
struct StateTls {
  std::string ca;    // Who signs the store's certificates.
  std::string cert;  // Ours, and
  std::string key;   // its key.
  bool operator==(const StateTls&) const = default;
};

}  // namespace thalweg
