// Checkpoints of servers' cuts: whole or not there, whatever happens to bytes and disks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/contents.h"
#include "checkpoint/part_file.h"
#include "checkpoint/reshard.h"
#include "net/system_disk.h"
#include "sim/disk.h"

namespace thalweg::checkpoint {
namespace {

TableSpec two_floats() {
  TableSpec spec;
  spec.name = "w";
  spec.dim = 2;
  spec.ranges = 4;
  return spec;
}

LoadEntry rows_of(std::uint16_t range, float value) {
  const std::uint64_t first = range_first_key(range, 4);
  return {RangeId{range},
          2,
          {Bytes::of(std::vector<std::uint64_t>{first, first + 5}),
           Bytes::of(std::vector<float>{value, value + 1, value + 2, value + 3})}};
}

Cut cut_of(const std::string& place, std::uint32_t server, Step step, float value) {
  Cut cut;
  cut.server = server;
  cut.order = {1, step, place};
  const auto first = static_cast<std::uint16_t>(2 * server);
  cut.tables.push_back({RangeSet(first, static_cast<std::uint16_t>(first + 2)), {rows_of(first, value)}});
  return cut;
}

// As a server has it stored, rows of one range after the other.
Result<std::string> store(Disk& disk, const Cut& cut) {
  const auto sink = store_cut(disk)(cut);
  if (!sink) return sink.status();
  for (std::uint16_t t = 0; t < cut.tables.size(); ++t) {
    for (const LoadEntry& entry : cut.tables[t].entries) {
      if (Status status = (*sink)->add(TableId{t}, entry); !status.ok()) return status;
    }
  }
  return (*sink)->finish();
}

// Two servers store, and what they say completes a checkpoint.
Result<std::string> save(Disk& disk, const std::string& directory, Step step, float value) {
  const std::string place = attempt_prefix(disk, directory) + "1";
  Manifest manifest;
  manifest.step = step;
  manifest.job = R"({"shards":8})";
  if (step.epoch > 0) manifest.history = R"({"losses":[0.1,null]})";
  manifest.inputs = "00";
  manifest.options["model"] = "lr";
  manifest.tables = {{"w", 4}};
  for (std::uint32_t server = 0; server < 2; ++server) {
    const auto told = store(disk, cut_of(place, server, step, value));
    if (!told) return told.status();
    const auto part = parse_part(*told);
    if (!part) return part.status();
    manifest.parts.push_back(*part);
  }
  return complete(disk, directory, place, manifest);
}

std::vector<float> rows_in(const Disk& disk, const std::string& path) {
  std::vector<float> all;
  const auto manifest = open(disk, path);
  if (!manifest) return all;
  for (const Part& part : manifest->parts) {
    const auto file = disk.open(path + "/" + part.file);
    const Status read = scan_blocks(**file, part, 1, [&](const BlockPlace& place) {
      const auto rows = read_rows(**file, place, two_floats());
      if (!rows) return rows.status();
      const auto values = rows->rows.values.as<float>();
      all.insert(all.end(), values.begin(), values.end());
      return ok_status();
    });
    EXPECT_TRUE(read.ok()) << read.message();
  }
  return all;
}

// Whoever loads it reads no more than that.
Status read_all(const Disk& disk, const std::string& path) {
  const auto contents = Contents::open(disk, path);
  if (!contents) return contents.status();
  for (const Contents::Block& block : contents->rows()) {
    if (const auto rows = contents->read(block); !rows) return rows.status();
  }
  for (const Contents::Block& block : contents->states()) {
    if (const auto state = read_plain(*block.file, block.place); !state) return state.status();
  }
  return ok_status();
}

TEST(Checkpoint, WhatServersGaveOutIsReadBack) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string path = *save(disk, folder / "", {3, 400}, 1);
  EXPECT_TRUE(path.ends_with("/step-3.400")) << path;
  EXPECT_TRUE(verify(disk, path).ok());
  EXPECT_EQ(rows_in(disk, path), (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
  const auto manifest = open(disk, path);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->step, (Step{3, 400}));
  EXPECT_EQ(manifest->rows(), 4u);
  EXPECT_EQ(manifest->job, R"({"shards":8})");
  EXPECT_EQ(manifest->history, R"({"losses":[0.1,null]})");
  EXPECT_EQ(passes_before(*manifest), 3u);
  EXPECT_NE(manifest->library_version, "");
  EXPECT_EQ(folder.entries(), 1u) << "no attempt is left";
}

TEST(Checkpoint, EveryFlippedByteAndEveryCutIsFound) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string path = *save(disk, folder / "", {0, 7}, 1);
  std::size_t changed = 0;
  const auto names = disk.list(path);
  ASSERT_EQ(names->size(), 3u);
  for (const std::string& name : *names) {
    const std::string file = path + "/" + name;
    const std::string whole = read_text(file);
    ASSERT_FALSE(whole.empty());
    for (std::size_t at = 0; at < whole.size(); ++at, ++changed) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      write_text(file, flipped);
      ASSERT_EQ(verify(disk, path).code(), Code::kModel) << name << " byte " << at;
      for (int bit = 0; bit < 8; ++bit) {
        flipped[at] = static_cast<char>(whole[at] ^ (1 << bit));
        write_text(file, flipped);
        ASSERT_EQ(read_all(disk, path).code(), Code::kModel) << name << " byte " << at << " bit " << bit;
      }
      write_text(file, whole.substr(0, at));
      ASSERT_EQ(verify(disk, path).code(), Code::kModel) << name << " cut at " << at;
      ASSERT_EQ(read_all(disk, path).code(), Code::kModel) << name << " cut at " << at;
    }
    write_text(file, whole + "x");
    ASSERT_EQ(verify(disk, path).code(), Code::kModel) << name << " with a byte more";
    ASSERT_EQ(read_all(disk, path).code(), Code::kModel) << name << " with a byte more";
    write_text(file, whole);
    ASSERT_TRUE(verify(disk, path).ok());
    ASSERT_TRUE(read_all(disk, path).ok());
  }
  EXPECT_GT(changed, 900u);
}

