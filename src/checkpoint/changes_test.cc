// Checkpoints that have the changes since another: with it they are whole, and without it they are none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/contents.h"
#include "checkpoint/part_file.h"
#include "checkpoint/reshard.h"
#include "net/system_disk.h"
#include "server/row_walk.h"
#include "sim/disk.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::uint16_t kChangedRanges = 6;
using RowsOfTable = std::map<std::uint64_t, std::vector<float>>;

TableSpec changed_table(bool dense) {
  TableSpec spec;
  spec.name = std::string(dense ? "dense" : "sparse");
  spec.dim = 3;
  spec.ranges = kChangedRanges;
  spec.rule.kind = RuleKind::kAdagrad;
  if (dense) spec.kind = TableSpec::Kind::kDense, spec.rows = 50;
  return spec;
}

// Servers that share the ranges of a sparse and a dense table, and store checkpoints of them.
class ChangingJob {
 public:
  ChangingJob(Disk& disk, std::string directory, std::uint32_t servers, std::uint64_t seed)
      : disk_(disk), directory_(std::move(directory)), random_(seed), servers_(servers) {
    for (std::uint32_t server = 0; server < servers; ++server) {
      const RangeSet owned(share(server), share(server + 1));
      for (const bool dense : {false, true})
        held_.push_back({std::move(*make_table(changed_table(dense), owned)), {}});
    }
  }

  void push(double share_of_rows) {
    for (Held& held : held_) {
      const TableSpec& spec = held.table->spec();
      for (const RangeSpan run : held.table->owned().runs()) push_to(held, spec, run, share_of_rows);
    }
  }
  // The changes since the newest, or all.
  Result<std::string> save(bool changes) {
    ++number_;
    const Step step{0, static_cast<std::uint32_t>(number_)};
    const std::string place = attempt_prefix(disk_, directory_) + "1";
    Manifest manifest;
    manifest.step = step;
    manifest.job = "{}";
    manifest.tables = {{"sparse", kChangedRanges}, {"dense", kChangedRanges}};
    const std::uint64_t since = changes ? base_ : 0;
    for (std::uint32_t server = 0; server < servers_; ++server) {
      auto part = store(server, place, step, since);
      if (!part) return part.status();
      manifest.parts.push_back(*std::move(part));
    }
    if (since > 0) {
      auto base = base_of(disk_, newest_);
      if (!base) return base.status();
      manifest.base = *std::move(base);
    }
    auto path = complete(disk_, directory_, place, manifest);
    if (path) newest_ = *path, base_ = number_;
    return path;
  }
  RowsOfTable rows(std::uint16_t table) const {
    RowsOfTable all;
    for (std::size_t h = table; h < held_.size(); h += 2) {
      for (std::uint16_t range = 0; range < kChangedRanges; ++range) {
        held_[h].table->scan(RangeId{range}, [&](const RowsView& view) {
          for (std::size_t i = 0; i < view.keys.size(); ++i) {
            const auto row = view.rows.subspan(i * view.width, view.width);
            all[view.keys[i]].assign(row.begin(), row.end());
          }
        });
      }
    }
    return all;
  }

 private:
  struct Held {
    std::unique_ptr<Table> table;
    TouchLog log;
  };
  std::uint16_t share(std::uint32_t server) const {
    return static_cast<std::uint16_t>(kChangedRanges * server / servers_);
  }
  void push_to(Held& held, const TableSpec& spec, RangeSpan run, double share_of_rows) {
    std::vector<std::uint64_t> keys;
    std::size_t rows = 0;
    if (spec.kind == TableSpec::Kind::kDense) {
      const std::uint64_t begin = range_first_row(run.begin, spec.ranges, spec.rows);
      keys.push_back(begin + random_.below(range_first_row(run.end, spec.ranges, spec.rows) - begin));
      rows = 1;
    } else {
      for (std::uint16_t range = run.begin; range < run.end; ++range) {
        for (std::uint64_t i = 0; i < 500; ++i) {
          if (random_.chance(share_of_rows)) keys.push_back(range_first_key(range, spec.ranges) + (i << 50));
        }
      }
      rows = keys.size();
    }
    std::vector<float> grads(rows * spec.dim);
    for (float& grad : grads) grad = static_cast<float>(random_.unit() - 0.5);
    const Contribution change{keys, grads};
    if (rows == 0) return;
    held.log.add(change);
    held.table->apply({&change, 1});
  }
  Result<Part> store(std::uint32_t server, const std::string& place, Step step, std::uint64_t since) {
    Cut cut;
    cut.server = server;
    cut.order = {number_, step, place, since};
    std::vector<RowWalk> walks;
    for (std::size_t t = 0; t < 2; ++t) {
      Held& held = held_[2 * server + t];
      TableCut& table = cut.tables.emplace_back(TableCut{held.table->owned()});
      table.touched = held.log.cut({number_, since}, *held.table);
      table.rows = held.table->stats().rows;
      walks.emplace_back(*held.table, table.touched);
    }
    const auto sink = store_cut(disk_)(cut);
    if (!sink) return sink.status();
    for (std::uint16_t t = 0; t < 2; ++t) {
      const std::size_t bytes = 1 + random_.below(3000);
      while (const auto rows = walks[t].next(bytes)) {
        if (Status status = (*sink)->add(TableId{t}, *rows); !status.ok()) return status;
      }
    }
    const auto told = (*sink)->finish();
    if (!told) return told.status();
    return parse_part(*told);
  }

