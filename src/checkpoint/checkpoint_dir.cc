#include "checkpoint/checkpoint_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/hint.h"
#include "checkpoint/part_file.h"
#include "model/format/file.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::string_view kNamePrefix = "step-";
constexpr std::string_view kAttemptPrefix = ".taking-";
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{64} << 20;

std::optional<Step> step_of_name(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return {};
  name.remove_prefix(kNamePrefix.size());
  Step step;
  const char* const end = name.data() + name.size();
  const auto epoch = std::from_chars(name.data(), end, step.epoch);
  if (epoch.ec != std::errc() || epoch.ptr == end || *epoch.ptr != '.') return {};
  const auto index = std::from_chars(epoch.ptr + 1, end, step.index);
  if (index.ec != std::errc() || index.ptr != end) return {};
  return step;
}

std::string below(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

Status write_manifest(Disk& disk, const std::string& place, const Manifest& manifest) {
  const std::string path = below(place, kManifestFile);
  const auto file = disk.create(path);
  if (!file) return file.status();
  const std::string text = to_json(manifest);
  // What cannot be read back is no checkpoint.
  if (const auto again = parse_manifest(path, text); !again) return again.status();
  if (Status status = (*file)->write_at(0, bytes_of(text)); !status.ok()) return status;
  return (*file)->sync();
}

Status put_in_place(Disk& disk, const std::string& directory, const std::string& place,
                    const std::string& path, const Manifest& manifest) {
  if (Status status = write_manifest(disk, place, manifest); !status.ok()) return status;
  if (Status status = disk.sync_directory(place); !status.ok()) return status;
  if (Status status = disk.replace(place, path); !status.ok()) return status;
  return disk.sync_directory(directory);
}

Result<Layer> read_layer(const Disk& disk, const std::string& path) {
  const auto found = disk.look(path);
  if (!found) return found.status();
  if (*found != Entry::kDirectory) {
    return Status(Code::kIo, fmt::format("{}: {}, expected the directory of a checkpoint", path,
                                         *found == Entry::kNothing ? "no such directory" : "it is a file"));
  }
  const std::string manifest_path = below(path, kManifestFile);
  const auto file = disk.open(manifest_path);
  if (!file) return Status(Code::kModel, fmt::format("{}: no checkpoint: {}", path, file.status().message()));
  const auto size = (*file)->size();
  if (!size) return size.status();
  if (*size > kManifestBytesMax) return Status(Code::kModel, manifest_path + ": too large");
  std::string text(*size, '\0');
  if (Status status = (*file)->read_at(0, std::as_writable_bytes(std::span(text))); !status.ok())
    return status;
  auto manifest = parse_manifest(manifest_path, text);
  if (!manifest) return manifest.status();
  return Layer{path, *std::move(manifest), hash_text(text)};
}

Status look_at_parts(const Disk& disk, const Layer& layer) {
  for (const Part& part : layer.manifest.parts) {
    const auto part_file = disk.open(below(layer.path, part.file));
    if (!part_file) return {Code::kModel, part_file.status().message()};
    const auto bytes = (*part_file)->size();
    if (!bytes) return bytes.status();
    if (*bytes != part.bytes) {
      return {Code::kModel, fmt::format("{}: damaged: it has {} bytes; {} expects {}",
                                        below(layer.path, part.file), *bytes, kManifestFile, part.bytes)};
    }
  }
  return ok_status();
}

// Why `found` is not what `layer` has the changes since; empty: it is.
std::string mistaken(const Layer& layer, const Layer& found) {
  const Base& base = *layer.manifest.base;
  if (found.hash != base.hash)
    return fmt::format("it is another checkpoint: the hash of its {} is {}, expected {}", kManifestFile,
                       found.hash, base.hash);
  if (found.manifest.tables != layer.manifest.tables) return "it is of other tables";
  if (found.manifest.step >= layer.manifest.step) return "it is no earlier one";
  return {};
}

// A copy may have any other name.
Status check_name(const Disk& disk, const Layer& layer) {
  const Step step = layer.manifest.step;
  for (const std::string& path : {layer.path, disk.resolve(layer.path)}) {
    const auto named = step_of_name(std::filesystem::path(path).filename().string());
    if (named && *named != step) {
      return {Code::kModel, fmt::format("{}: its {} is of step {}, expected the directory's name to be {}",
                                        path, kManifestFile, step_text(step), directory_name(step))};
    }
  }
  return ok_status();
}

// The step that its name says; nothing: it has no checkpoint's name, or is no directory.
std::optional<Step> step_of_entry(const Disk& disk, const std::string& directory, const std::string& name) {
  const auto step = step_of_name(name);
  if (!step) return {};
  const auto found = disk.look(below(directory, name));
  return !found || *found == Entry::kDirectory ? step : std::nullopt;
}

}  // namespace