// Of a mode in which pushes count as they come: the server has pushes of two shards.
Cut cut_with_marks(const std::string& place, std::uint32_t server, Step step) {
  Cut cut = cut_of(place, server, step, 1);
  TableCut& table = cut.tables.front();
  for (std::uint16_t range = table.owned.runs().front().begin; range < table.owned.runs().front().end;
       ++range) {
    RangeState state;
    state.range = RangeId{range};
    state.marks = {Mark({0, 5u + range}), Mark({0, 9})};
    state.reached = {{{}, {0, 7 + server}, false}, {{}, {0, 9}, true}};
    state.replies.resize(2);
    table.states.push_back(std::move(state));
  }
  return cut;
}

Result<std::string> save_with_marks(Disk& disk, const std::string& directory, Step step) {
  Manifest manifest;
  manifest.step = step;
  manifest.job = "{}";
  manifest.tables = {{"w", 4}};
  const std::string place = attempt_prefix(disk, directory) + "1";
  for (std::uint32_t server = 0; server < 2; ++server) {
    const auto told = store(disk, cut_with_marks(place, server, step));
    if (!told) return told.status();
    manifest.parts.push_back(*parse_part(*told));
  }
  return complete(disk, directory, place, manifest);
}

TEST(Checkpoint, OfMarksTellsWhereShardsGoOn) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string path = *save_with_marks(disk, folder / "", {0, 5});
  const auto manifest = open(disk, path);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->reached(), (std::vector<Reached>{{{0, 5}, {0, 8}, false}, {{0, 9}, {0, 9}, true}}));
  EXPECT_NE(read_text(path + "/checkpoint.json").find("\"format_version\": 2"), std::string::npos);
  std::size_t states = 0;
  for (const Part& part : manifest->parts) {
    const auto file = disk.open(path + "/" + part.file);
    const Status read = scan_blocks(**file, part, 1, [&](const BlockPlace& place) {
      if (!holds_state(place)) return ok_status();
      const auto plain = read_plain(**file, place);
      if (!plain) return plain.status();
      const auto state = decode_begin(*plain, two_floats(), 2);
      EXPECT_TRUE(state && state->range == place.range && state->marks[1] == Mark({0, 9}));
      ++states;
      return ok_status();
    });
    EXPECT_TRUE(read.ok()) << read.message();
  }
  EXPECT_EQ(states, 4u);
  Random random(1);
  const auto names = disk.list(path);
  for (const std::string& name : *names) {
    const std::string whole = read_text(path + "/" + name);
    for (int i = 0; i < 200; ++i) {
      std::string flipped = whole;
      char& byte = flipped[random.below(flipped.size())];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
      write_text(path + "/" + name, flipped);
      ASSERT_EQ(verify(disk, path).code(), Code::kModel) << name;
    }
    write_text(path + "/" + name, whole);
  }
  EXPECT_TRUE(verify(disk, path).ok());
}

