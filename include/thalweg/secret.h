// A job's or a group's secret: who knows it takes part, nobody else is heard. SECURITY.md says what it keeps
// out.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

// 128 bits, by chance. All zero is the secret that everybody knows.
struct Secret {
  std::array<std::byte, 16> bytes{};
};

// From the system's source of randomness.
Secret draw_secret();
// The file holds 32 hexadecimal digits, and nobody but its owner can read it. Errors: kIo; kUsage for what is
// no such file.
Result<Secret> read_secret(const std::string& path);
// Makes the file, with a secret drawn, where it does not exist; several processes may do so at a time.
Result<Secret> read_or_make_secret(const std::string& path);

}  // namespace thalweg
