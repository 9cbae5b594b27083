#include "checkpoint/directory_claim.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/instant.h"

namespace thalweg::checkpoint {
namespace {

// A process that was killed while it started another may leave that one with what it held, until it runs.
constexpr Duration kClaimPatience = std::chrono::seconds(3), kClaimLook = std::chrono::milliseconds(20);

}  // namespace

Result<std::unique_ptr<DirectoryClaim>> DirectoryClaim::take(Disk& disk, const std::string& directory) {
  std::string path = directory + "/.lock";
  for (Duration waited{};; waited += kClaimLook) {
    const Status made = disk.create(path).status();
    auto claim = disk.claim(path);
    if (claim)
      return std::unique_ptr<DirectoryClaim>(new DirectoryClaim(disk, std::move(path), *std::move(claim)));
    if (claim.status().code() != Code::kRetry) return claim.status();
    if (waited >= kClaimPatience) {
      const auto found = disk.look(path);  // It may go just before it is claimed, but not each time.
      return found && *found == Entry::kNothing && !made.ok() ? made : claim.status();
    }
    std::this_thread::sleep_for(kClaimLook);
  }
}

}  // namespace thalweg::checkpoint