TEST(Checkpoint, OfOtherPartsHasTheSameContents) {
  const TemporaryFolder folder;
  SystemDisk disk;
  for (const bool marks : {false, true}) {
    const std::string from =
        marks ? *save_with_marks(disk, folder / "", {0, 5}) : *save(disk, folder / "", {1, 3}, 1);
    const auto before = open(disk, from);
    for (std::uint32_t parts = 1; parts <= 4; ++parts) {
      const std::string to = folder / fmt::format("of-{}", parts);
      const auto made = reshard(disk, from, to, parts);
      ASSERT_TRUE(made.ok()) << made.status().message();
      const auto after = open(disk, *made);
      ASSERT_EQ(after->parts.size(), parts);
      EXPECT_EQ(after->rows(), before->rows());
      EXPECT_EQ(after->step, before->step);
      EXPECT_EQ(after->reached(), before->reached());
      EXPECT_EQ(after->history, before->history);
      EXPECT_EQ(*content_hash(disk, *made), *content_hash(disk, from));
      EXPECT_EQ(reshard(disk, from, to, parts).status().code(), Code::kUsage) << "it is there already";
    }
    EXPECT_EQ(reshard(disk, from, folder / "none", 0).status().code(), Code::kUsage);
    EXPECT_EQ(reshard(disk, from, folder / "none", 5).status().code(), Code::kUsage);
    std::string flipped = read_text(from + "/server-1.part");
    flipped.back() = static_cast<char>(flipped.back() ^ 1);
    write_text(from + "/server-1.part", flipped);
    EXPECT_EQ(reshard(disk, from, folder / "none", 2).status().code(), Code::kModel);
    EXPECT_EQ(*disk.look(folder / "none"), Entry::kNothing);
  }
}

TEST(Checkpoint, AFullDiskLeavesNothingOfOtherParts) {
  SimDisk disk(1);
  ASSERT_TRUE(disk.make_directory("/c").ok());
  const auto from = save(disk, "/c", {0, 2}, 5);
  ASSERT_TRUE(from.ok()) << from.status().message();
  disk.set_free_bytes(40);
  const auto made = reshard(disk, *from, "/d", 2);
  EXPECT_EQ(made.status().code(), Code::kIo);
  EXPECT_NE(made.status().message().find("/d/"), std::string::npos) << made.status().message();
  EXPECT_EQ(*disk.look("/d"), Entry::kNothing);
  ASSERT_TRUE(disk.make_directory("/d").ok());
  EXPECT_FALSE(reshard(disk, *from, "/d", 2).ok());
  EXPECT_TRUE(disk.list("/d")->empty());
}