std::string step_text(Step step) { return fmt::format("{}.{}", step.epoch, step.index); }

std::string directory_name(Step step) { return std::string(kNamePrefix) + step_text(step); }

std::string attempt_prefix(Disk& disk, const std::string& directory) {
  return below(directory, fmt::format("{}{:016x}-", kAttemptPrefix, disk.draw()));
}

Result<std::string> complete(Disk& disk, const std::string& directory, const std::string& place,
                             Manifest manifest) {
  manifest.library_version = THALWEG_VERSION;
  std::string path = below(directory, directory_name(manifest.step));
  const Status status = put_in_place(disk, directory, place, path, manifest);
  (void)disk.remove(place);  // What it has replaced, or what is left of it. At worst it stays behind.
  if (!status.ok()) return status;
  return path;
}

void remove_attempts(Disk& disk, const std::string& directory) {
  const auto names = disk.list(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with(kAttemptPrefix)) (void)disk.remove(below(directory, name));
  }
}

Result<std::vector<Layer>> open_layers(const Disk& disk, const std::string& path) {
  std::vector<Layer> layers;
  std::string at = path, chain;
  const auto broken = [&](const Status& why) {
    return chain.empty() ? why : Status(Code::kModel, chain + why.message());
  };
  for (;;) {
    auto read = read_layer(disk, at);
    if (!read) return broken(read.status());
    if (!layers.empty()) {
      if (const std::string wrong = mistaken(layers.back(), *read); !wrong.empty())
        return broken({Code::kModel, at + ": " + wrong});
    }
    layers.push_back(*std::move(read));
    if (Status named = check_name(disk, layers.back()); !named.ok()) return broken(named);
    if (Status whole = look_at_parts(disk, layers.back()); !whole.ok()) return broken(whole);
    const std::optional<Base>& base = layers.back().manifest.base;
    if (!base) return layers;
    chain += at + " has the changes since " + base->name + ": ";
    at = below(std::filesystem::path(disk.resolve(at)).parent_path().string(), base->name);
  }
}

Result<Manifest> open(const Disk& disk, const std::string& path) {
  auto layers = open_layers(disk, path);
  if (!layers) return layers.status();
  return std::move(layers->front().manifest);
}

Result<Base> base_of(const Disk& disk, const std::string& path) {
  const auto layers = open_layers(disk, path);
  if (!layers) return layers.status();
  return Base{directory_name(layers->front().manifest.step), layers->front().hash};
}

Status verify(const Disk& disk, const std::string& path) {
  const auto layers = open_layers(disk, path);
  if (!layers) return layers.status();
  for (const Layer& layer : *layers) {
    for (const Part& part : layer.manifest.parts) {
      if (Status status = check_part(disk, layer.path, part); !status.ok()) return status;
    }
  }
  return ok_status();
}

Result<bool> have_directory(Disk& disk, const std::string& directory) {
  const auto found = disk.look(directory);
  if (!found) return found.status();
  if (*found == Entry::kDirectory) return true;
  if (*found != Entry::kNothing)
    return Status(Code::kIo, directory + ": something is in the way, expected a directory for checkpoints");
  if (Status made = disk.make_directory(directory); !made.ok()) return made;
  return false;
}

Result<std::vector<Listed>> list(const Disk& disk, const std::string& directory) {
  const auto found = disk.look(directory);
  if (!found) return found.status();
  if (*found != Entry::kDirectory)
    return Status(Code::kIo, fmt::format("{}: {} directory, expected one of checkpoints", directory,
                                         *found == Entry::kNothing ? "no such" : "not a"));
  const auto names = disk.list(directory);
  if (!names) return names.status();
  std::vector<Listed> out;
  for (const std::string& name : *names) {
    const auto step = step_of_entry(disk, directory, name);
    if (!step) continue;
    Listed one{below(directory, name), *step, {}, {}, {}};
    auto manifest = open(disk, one.path);
    one.status = manifest.status();
    if (manifest) {
      one.manifest = *std::move(manifest);
    } else if (auto layer = read_layer(disk, one.path); layer && layer->manifest.step != *step) {
      one.manifest = std::move(layer->manifest);
      one.misnamed = one.manifest.step;
    }
    out.push_back(std::move(one));
  }
  std::ranges::sort(out, {}, &Listed::step);
  return out;
}

