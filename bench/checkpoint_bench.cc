// What checkpoints of a large table cost, and how fast a training goes on from one.
//   checkpoint_bench DIR [ROWS [DIM [CUTS [SERVERS]]]]
//   checkpoint_bench --changes DIR [ROWS [DIM [CUTS [SERVERS]]]]
// DIR must not be there; it is made, and removed at the end. SERVERS servers, 1 unless told, have a sparse
// table of ROWS rows of DIM floats, adagrad, loaded first. One worker pulls and pushes random keys of it all
// the time. Printed of CUTS checkpoints: for how long it was answered nothing, and how many steps it made
// meanwhile, beside the same time without. Then the newest is loaded onto one server less, as many, one more,
// and twice as many, with its files out of the page cache, and stored again, which has to come to the same
// contents; beside reading the files alone and unpacking them alone.
// With --changes: of CUTS pairs each, a checkpoint of all rows, and one of what has changed since, when it is
// 1 % and 10 % of the rows: how long they take, how large they are, and for how long nothing was answered.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/check.h"
#include "base/hash/hash.h"
#include "base/mix.h"
#include "base/random.h"
#include "base/range.h"
#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/part_file.h"
#include "client/job/local_cluster.h"
#include "net/system_disk.h"
#include "train/checkpoint/checkpoint_keeper.h"
#include "train/checkpoint/resume.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr TableId kTable{0};
constexpr std::size_t kBatch = 512;  // Keys of a step.
constexpr std::size_t kLoadRows = std::size_t{1} << 14, kLoadsAhead = 8;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Watch {
  std::atomic<bool> loaded{false}, over{false};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::size_t> rows{0};      // That are pushed to; of none, steps are empty.
  std::atomic<std::int64_t> longest{0};  // Nanoseconds between two answers; set to 0 by whoever looks.
};

TableSpec table_of(std::uint32_t dim) {
  TableSpec table;
  table.name = "weights";
  table.dim = dim;
  table.rule.kind = RuleKind::kAdagrad;
  return table;
}

// As weights and sums of squares are, all of whose bits differ.
std::vector<float> learnt_rows(Random& random, std::size_t rows, std::size_t dim) {
  std::vector<float> out(rows * 2 * dim);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool weight = i / dim % 2 == 0;
    out[i] = static_cast<float>(weight ? random.unit() - 0.5 : 16 * random.unit());
  }
  return out;
}

// Keys 0 to `rows`, in their places.
std::vector<std::uint64_t> placed_numbers(std::size_t rows) {
  std::vector<std::uint64_t> keys(rows);
  for (std::size_t i = 0; i < rows; ++i) keys[i] = place(i);
  std::ranges::sort(keys);
  return keys;
}

Task<Status> load_all(ShardStore& store, const TableSpec& table, std::size_t rows) {
  const std::vector<std::uint64_t> keys = placed_numbers(rows);
  Random random(1);
  std::vector<Pending> loads;
  for (std::size_t done = 0; done < rows;) {
    const RangeId range = range_of(keys[done], table.ranges);
    std::vector<std::uint64_t> some;
    for (; done < rows && some.size() < kLoadRows && range_of(keys[done], table.ranges) == range; ++done)
      some.push_back(keys[done]);
    auto values = learnt_rows(random, some.size(), table.dim);
    loads.push_back(store.load(kTable, range, std::move(some), Rows(std::move(values))));
    if (loads.size() < kLoadsAhead && done < rows) continue;
    for (Pending& load : loads) {
      if (Status status = (co_await load).status; !status.ok()) co_return status;
    }
    loads.clear();
  }
  co_return (co_await store.barrier(kLoadedBarrier)).status;
}

Task<Status> push_some(Store& store, Random& random, std::size_t rows) {
  std::vector<Key> features(kBatch);
  for (Key& feature : features) feature = random.below(rows + rows / 100);  // Some are new.
  const Keys keys = Keys::of(features);
  const Answer pulled = co_await store.pull(kTable, keys);
  if (!pulled.status.ok()) co_return pulled.status;
  auto pushed = store.push(kTable, keys, Rows(std::vector<float>(pulled.rows.size(), 0.5f)));
  if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  co_return (co_await std::move(pushed)).status;
}

