// A directory of checkpoints, each a directory named by its step, "step-0.400": the parts that servers stored
// and checkpoint.json, written last and moved into place whole.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "node/disk.h"
#include "thalweg/status.h"

namespace thalweg::checkpoint {

std::string step_text(Step step);       // "0.400", as frames and errors have it.
std::string directory_name(Step step);  // "step-0.400"
// Where attempts of a training are, and their numbers behind it.
std::string attempt_prefix(Disk& disk, const std::string& directory);

// Makes a checkpoint of what servers have stored at `place`, which lies in `directory`; returns its path.
// Nothing of that name is there before it is whole and survives a crash. On an error `place` is gone. It is
// of this version of the library, whatever `manifest` says.
Result<std::string> complete(Disk& disk, const std::string& directory, const std::string& place,
                             Manifest manifest);
// What attempts, and removals that did not end, have left behind; nobody may be at one.
void remove_attempts(Disk& disk, const std::string& directory);

// One of the checkpoints that together have all rows of one of them.
struct Layer {
  std::string path;
  Manifest manifest;
  std::string hash{};  // XXH3-128 of its checkpoint.json.
};
// Reads checkpoint.json and looks whether the parts are there in full length; the same of what it has the
// changes since, and so on: the one at `path` first. kIo or kModel, naming the file, and whose base it is of;
// kModel where a directory is named as the checkpoint of another step.
Result<std::vector<Layer>> open_layers(const Disk& disk, const std::string& path);
// The first of them.
Result<Manifest> open(const Disk& disk, const std::string& path);
// How one beside it names the checkpoint at `path`, all of which is looked at as open() does.
Result<Base> base_of(const Disk& disk, const std::string& path);
// As open(), and reads every byte of the parts, of all layers.
Status verify(const Disk& disk, const std::string& path);

struct Listed {
  std::string path;
  Step step;                     // As its name says.
  Status status;                 // Why it is none, if it is none;
  Manifest manifest;             // else, or where it is misnamed, what it has.
  std::optional<Step> misnamed;  // Of which step it is, where its name says another.
};
// All directories named as checkpoints, by ascending step. kIo: there is no such directory.
Result<std::vector<Listed>> list(const Disk& disk, const std::string& directory);

// A directory for checkpoints; true: it was there before. kIo: it cannot be made, or something is in the way.
Result<bool> have_directory(Disk& disk, const std::string& directory);

// Of a directory of checkpoints the newest, whole or not; else, or where there is none, `path`.
std::string newest_at(const Disk& disk, const std::string& path);
// What `work` makes of that, a Status or a Result; of a newer one where the training that keeps them has
// removed it meanwhile.
template <class Work>
auto with_newest(const Disk& disk, const std::string& path, Work work) {
  constexpr int kTimes = 10;
  for (int time = 1;; ++time) {
    const std::string newest = newest_at(disk, path);
    auto done = work(newest);
    if (done.ok() || time == kTimes || newest_at(disk, path) == newest) return done;
  }
}
// `why` the newest_at() `path` is not whole, with the newest whole one as a hint where it is another.
Status with_older(const Disk& disk, const std::string& path, const Status& why);

struct PruneOptions {
  std::uint32_t keep = 1;    // Whole ones; one at least.
  bool reads = false;        // Whether they are, by each byte; else by lengths.
  std::string spared{};      // Whole, and one of those that are kept.
  std::set<Step> damaged{};  // Known to be.
};
struct Pruned {
  std::vector<std::string> gone;  // Paths.
  // Why none of those is whole that stood before the last that is kept, or have the name of another.
  std::vector<Status> damaged;
};
// Removes all but the newest `keep` whole ones and what these have the changes since; also such as are not
// whole and older than the newest that is, unless they have the name of another.
Result<Pruned> prune(Disk& disk, const std::string& directory, const PruneOptions& options);

}  // namespace thalweg::checkpoint
