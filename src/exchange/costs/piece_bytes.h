// In which large blocks travel best between ranks of a group.
#pragma once

#include <cstddef>

namespace thalweg {

inline constexpr std::size_t kSharedMemoryPieceBytes = 128 << 10;
// Four packets of loopback, which carry 65483 bytes: 128 KiB would take three, the third for 106 bytes.
inline constexpr std::size_t kLoopbackPieceBytes = 4 * 65280;

}  // namespace thalweg