Task<Status> push_for_ever(Store& store, Watch& watch) {
  if (Status loaded = (co_await store.barrier(kLoadedBarrier)).status; !loaded.ok()) co_return loaded;
  watch.loaded = true;
  Random random(2);
  Clock::time_point answered = Clock::now();
  while (!watch.over) {
    Status status;
    if (const std::size_t rows = watch.rows; rows > 0) {
      status = co_await push_some(store, random, rows);
    } else {
      status = (co_await store.advance()).status;
    }
    if (!status.ok()) co_return status;
    const Clock::time_point now = Clock::now();
    const std::int64_t gap = (now - answered).count();
    if (gap > watch.longest) watch.longest = gap;
    answered = now;
    ++watch.steps;
  }
  if (const Answer ended = co_await store.end_work(); !ended.status.ok()) co_return ended.status;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

// A job of one worker that keeps checkpoints in `directory`.
class BenchJob {
 public:
  BenchJob(const TableSpec& table, std::size_t rows, const std::string& directory, std::uint32_t servers,
           std::uint32_t whole_every, std::function<Task<Status>(ShardStore&)> load) {
    watch_.rows = rows;
    CheckpointOptions kept;
    kept.whole_every = whole_every;
    kept.directory = directory;
    kept.every = std::chrono::hours(24);
    auto keeper = CheckpointKeeper::open(kept, false);
    THALWEG_CHECK(keeper.ok(), "checkpoints can be kept there");
    keeper_ = *std::move(keeper);
    LocalClusterOptions options;
    options.job.servers = servers;
    options.job.tables = {table};
    checkpoint::Manifest about;
    about.library_version = std::string("bench");
    about.job = std::string("{}");
    keeper_->follow(options.job, about, [] { return std::string("none"); }, {});
    options.store_cut = checkpoint::store_cut(disk_);
    options.program = [this](ShardStore& store, const wire::Map&) { return push_for_ever(store, watch_); };
    options.observer = [load](ShardStore& store, const wire::Map&) { return observe(store, load); };
    cluster_ = std::make_unique<LocalCluster>(std::move(options));
    while (!watch_.loaded) rest(milliseconds(1));
  }
  ~BenchJob() {
    watch_.over = true;
    while (!cluster_->wait(milliseconds(10))) {
    }
    THALWEG_CHECK(cluster_->status().ok(), "the job ends well");
    keeper_->finish();
  }

  Watch& watch() { return watch_; }
  void rest(milliseconds time) { THALWEG_CHECK(!cluster_->wait(time), "the job goes on"); }
  // Returns once it is complete.
  std::string checkpoint() {
    const std::uint64_t before = keeper_->completed();
    cluster_->ask_checkpoint();
    const auto say = [](TrainMessage, const std::string& line) { fmt::print(stderr, "{}\n", line); };
    while (keeper_->completed() == before) {
      THALWEG_CHECK(keeper_->failed() == 0, "checkpoints can be stored");
      rest(milliseconds(5));
      keeper_->work(*cluster_, say);
    }
    return keeper_->newest();
  }

 private:
  static Task<Status> observe(ShardStore& store, std::function<Task<Status>(ShardStore&)> load) {
    if (Status loaded = co_await load(store); !loaded.ok()) co_return loaded;
    co_return (co_await store.barrier(kLastBarrier)).status;
  }

  SystemDisk disk_;
  Watch watch_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  std::unique_ptr<LocalCluster> cluster_;
};

struct Measured {
  double seconds = 0, steps = 0, longest_ms = 0;
};

Measured measure(Watch& watch, const std::function<void()>& during) {
  watch.longest = 0;
  const std::uint64_t steps = watch.steps;
  const auto begin = Clock::now();
  during();
  return {seconds_since(begin), static_cast<double>(watch.steps - steps),
          static_cast<double>(watch.longest) / 1e6};
}

std::string bench_cuts(const TableSpec& table, const std::string& directory, std::size_t rows,
                       std::size_t cuts, std::uint32_t servers) {
  BenchJob job(table, rows, directory, servers, 1,
               [&](ShardStore& store) { return load_all(store, table, rows); });
  job.rest(milliseconds(500));
  std::string newest;
  for (std::size_t cut = 0; cut < cuts; ++cut) {
    const Measured without = measure(job.watch(), [&] { job.rest(milliseconds(3000)); });
    const Measured with = measure(job.watch(), [&] { newest = job.checkpoint(); });
    const double rate = without.steps / without.seconds;
    const double lost = with.seconds - with.steps / rate;
    fmt::print(
        "checkpoint {}: answered nothing for {:.1f} ms, without {:.1f} ms; {:.2f} s, {:.0f} steps a second, "
        "without {:.0f}: {:.2f} % of 5 minutes\n",
        cut + 1, with.longest_ms, without.longest_ms, with.seconds, with.steps / with.seconds, rate,
        lost / 300 * 100);
  }
  return newest;
}

void bench_changes(const TableSpec& table, const std::string& directory, std::size_t rows, std::size_t cuts,
                   std::uint32_t servers) {
  BenchJob job(table, rows, directory, servers, 2,
               [&](ShardStore& store) { return load_all(store, table, rows); });
  const SystemDisk disk;
  for (const std::size_t percent : {1, 10}) {
    job.watch().rows = rows * percent / 100;
    for (std::size_t cut = 0; cut < 2 * cuts; ++cut) {
      // Until nearly each of these rows has been pushed to.
      const std::uint64_t until = job.watch().steps + 5 * (job.watch().rows / kBatch);
      while (job.watch().steps < until) job.rest(milliseconds(10));
      std::string path;
      const Measured with = measure(job.watch(), [&] { path = job.checkpoint(); });
      const auto manifest = checkpoint::open(disk, path);
      THALWEG_CHECK(manifest.ok() && manifest->base.has_value() == (cut % 2 == 1),
                    "every other one is whole");
      fmt::print(
          "{} % of the rows pushed to: {}, {} rows of {}, {:.1f} MB, in {:.2f} s, answered nothing for "
          "{:.1f} ms\n",
          percent, manifest->base ? "what has changed" : "all", manifest->stored_rows(), manifest->rows(),
          static_cast<double>(manifest->bytes()) / 1e6, with.seconds, with.longest_ms);
    }
  }
}

void drop_from_cache(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  THALWEG_CHECK(fd >= 0 && ::fsync(fd) == 0, "the file can be opened and synced");
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

void drop_from_cache(const std::string& path, const checkpoint::Manifest& manifest) {
  for (const checkpoint::Part& part : manifest.parts) drop_from_cache(path + "/" + part.file);
}

double seconds_to_read(const std::string& path, const checkpoint::Manifest& manifest) {
  drop_from_cache(path, manifest);
  const auto begin = Clock::now();
  const SystemDisk disk;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (const checkpoint::Part& part : manifest.parts) {
    const auto file = disk.open(path + "/" + part.file);
    for (std::uint64_t at = 0; at < part.bytes; at += buffer.size()) {
      const std::size_t count = std::min<std::uint64_t>(buffer.size(), part.bytes - at);
      THALWEG_CHECK((*file)->read_at(at, std::span(buffer).first(count)).ok(), "it can be read");
    }
  }
  return seconds_since(begin);
}

// In memory, on one thread; and how many bytes that makes.
std::pair<double, std::uint64_t> unpack(const std::string& path, const checkpoint::Manifest& manifest) {
  const SystemDisk disk;
  double seconds = 0;
  std::uint64_t bytes = 0;
  for (const checkpoint::Part& part : manifest.parts) {
    const auto file = disk.open(path + "/" + part.file);
    std::vector<std::byte> frame, plain;
    const Status scanned = checkpoint::scan_blocks(**file, part, 1, [&](const checkpoint::BlockPlace& place) {
      frame.resize(place.stored_bytes);
      plain.resize(std::max<std::size_t>(plain.size(), place.bytes));
      if (Status read = (*file)->read_at(place.offset, frame); !read.ok()) return read;
      const auto begin = Clock::now();
      THALWEG_CHECK(ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size()) == place.bytes,
                    "it can be unpacked");
      seconds += seconds_since(begin);
      bytes += place.bytes;
      return ok_status();
    });
    THALWEG_CHECK(scanned.ok(), "it can be read");
  }
  return {seconds, bytes};
}

// Of all rows with their keys, whatever blocks and parts they are in.
std::uint64_t rows_hash(const std::string& path, const checkpoint::Manifest& manifest,
                        const TableSpec& table) {
  const SystemDisk disk;
  std::uint64_t sum = 0;
  for (const checkpoint::Part& part : manifest.parts) {
    const auto file = disk.open(path + "/" + part.file);
    const Status scanned = checkpoint::scan_blocks(**file, part, 1, [&](const checkpoint::BlockPlace& place) {
      const auto block = checkpoint::read_rows(**file, place, table);
      if (!block) return block.status();
      const auto keys = block->rows.keys.as<std::uint64_t>();
      const std::size_t bytes = block->width * sizeof(float);
      for (std::size_t i = 0; i < keys.size(); ++i)
        sum += splitmix(keys[i] ^ hash64(block->rows.values.span().data() + i * bytes, bytes));
      return ok_status();
    });
    THALWEG_CHECK(scanned.ok(), "it can be read");
  }
  return sum;
}

void bench_restore(const TableSpec& table, const std::string& path, const std::string& directory,
                   std::uint32_t stored_by) {
  SystemDisk disk;
  const auto manifest = checkpoint::open(disk, path);
  THALWEG_CHECK(manifest.ok(), "there is a checkpoint");
  const double mb = static_cast<double>(manifest->bytes()) / 1e6;
  const std::uint64_t before = rows_hash(path, *manifest, table);
  for (const std::uint32_t servers : {stored_by - 1, stored_by, stored_by + 1, std::max(3u, 2 * stored_by)}) {
    if (servers == 0) continue;
    const double reading = seconds_to_read(path, *manifest);
    const auto [unpacking, plain] = unpack(path, *manifest);
    const double plain_mb = static_cast<double>(plain) / 1e6;
    drop_from_cache(path, *manifest);
    const auto begin = Clock::now();
    std::vector<PassedOver> passed_over;
    CheckpointOptions resumed;
    resumed.resume = path;
    const auto from = find_resume(resumed, LooksAt::kLoad, passed_over);
    THALWEG_CHECK(from.ok(), "it is there");
    const double finding = seconds_since(begin);
    double loading = 0;
    const auto load = [&](ShardStore& store) -> Task<Status> {
      const auto began = Clock::now();
      std::vector<TableSpec> tables(1, table);
      Status loaded = co_await load_checkpoint(store, **from, std::move(tables));
      if (!loaded.ok()) co_return loaded;
      loading = seconds_since(began);
      co_return (co_await store.barrier(kLoadedBarrier)).status;
    };
    const std::string again = fmt::format("{}/onto-{}", directory, servers);
    std::string again_at;
    {
      BenchJob job(table, 0, again, servers, 1, load);
      again_at = job.checkpoint();
    }
    const auto stored = checkpoint::open(disk, again_at);
    THALWEG_CHECK(
        stored.ok() && rows_hash(again_at, *stored, table) == before && stored->rows() == manifest->rows(),
        "what was loaded is stored again");
    std::filesystem::remove_all(again);
    fmt::print(
        "onto {} servers: {:.0f} MB of files, {:.0f} MB of rows: {:.2f} s to load and to look at all of it, "
        "{:.0f} MB/s of files and {:.0f} MB/s of rows; reading alone {:.0f} MB/s of files, unpacking alone "
        "{:.0f} MB/s of rows\n",
        servers, mb, plain_mb, finding + loading, mb / (finding + loading), plain_mb / (finding + loading),
        mb / reading, plain_mb / unpacking);
  }
}

int main_of(int argc, char** argv) {
  const bool changes = argc > 1 && std::string(argv[1]) == "--changes";
  const int first = changes ? 2 : 1;
  if (argc <= first) {
    fmt::print(stderr, "usage: checkpoint_bench [--changes] DIR [ROWS [DIM [CUTS [SERVERS]]]]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string directory = argv[first];
  const auto number = [&](int at, std::size_t unless_told) {
    return argc > first + at ? static_cast<std::size_t>(std::atoll(argv[first + at])) : unless_told;
  };
  const std::size_t rows = number(1, 8'000'000), cuts = number(3, 3);
  const TableSpec table = table_of(static_cast<std::uint32_t>(number(2, 16)));
  const auto servers = static_cast<std::uint32_t>(number(4, 1));
  if (!std::filesystem::create_directory(directory)) {
    fmt::print(stderr, "{}: it is there already, expected a directory to make\n", directory);
    return 2;
  }
  if (changes) {
    bench_changes(table, directory + "/kept", rows, cuts, servers);
  } else {
    const std::string newest = bench_cuts(table, directory + "/kept", rows, cuts, servers);
    bench_restore(table, newest, directory, servers);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) { return thalweg::main_of(argc, argv); }