TEST(Checkpoint, PartsThatLackARangeMakeNone) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string place = attempt_prefix(disk, folder / "") + "1";
  Manifest manifest;
  manifest.job = "{}";
  manifest.tables = {{"w", 4}};
  manifest.parts.push_back(*parse_part(*store(disk, cut_of(place, 0, {}, 1))));
  const auto path = complete(disk, folder / "", place, manifest);
  EXPECT_NE(path.status().message().find(
                "of table w its parts have key ranges [0,2), 2 in all, expected each of 4 once"),
            std::string::npos)
      << path.status().message();
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Checkpoint, PruningSparesTheNewestWholeOne) {
  const TemporaryFolder folder;
  SystemDisk disk;
  std::vector<std::string> paths;
  for (const Step step : {Step{0, 9}, Step{0, 10}, Step{1, 2}, Step{1, 3}})
    paths.push_back(*save(disk, folder / "", step, 1));
  write_text(paths[3] + "/server-0.part", "short");
  const auto pruned = prune(disk, folder / "", {});
  EXPECT_EQ(pruned->gone, (std::vector<std::string>{paths[1], paths[0]}));
  ASSERT_EQ(pruned->damaged.size(), 1u);
  EXPECT_TRUE(pruned->damaged[0].message().starts_with(paths[3])) << pruned->damaged[0].message();
  const auto left = list(disk, folder / "");
  ASSERT_EQ(left->size(), 2u);
  EXPECT_EQ((*left)[0].path, paths[2]);
  EXPECT_TRUE((*left)[0].status.ok());
  EXPECT_FALSE((*left)[1].status.ok()) << "damaged, and newer: it may be looked at";
}

TEST(Checkpoint, OneNamedAsAnotherStepIsNone) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string older = *save(disk, folder / "", {0, 8}, 1), newer = *save(disk, folder / "", {1, 2}, 1);
  const std::string copy = folder / "step-0.9";
  std::filesystem::copy(older, copy);
  const Status why = verify(disk, copy);
  EXPECT_EQ(why.code(), Code::kModel);
  EXPECT_EQ(why.message(), copy +
                               ": its checkpoint.json is of step 0.8, expected the directory's name to be "
                               "step-0.8");
  EXPECT_EQ(open(disk, copy + "/").status().message(), why.message()) << "whatever way it is given";
  const auto all = list(disk, folder / "");
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1].path, copy);
  EXPECT_EQ((*all)[1].status.message(), why.message());
  EXPECT_EQ((*all)[1].misnamed, (Step{0, 8}));
  EXPECT_FALSE((*all)[0].misnamed || (*all)[2].misnamed);
  const auto pruned = prune(disk, folder / "", {});
  EXPECT_EQ(pruned->gone, std::vector{older}) << "a misnamed one may be all that is left of a step";
  ASSERT_EQ(pruned->damaged.size(), 1u);
  EXPECT_EQ(pruned->damaged[0].message(), why.message());
  std::filesystem::rename(copy, folder / "a-copy");
  EXPECT_TRUE(verify(disk, folder / "a-copy").ok()) << "other names say nothing";
}

TEST(Checkpoint, AFileNamedAsOneIsNone) {
  const TemporaryFolder folder;
  SystemDisk disk;
  const std::string older = *save(disk, folder / "", {0, 8}, 1), newer = *save(disk, folder / "", {1, 2}, 1);
  for (const char* name : {"step-0.1", "step-99.1"}) folder.write(name, "notes");
  std::filesystem::create_symlink("nowhere", folder / "step-99.2");
  EXPECT_EQ(list(disk, folder / "")->size(), 2u);
  EXPECT_EQ(newest_at(disk, folder / ""), newer);
  const auto pruned = prune(disk, folder / "", {.keep = 1, .reads = true});
  ASSERT_TRUE(pruned.ok()) << pruned.status().message();
  EXPECT_EQ(pruned->gone, std::vector{older});
  EXPECT_EQ(folder.entries(), 4u) << "files stay";
}

// Of a file that has its length.
void flip_a_bit(const std::string& path) {
  std::string text = read_text(path);
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
  write_text(path, text);
}

