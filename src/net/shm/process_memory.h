// Reading another process's memory, where the system lets this one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace thalweg {

// How many bytes from `address` on of that process came to `into`; fewer than `size`, or -1, where the rest
// cannot be read: the process has ended, has no memory there, or is not to be read by this one (another
// user's, another container's, or as Yama or seccomp have it).
ssize_t read_process_memory(pid_t process, std::uint64_t address, std::byte* into, std::size_t size);

}  // namespace thalweg
