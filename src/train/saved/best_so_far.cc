#include "train/saved/best_so_far.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <vector>

#include "net/etcd/etcd_place.h"
#include "train/rows/key_ages.h"

namespace thalweg {
namespace {

constexpr std::string_view kBeside = ".best-";
constexpr std::size_t kDigits = 8;  // Of the hash of a place in an etcd.

// Reads a number off the begin of `text`.
bool take_number(std::string_view& text, std::uint64_t& out) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

}  // namespace

Status BestSoFar::check(const TrainerOptions& options) {
  if (!options.checkpoint.directory.empty()) return ok_status();
  if (!is_etcd_place(options.state) || !options.out.empty()) return ok_status();
  return {Code::kUsage,
          "--keep best with --state in an etcd needs --out DIR, beside which the best model so far is kept, "
          "where every scheduler of the job finds it; expected that, or --keep last"};
}

BestSoFar::BestSoFar(const std::string& directory, std::uint32_t before)
    : parent_(disk_.resolve(directory)), prefix_(kBeside.substr(1)), before_(before) {}

BestSoFar::BestSoFar(const TrainerOptions& options, std::uint32_t before)
    : BestSoFar(options.checkpoint.directory.empty() ? options.state : options.checkpoint.directory, before) {
  if (options.checkpoint.directory.empty() && is_etcd_place(options.state)) {
    const std::filesystem::path out = disk_.resolve(options.out);
    parent_ = out.parent_path().string();
    const auto where = parse_etcd_place(options.state, options.state_tls);
    const std::string hash = hash_text(where ? where->prefix : options.state);
    prefix_ = fmt::format("{}{}{}-", out.filename().string(), kBeside, hash.substr(0, kDigits));
  }
}

std::string BestSoFar::place(std::uint64_t epoch) const {
  return fmt::format("{}/{}{}-{}", parent_, prefix_, before_, epoch);
}

void BestSoFar::each(
    const std::function<void(std::uint64_t, std::uint64_t, bool, const std::string&)>& take) const {
  const auto names = disk_.list(parent_);
  if (!names) return;
  for (const std::string& name : *names) {
    std::string_view rest = name;
    if (!rest.starts_with(prefix_)) continue;
    rest.remove_prefix(prefix_.size());
    std::uint64_t scheduler = 0, epoch = 0;
    if (!take_number(rest, scheduler) || !rest.starts_with('-')) continue;
    rest.remove_prefix(1);
    if (take_number(rest, epoch)) take(scheduler, epoch, rest.empty(), parent_ + "/" + name);
  }
}

Result<std::string> BestSoFar::find(std::uint64_t epoch) const {
  std::uint64_t newest = 0;
  std::string found;
  each([&](std::uint64_t scheduler, std::uint64_t of_epoch, bool whole, const std::string& path) {
    if (!whole || of_epoch != epoch || (!found.empty() && scheduler < newest)) return;
    newest = scheduler;
    found = path;
  });
  if (found.empty()) {
    return Status(
        Code::kModel,
        fmt::format("the best model so far, of epoch {}, is not in {} as {}N-{}; start the scheduler "
                    "where it is, or bring it back",
                    epoch, parent_, prefix_, epoch));
  }
  const auto whole = ModelReader::open(disk_, found);
  return whole ? Result<std::string>(found) : whole.status();
}

Status BestSoFar::take_in(const std::string& model, std::uint64_t epoch) {
  auto copy = StagedDirectory::create(disk_, place(epoch));
  if (!copy) return copy.status();
  const auto names = disk_.list(model);
  if (!names) return names.status();
  for (const std::string& name : *names) {
    const Status copied = copy_file(disk_, model + "/" + name, copy->staging() + "/" + name);
    if (!copied.ok()) return copied;
  }
  return copy->commit();
}

bool BestSoFar::has_behind(std::uint64_t epoch) const {
  bool found = false;
  each([&](std::uint64_t, std::uint64_t of_epoch, bool whole, const std::string&) {
    found = found || (whole && of_epoch > epoch);
  });
  return found;
}

void BestSoFar::forget_others(const std::string& place, const std::set<std::uint64_t>& passes) {
  std::vector<std::string> others;
  each([&](std::uint64_t scheduler, std::uint64_t epoch, bool whole, const std::string& path) {
    if (path == place || scheduler > before_ || (whole && passes.contains(epoch))) return;
    others.push_back(path);
  });
  for (const std::string& path : others) (void)disk_.remove(path);
}

std::uint64_t model_rows(const Manifest& manifest) {
  std::uint64_t rows = 0;
  for (const TableManifest& table : manifest.tables) {
    if (has_model_keys(table.spec)) rows += table.rows;
  }
  return rows;
}

}  // namespace thalweg