TEST(Checkpoint, PruningThatReadsKeepsWhatIsWholeByEachByte) {
  const TemporaryFolder folder;
  SystemDisk disk;
  std::vector<std::string> paths;
  for (std::uint32_t step = 1; step <= 5; ++step) paths.push_back(*save(disk, folder / "", {0, step}, 1));
  for (const int damaged : {2, 4}) flip_a_bit(paths[damaged] + "/server-1.part");
  const auto pruned = prune(disk, folder / "", {.keep = 2, .reads = true});
  EXPECT_EQ(pruned->gone, (std::vector<std::string>{paths[2], paths[0]}));
  ASSERT_EQ(pruned->damaged.size(), 2u);
  EXPECT_TRUE(pruned->damaged[0].message().starts_with(paths[4])) << pruned->damaged[0].message();
  for (const int whole : {1, 3}) EXPECT_TRUE(verify(disk, paths[whole]).ok());
  flip_a_bit(paths[1] + "/server-0.part");
  flip_a_bit(paths[3] + "/server-0.part");
  EXPECT_TRUE(prune(disk, folder / "", {.keep = 1, .reads = true})->gone.empty()) << "none is whole";
}

TEST(Checkpoint, PruningDoesNotCountWhatIsKnownToBeDamaged) {
  const TemporaryFolder folder;
  SystemDisk disk;
  std::vector<std::string> paths;
  for (std::uint32_t step = 1; step <= 4; ++step) paths.push_back(*save(disk, folder / "", {0, step}, 1));
  const auto pruned = prune(disk, folder / "", {.keep = 2, .spared = paths[1], .damaged = {{0, 4}, {0, 3}}});
  EXPECT_EQ(pruned->gone, (std::vector<std::string>{paths[3], paths[2]}));
  EXPECT_TRUE(verify(disk, paths[0]).ok());
}

TEST(Checkpoint, TheNewestIsNamedWhetherOrNotItIsWhole) {
  const TemporaryFolder folder;
  SystemDisk disk;
  std::vector<std::string> paths;
  for (std::uint32_t step = 1; step <= 3; ++step) paths.push_back(*save(disk, folder / "", {0, step}, 1));
  EXPECT_EQ(newest_at(disk, folder / ""), paths[2]);
  EXPECT_EQ(newest_at(disk, paths[0]), paths[0]);
  ASSERT_TRUE(disk.remove(paths[2] + "/checkpoint.json").ok());
  flip_a_bit(paths[1] + "/server-0.part");
  EXPECT_EQ(newest_at(disk, folder / ""), paths[2]);
  const Status why = verify(disk, paths[2]);
  EXPECT_EQ(why.code(), Code::kModel);
  EXPECT_EQ(with_older(disk, folder / "", why).message(),
            why.message() + "\nhint: the newest whole one is " + paths[0]);
  EXPECT_EQ(with_older(disk, paths[2], why).message(), why.message());
  ASSERT_TRUE(disk.remove(paths[0]).ok());
  EXPECT_TRUE(with_older(disk, folder / "", why).message().ends_with(" is whole"));
}

TEST(Checkpoint, TheNewestIsReadWhileATrainingReplacesIt) {
  const TemporaryFolder folder;
  SystemDisk disk;
  std::string newest = *save(disk, folder / "", {0, 1}, 1);
  int reads = 0;
  const auto read = [&](const std::string& path) {
    if (++reads > 3) return verify(disk, path);
    newest = *save(disk, folder / "", {0, 1 + static_cast<std::uint32_t>(reads)}, 1);
    EXPECT_TRUE(disk.remove(path).ok());
    return verify(disk, path);
  };
  EXPECT_TRUE(with_newest(disk, folder / "", read).ok());
  EXPECT_EQ(reads, 4);
  flip_a_bit(newest + "/server-0.part");
  EXPECT_EQ(with_newest(disk, folder / "", read).code(), Code::kModel);
  EXPECT_EQ(reads, 5) << "of damage, once";
}