  Disk& disk_;
  std::string directory_;
  Random random_;
  std::uint32_t servers_;
  std::vector<Held> held_;  // By server, sparse and dense.
  std::uint64_t number_ = 0, base_ = 0;
  std::string newest_;
};

RowsOfTable rows_in(const Contents& contents, std::uint16_t table) {
  RowsOfTable all;
  std::uint64_t last = 0;
  const Status read = contents.each(TableId{table}, [&](const BlockRows& block) {
    const auto keys = block.rows.keys.as<std::uint64_t>();
    const auto rows = block.rows.values.as<float>();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_TRUE(all.empty() || keys[i] > last) << "rows ascend";
      const auto row = rows.subspan(i * block.width, block.width);
      all[last = keys[i]].assign(row.begin(), row.end());
    }
    return ok_status();
  });
  EXPECT_TRUE(read.ok()) << read.message();
  return all;
}

void expect_has(const Disk& disk, const std::string& path, const std::vector<RowsOfTable>& wanted) {
  const auto contents = Contents::open(disk, path);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  for (std::uint16_t t = 0; t < 2; ++t) ASSERT_EQ(rows_in(*contents, t), wanted[t]) << path << " table " << t;
  EXPECT_EQ(contents->manifest().rows(), wanted[0].size() + wanted[1].size());
}

TEST(CheckpointOfChanges, ComesToAllRowsThroughAllThatItRefersTo) {
  std::uint64_t stored = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TemporaryFolder folder;
    SystemDisk disk;
    Random random = Random(seed).split(1);
    ChangingJob job(disk, folder / "", 1 + static_cast<std::uint32_t>(random.below(3)), seed);
    std::map<std::string, std::vector<RowsOfTable>> saved;
    for (int i = 0; i < 7; ++i) {
      job.push(i == 0 ? 0.7 : 0.03);
      const auto path = job.save(!random.chance(0.2));
      ASSERT_TRUE(path.ok()) << path.status().message();
      saved[*path] = {job.rows(0), job.rows(1)};
    }
    for (const auto& [path, wanted] : saved) {
      EXPECT_TRUE(verify(disk, path).ok());
      expect_has(disk, path, wanted);
      const auto manifest = open(disk, path);
      if (manifest->base) stored += manifest->stored_rows(), all += manifest->rows();
    }
    const std::string newest = saved.rbegin()->first;
    for (const std::uint32_t parts : {1u, 4u}) {
      const auto made = reshard(disk, newest, folder / fmt::format("of-{}", parts), parts);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_FALSE(open(disk, *made)->base) << "it has all rows itself";
      EXPECT_EQ(*content_hash(disk, *made), *content_hash(disk, newest));
      expect_has(disk, *made, saved.at(newest));
    }
  }
  EXPECT_GT(stored, 1000u);
  EXPECT_LT(stored * 8, all);
}

// The same rows of one server and of three, in other blocks.
TEST(CheckpointOfChanges, HasTheHashOfItsRowsAlone) {
  const TemporaryFolder folder;
  SystemDisk disk;
  ChangingJob job(disk, folder / "", 2, 5);
  job.push(0.5);
  const std::string whole = *job.save(false);
  const std::string nothing_changed = *job.save(true), in_other_blocks = *job.save(false);
  EXPECT_EQ(*content_hash(disk, whole), *content_hash(disk, nothing_changed));
  EXPECT_EQ(*content_hash(disk, whole), *content_hash(disk, in_other_blocks));
  job.push(0.01);
  EXPECT_NE(*content_hash(disk, *job.save(true)), *content_hash(disk, whole));
}