std::string newest_at(const Disk& disk, const std::string& path) {
  const auto manifest = disk.look(below(path, kManifestFile));
  if (!manifest || *manifest != Entry::kNothing) return path;
  const auto names = disk.list(path);
  if (!names) return path;
  std::optional<Step> newest;
  for (const std::string& name : *names) newest = std::max(newest, step_of_entry(disk, path, name));
  return newest ? below(path, directory_name(*newest)) : path;
}

Status with_older(const Disk& disk, const std::string& path, const Status& why) {
  const std::string newest = newest_at(disk, path);
  if (why.code() != Code::kModel || newest == path) return why;
  const auto all = list(disk, path);
  if (!all) return why;
  for (auto one = all->rbegin(); one != all->rend(); ++one) {
    if (one->path != newest && one->status.ok() && verify(disk, one->path).ok())
      return with_hint(why, "the newest whole one is " + one->path);
  }
  return with_hint(why, "no other one in " + path + " is whole");
}

namespace {

// The training that keeps them may remove one while others are looked at.
bool is_gone(const Disk& disk, const std::string& path) {
  const auto found = disk.look(path);
  return found && *found == Entry::kNothing;
}

// A directory that is half removed has no checkpoint's name, whenever that ends.
Status remove_all(Disk& disk, const std::string& directory, const std::vector<std::string>& paths) {
  if (paths.empty()) return ok_status();
  std::vector<std::string> going;
  Status status;
  for (const std::string& path : paths) {
    std::string place = attempt_prefix(disk, directory) + "gone";
    if (Status moved = disk.replace(path, place); !moved.ok()) {
      if (is_gone(disk, path)) continue;
      status = std::move(moved);
      break;
    }
    going.push_back(std::move(place));
  }
  if (Status kept = disk.sync_directory(directory); !kept.ok()) return kept;
  for (const std::string& place : going) {
    if (Status removed = disk.remove(place); !removed.ok() && status.ok()) status = removed;
  }
  return status;
}

// Goes from the newest to older ones.
class Pruning {
 public:
  Pruning(const PruneOptions& options, Pruned& out)
      : options_(options), out_(out), kept_(options.spared.empty() ? 0 : 1) {}

  // Of another step than its name says: for its owner to name.
  void spare_misnamed(const Listed& one) {
    out_.damaged.push_back(one.status);
    if (one.manifest.base) needed_.insert(one.manifest.base->name);
  }

  Status look_at(const Disk& disk, Listed& one) {
    const bool spared = one.path == options_.spared;
    const bool wanted = kept_ < std::max(options_.keep, 1u);
    if (!spared && wanted) find_damage(disk, one);
    if (options_.reads && one.status.code() == Code::kIo) return one.status;  // It may be whole.
    const bool counts = !spared && (one.status.ok() ? wanted : kept_ == 0);
    kept_ += counts && one.status.ok();
    if (counts || spared || needed_.contains(directory_name(one.step))) {
      if (one.manifest.base) needed_.insert(one.manifest.base->name);
    } else {
      out_.gone.push_back(one.path);
    }
    return ok_status();
  }

 private:
  void find_damage(const Disk& disk, Listed& one) {
    if (one.status.ok() && options_.damaged.contains(one.step))
      one.status = Status(Code::kModel, one.path + ": damaged");
    if (one.status.ok() && options_.reads) one.status = verify(disk, one.path);
    if (!one.status.ok()) out_.damaged.push_back(one.status);
  }

  const PruneOptions& options_;
  Pruned& out_;
  std::uint32_t kept_;
  std::set<std::string> needed_;  // By those that are kept.
};

}  // namespace

Result<Pruned> prune(Disk& disk, const std::string& directory, const PruneOptions& options) {
  auto all = list(disk, directory);
  if (!all) return all.status();
  Pruned out;
  Pruning pruning(options, out);
  for (const Listed& one : *all) {
    if (one.misnamed) pruning.spare_misnamed(one);
  }
  for (auto one = all->rbegin(); one != all->rend(); ++one) {
    if (one->misnamed) continue;
    if (!one->status.ok() && is_gone(disk, one->path)) continue;
    if (Status seen = pruning.look_at(disk, *one); !seen.ok()) {
      if (is_gone(disk, one->path)) continue;
      return seen;
    }
  }
  if (Status status = remove_all(disk, directory, out.gone); !status.ok()) return status;
  return out;
}

}  // namespace thalweg::checkpoint