// Wherever a disk loses power or fails while one is removed, no directory that has its name is half of it.
TEST(Checkpoint, WhatIsHalfRemovedHasNoCheckpointsName) {
  const auto fill = [](SimDisk& disk) {
    EXPECT_TRUE(disk.make_directory("/c").ok() && disk.sync_directory("/").ok());
    for (std::uint32_t step = 1; step <= 3; ++step) EXPECT_TRUE(save(disk, "/c", {0, step}, 1).ok());
    return disk.operations();
  };
  SimDisk calm(1);
  const std::uint64_t first = fill(calm);
  EXPECT_EQ(prune(calm, "/c", {})->gone.size(), 2u);
  const std::uint64_t operations = calm.operations() - first;
  ASSERT_GT(operations, 6u);
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (const bool dark : {true, false}) {
      SimDisk disk(at);
      fill(disk);
      dark ? disk.lose_power_at(first + at) : disk.fail_operation(first + at);
      (void)prune(disk, "/c", {});
      disk.restart();
      const auto all = list(disk, "/c");
      ASSERT_TRUE(all.ok());
      for (const Listed& one : *all)
        ASSERT_TRUE(one.status.ok() && verify(disk, one.path).ok()) << at << one.status.message();
      ASSERT_EQ(all->back().step, (Step{0, 3}));
      remove_attempts(disk, "/c");
      EXPECT_EQ(disk.list("/c")->size(), all->size());
    }
  }
}

// At each operation a disk loses power or fails: what is there is a whole checkpoint, and the older one
// always.
TEST(Checkpoint, ADiskThatFailsAnywhereLeavesWholeOnesAlone) {
  const auto operations = [] {
    SimDisk disk(1);
    EXPECT_TRUE(disk.make_directory("/c").ok());
    EXPECT_TRUE(save(disk, "/c", {0, 1}, 1).ok());
    const std::uint64_t first = disk.operations();
    EXPECT_TRUE(save(disk, "/c", {0, 2}, 5).ok());
    return std::pair(first, disk.operations() - first);
  }();
  std::size_t had = 0, lacked = 0;
  for (std::uint64_t at = 1; at <= operations.second + 1; ++at) {
    for (const bool dark : {true, false}) {
      SimDisk disk(at);
      ASSERT_TRUE(disk.make_directory("/c").ok());
      ASSERT_TRUE(disk.sync_directory("/").ok());
      ASSERT_TRUE(save(disk, "/c", {0, 1}, 1).ok());
      dark ? disk.lose_power_at(operations.first + 1 + at) : disk.fail_operation(operations.first + 1 + at);
      const auto saved = save(disk, "/c", {0, 2}, 5);
      disk.restart();
      const auto all = list(disk, "/c");
      ASSERT_TRUE(all.ok());
      for (const Listed& one : *all)
        ASSERT_TRUE(one.status.ok() && verify(disk, one.path).ok()) << at << one.status.message();
      ASSERT_GE(all->size(), 1u) << at;
      EXPECT_EQ(rows_in(disk, all->front().path), (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4})) << at;
      if (saved.ok()) {
        ASSERT_EQ(all->size(), 2u) << at;
      }
      ++(all->size() == 2 ? had : lacked);
      remove_attempts(disk, "/c");
      ASSERT_TRUE(save(disk, "/c", {0, 2}, 5).ok()) << "what was left is in nobody's way";
    }
  }
  EXPECT_GT(had, 0u);
  EXPECT_GT(lacked, 0u);
}

TEST(Checkpoint, AFullDiskIsNamedWithPathAndBytes) {
  SimDisk disk(1);
  ASSERT_TRUE(disk.make_directory("/c").ok());
  disk.set_free_bytes(20);
  const auto saved = save(disk, "/c", {0, 2}, 5);
  EXPECT_EQ(saved.status().code(), Code::kIo);
  EXPECT_NE(saved.status().message().find("/c/"), std::string::npos) << saved.status().message();
  EXPECT_NE(saved.status().message().find("bytes"), std::string::npos) << saved.status().message();
}

}  // namespace
}  // namespace thalweg::checkpoint