TEST(CheckpointOfChanges, EveryFlippedByteOfAllThatItRefersToIsFound) {
  const TemporaryFolder folder;
  SystemDisk disk;
  ChangingJob job(disk, folder / "", 2, 3);
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    job.push(0.02);
    paths.push_back(*job.save(i > 0));
  }
  ASSERT_TRUE(open(disk, paths.back())->base);
  Random random(1);
  std::size_t changed = 0;
  for (const std::string& path : paths) {
    const auto names = disk.list(path);
    for (const std::string& name : *names) {
      const std::string file = path + "/" + name, whole = read_text(file);
      for (std::size_t i = 0; i < 120; ++i, ++changed) {
        std::string flipped = whole;
        const std::size_t at = random.below(whole.size());
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.below(8)));
        write_text(file, flipped);
        ASSERT_EQ(verify(disk, paths.back()).code(), Code::kModel) << file << " byte " << at;
        write_text(file, whole.substr(0, at));
        ASSERT_EQ(verify(disk, paths.back()).code(), Code::kModel) << file << " cut at " << at;
      }
      write_text(file, whole);
    }
  }
  EXPECT_TRUE(verify(disk, paths.back()).ok());
  EXPECT_GT(changed, 900u);
}

TEST(CheckpointOfChanges, NamesTheOneThatIsMissingOrAnother) {
  const TemporaryFolder folder, aside;
  SystemDisk disk;
  ChangingJob job(disk, folder / "", 1, 3), other(disk, aside / "", 1, 4);
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    job.push(0.1);
    paths.push_back(*job.save(i > 0));
  }
  other.push(0.1);
  const std::string stranger = *other.save(false);
  std::filesystem::rename(paths[0], aside / "kept");
  const Status missing = verify(disk, paths[2]);
  EXPECT_EQ(missing.code(), Code::kModel);
  EXPECT_NE(missing.message().find("step-0.2 has the changes since step-0.1: "), std::string::npos)
      << missing.message();
  EXPECT_NE(missing.message().find("step-0.1: no such directory"), std::string::npos) << missing.message();
  std::filesystem::rename(stranger, paths[0]);
  EXPECT_TRUE(verify(disk, paths[0]).ok());
  const Status exchanged = verify(disk, paths[2]);
  EXPECT_NE(exchanged.message().find("step-0.1: it is another checkpoint"), std::string::npos)
      << exchanged.message();
  const auto all = list(disk, folder / "");
  ASSERT_EQ(all->size(), 3u);
  EXPECT_TRUE((*all)[0].status.ok());
  EXPECT_FALSE((*all)[1].status.ok() || (*all)[2].status.ok());
  EXPECT_EQ(newest_at(disk, folder / ""), paths[2]);
}

TEST(CheckpointOfChanges, PruningLeavesWhatTheNewestReferTo) {
  const TemporaryFolder folder;
  SystemDisk disk;
  ChangingJob job(disk, folder / "", 1, 3);
  std::vector<std::string> paths;
  for (const bool changes : {false, true, false, true, true, true}) {
    job.push(0.1);
    paths.push_back(*job.save(changes));
  }
  EXPECT_EQ(prune(disk, folder / "", {.keep = 2})->gone, (std::vector<std::string>{paths[1], paths[0]}));
  EXPECT_TRUE(verify(disk, paths[5]).ok());
  EXPECT_EQ(prune(disk, folder / "", {.keep = 1})->gone.size(), 0u) << "the newest needs them all";
  job.push(0.1);
  const std::string whole = *job.save(false);
  EXPECT_EQ(prune(disk, folder / "", {.keep = 1})->gone.size(), 4u);
  EXPECT_TRUE(verify(disk, whole).ok());
}

// At each operation a disk loses power or fails: what is there is whole, with all that it refers to.
TEST(CheckpointOfChanges, ADiskThatFailsAnywhereLeavesWholeOnes) {
  const auto run = [](SimDisk& disk, std::uint64_t fails_at, bool dark) {
    ChangingJob job(disk, "/c", 2, 1);
    job.push(0.02);
    EXPECT_TRUE(job.save(false).ok());
    const std::uint64_t first = disk.operations();
    if (fails_at > 0) dark ? disk.lose_power_at(first + fails_at) : disk.fail_operation(first + fails_at);
    job.push(0.02);
    (void)job.save(true);
    const std::uint64_t used = disk.operations() - first;
    disk.restart();
    return used;
  };
  const auto ready = [](SimDisk& disk) {
    ASSERT_TRUE(disk.make_directory("/c").ok());
    ASSERT_TRUE(disk.sync_directory("/").ok());
  };
  SimDisk calm(1);
  ready(calm);
  const std::uint64_t operations = run(calm, 0, false);
  std::size_t had = 0, lacked = 0;
  for (std::uint64_t at = 1; at <= operations + 1; ++at) {
    for (const bool dark : {true, false}) {
      SimDisk disk(at);
      ready(disk);
      (void)run(disk, at, dark);
      const auto all = list(disk, "/c");
      ASSERT_TRUE(all.ok() && !all->empty());
      for (const Listed& one : *all)
        ASSERT_TRUE(one.status.ok() && verify(disk, one.path).ok()) << at << one.status.message();
      ++(all->size() == 2 ? had : lacked);
    }
  }
  EXPECT_GT(had, 0u);
  EXPECT_GT(lacked, 0u);
}

}  // namespace
}  // namespace thalweg::checkpoint
