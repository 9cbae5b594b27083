#include "model/format/model_dir.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "model/format/file.h"
#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

TEST(ModelDir, ReadsBackWhatWasWritten) {
  TemporaryFolder folder;
  SystemDisk disk;
  for (const std::size_t rows : {0u, 1u, 5u, 50000u}) {
    const ModelSpec spec = fm_spec();
    const std::vector<TestTable> tables = test_tables(spec, rows, rows);
    const Result<std::uint64_t> digest = save_model(folder / "model", spec, tables);
    ASSERT_TRUE(digest.ok()) << digest.status().message();
    const Result<ModelReader> reader = ModelReader::open(disk, folder / "model");
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(reader->manifest().model, spec);
    EXPECT_EQ(reader->manifest().options,
              (std::map<std::string, std::string>{{"epochs", "2"}, {"rate", "0.1"}}));
    EXPECT_EQ(reader->manifest().metrics, (std::map<std::string, double>{{"valid_auc", 0.75}}));
    EXPECT_EQ(reader->manifest().digest, *digest);
    EXPECT_EQ(*reader->compute_digest(), *digest);
    for (std::size_t t = 0; t < tables.size(); ++t) {
      EXPECT_EQ(reader->manifest().tables[t].spec, tables[t].spec);
      const bool sparse = tables[t].spec.kind == TableSpec::Kind::kSparse;
      std::vector<std::uint64_t> keys;
      std::vector<float> values;
      const Status status = reader->scan(t, true, [&](const StoredRows& block) {
        EXPECT_EQ(block.width, tables[t].width);
        for (const Key key : block.keys) keys.push_back(sparse ? place(key) : key);
        values.insert(values.end(), block.rows.begin(), block.rows.end());
        return ok_status();
      });
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(keys, tables[t].keys);
      EXPECT_EQ(values, tables[t].rows);
    }
  }
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(ModelDir, SaysWhenAndFromWhatAModelWasMadeAndTheDigestDoesNot) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  TrainingRecord record{"2026-11-25T15:04:05Z", 1000, 8, 3, 3, 2, 2, {}, 5};
  record.files = {{"a \"b\".svm", 123, "00000000000000aa", "00000000000000bb"},
                  {"standard input", 0, {}, {}}};
  const auto save = [&](const std::string& name, std::optional<TrainingRecord> training) {
    const auto writer = ModelWriter::create(disk, folder / name);
    EXPECT_TRUE(write_tables(**writer, test_tables(spec, 5, 1)).ok());
    return *(*writer)->commit(spec, {}, {}, std::move(training));
  };
  EXPECT_EQ(save("with", record), save("without", std::nullopt));
  const auto reader = ModelReader::open(disk, folder / "with");
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->manifest().training, record);
  EXPECT_EQ(ModelReader::open(disk, folder / "without")->manifest().training, std::nullopt);
}

TEST(ModelDir, DigestIgnoresStateAndOrderAndSeesKeysRowsAndTables) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  std::vector<TestTable> tables = test_tables(spec, 20, 1);
  const std::uint64_t digest = *save_model(folder / "a", spec, tables);
  tables[1].rows[1] += 1;  // State of the first weight.
  EXPECT_EQ(*save_model(folder / "b", spec, tables), digest);
  tables[1].rows[0] += 1;
  const std::uint64_t other_weight = *save_model(folder / "c", spec, tables);
  EXPECT_NE(other_weight, digest);
  ++tables[1].keys[0];
  EXPECT_NE(*save_model(folder / "d", spec, tables), other_weight);
  const std::vector<float> row = {1, 2}, other = {3, 4};
  TableDigest forward(2), backward(2), left(2), right(2);
  forward.add(7, row), forward.add(8, other);
  backward.add(8, other), backward.add(7, row);
  left.add(7, row), right.add(8, other);
  EXPECT_EQ(forward.sum(), backward.sum());
  EXPECT_EQ(forward.sum(), left.sum() + right.sum());
  EXPECT_NE(table_part_of_digest("weights", forward.sum()), table_part_of_digest("factors", forward.sum()));
  EXPECT_EQ(digest_text(0x12ab), "00000000000012ab");
}

TEST(ModelDir, DigestIsTheSumOfThoseOfSingleRowsHoweverMany) {
  for (const std::size_t dim : {1u, 7u, 1000u}) {
    TableDigest all(dim);
    std::uint64_t sum = 0;
    std::vector<float> row(dim);
    for (Key key = 0; key < 300; ++key) {
      row[key % dim] = static_cast<float>(key);
      TableDigest one(dim);
      one.add(key, row);
      all.add(key, row);
      sum += one.sum();
      ASSERT_EQ(all.sum(), sum) << key << " of dimension " << dim;
    }
  }
}

TEST(ModelDir, OfACheckpointItIsSaidWhatMakesAModel) {
  TemporaryFolder folder;
  SystemDisk disk;
  const auto opened = [&] { return ModelReader::open(disk, folder / "kept").status().message(); };
  fs::create_directory(folder / "kept");
  EXPECT_EQ(opened().find("ckpt export"), std::string::npos) << opened();
  write_text(folder / "kept/checkpoint.json", "{}");
  EXPECT_NE(opened().find("thalweg ckpt export"), std::string::npos) << opened();
}

TEST(ModelDir, FlippedBytesAreFoundAndTheirFileNamed) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  ASSERT_TRUE(save_model(folder / "model", spec, test_tables(spec, 6, 2)).ok());
  for (const char* name : {"model.json", "bias.safetensors", "weights.safetensors", "factors.safetensors"}) {
    const std::string path = folder / "model/" + name;
    const std::string good = read_text(path);
    ASSERT_GT(good.size(), 40u);
    const auto expect_refused = [&](const std::string& bad, const std::string& how) {
      write_text(path, bad);
      const Result<ModelReader> reader = ModelReader::open(disk, folder / "model");
      ASSERT_FALSE(reader.ok()) << name << ' ' << how;
      EXPECT_EQ(reader.status().code(), Code::kModel);
      EXPECT_NE(reader.status().message().find(name), std::string::npos) << reader.status().message();
    };
    for (std::size_t i = 0; i < good.size(); i += 7) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      ASSERT_NO_FATAL_FAILURE(expect_refused(bad, "byte " + std::to_string(i)));
    }
    ASSERT_NO_FATAL_FAILURE(expect_refused(good.substr(0, good.size() - 1), "cut"));
    ASSERT_NO_FATAL_FAILURE(expect_refused(good + "x", "longer"));
    ASSERT_NO_FATAL_FAILURE(expect_refused("", "empty"));
    write_text(path, good);
  }
  EXPECT_TRUE(ModelReader::open(disk, folder / "model").ok());
}

TEST(ModelDir, OtherVersionsAndMissingPartsAreNamed) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  ASSERT_TRUE(save_model(folder / "model", spec, test_tables(spec, 6, 2)).ok());
  const std::string good = read_text(folder / "model/model.json");
  std::string other = good;
  const std::string version = "\"format_version\": 1";
  other.replace(other.find(version), version.size(), "\"format_version\": 7");
  write_text(folder / "model/model.json", other);
  const Status status = ModelReader::open(disk, folder / "model").status();
  EXPECT_EQ(status.code(), Code::kModel);
  EXPECT_NE(status.message().find("version 7"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("reads version 1"), std::string::npos) << status.message();
  write_text(folder / "model/model.json", good);
  fs::remove(folder / "model/weights.safetensors");
  EXPECT_NE(ModelReader::open(disk, folder / "model").status().message().find("weights.safetensors"),
            std::string::npos);
  fs::remove(folder / "model/model.json");
  EXPECT_NE(ModelReader::open(disk, folder / "model").status().message().find("no model.json"),
            std::string::npos);
  EXPECT_EQ(ModelReader::open(disk, folder / "nowhere").status().code(), Code::kIo);
}

// What is said of a model whose first `member` is `value`.
std::string with_member(const std::string& member, const std::string& value) {
  TemporaryFolder folder;
  const ModelSpec spec = fm_spec();
  EXPECT_TRUE(save_model(folder / "model", spec, test_tables(spec, 6, 2)).ok());
  std::string body = read_text(folder / "model/model.json");
  body.resize(body.find(",\n  \"checksum\""));
  const std::size_t at = body.find("\"" + member + "\": ") + member.size() + 4;
  body.replace(at, body.find(',', at) - at, value);
  return parse_manifest("m/model.json", body + ",\n  \"checksum\": \"" + hash_text(body) + "\"\n}\n")
      .status()
      .message();
}

TEST(ModelDir, NumbersThatAFloatDoesNotHoldAreNamed) {
  const std::string said = with_member("rate", "1e208");
  EXPECT_NE(said.find("rate' is missing or not a number that a float holds"), std::string::npos) << said;
}

TEST(ModelDir, ARuleOfAnotherVersionIsNamed) {
  const std::string said = with_member("kind", R"("yo\u001bgi")");
  EXPECT_NE(said.find(R"(kind' is "yo\u001bgi"; this version of thalweg knows add, )"), std::string::npos)
      << said;
}

TEST(ModelDir, ReplacesAModelOnlyWhenTheNewOneIsWhole) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  const std::uint64_t first = *save_model(folder / "model", spec, test_tables(spec, 20, 1));
  {
    std::unique_ptr<ModelWriter> writer = *ModelWriter::create(disk, folder / "model");
    ASSERT_TRUE(write_tables(*writer, test_tables(spec, 30, 9)).ok());
    EXPECT_EQ(ModelReader::open(disk, folder / "model")->manifest().digest, first);
  }
  EXPECT_EQ(folder.entries(), 1u) << "a dropped writer leaves nothing";
  EXPECT_EQ(ModelReader::open(disk, folder / "model")->manifest().digest, first);
  const std::uint64_t second = *save_model(folder / "model/", spec, test_tables(spec, 30, 9));
  EXPECT_NE(second, first);
  EXPECT_EQ(ModelReader::open(disk, folder / "model")->manifest().digest, second);
  EXPECT_EQ(folder.entries(), 1u);
}

// Another training is done between the reading of the manifest and that of the tables, so many times.
class BusyPlace final : public SystemDisk {
 public:
  BusyPlace(std::string path, int times) : path_(std::move(path)), left_(times) {}
  Result<std::unique_ptr<File>> open(const std::string& path) const override {
    if (path.ends_with(".safetensors") && left_ > 0) {
      EXPECT_TRUE(save_model(path_, fm_spec(), test_tables(fm_spec(), 30, --left_ + 1)).ok());
    }
    return SystemDisk::open(path);
  }

 private:
  const std::string path_;
  mutable int left_;
};

TEST(ModelDir, IsWholeWhereAnotherModelTakesItsPlace) {
  TemporaryFolder folder;
  for (const int times : {1, 3}) {
    const BusyPlace disk(folder / "model", times);
    ASSERT_TRUE(save_model(folder / "model", fm_spec(), test_tables(fm_spec(), 20, 77)).ok());
    const auto read = ModelReader::open(disk, folder / "model");
    ASSERT_TRUE(read) << read.status().message();
    EXPECT_EQ(read->manifest().digest, ModelReader::open(SystemDisk(), folder / "model")->manifest().digest);
    EXPECT_EQ(*read->compute_digest(), read->manifest().digest);
  }
}

TEST(ModelDir, RemovesWhatKilledWritersLeftAndNothingElse) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  const std::vector<std::string> others = {"model.tmp-0123456789abcde", "model.tmp-0123456789abcdeg",
                                           "model.tmp-0123456789abcdef.old", "models.tmp-0123456789abcdef"};
  for (const std::string& name : others) fs::create_directory(folder / name);
  fs::create_directory(folder / "model.tmp-00112233aabbccdd");
  write_text(folder / "model.tmp-00112233aabbccdd/weights.safetensors", "half of it");
  write_text(folder / "model.tmp-aaaaaaaaaaaaaaaa", "of an export to a file");
  const std::unique_ptr<ModelWriter> at_it = *ModelWriter::create(disk, folder / "model");
  EXPECT_EQ(folder.entries(), others.size() + 1) << "those that nobody writes are gone";
  ASSERT_TRUE(save_model(folder / "model", spec, test_tables(spec, 20, 1)).ok());
  EXPECT_EQ(folder.entries(), others.size() + 2);
  ASSERT_TRUE(write_tables(*at_it, test_tables(spec, 30, 9)).ok()) << "a writer at work keeps its own";
  ASSERT_TRUE(at_it->commit(spec, {}, {}).ok());
  EXPECT_EQ(folder.entries(), others.size() + 1);
}

// Root may look everywhere, so it becomes somebody else for a moment.
Status opened_by_nobody(const std::string& path) {
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(root ? ::seteuid(65534) : 0, 0);
  const Status status = ModelReader::open(SystemDisk(), path).status();
  EXPECT_EQ(root ? ::seteuid(0) : 0, 0);
  return status;
}

TEST(ModelDir, AModelThatCannotBeReadSaysWhy) {
  TemporaryFolder folder;
  const ModelSpec spec = fm_spec();
  fs::permissions(folder / ".", fs::perms::all);
  fs::create_directory(folder / "closed");
  ASSERT_TRUE(save_model(folder / "closed/model", spec, test_tables(spec, 3, 1)).ok());
  write_text(folder / "file", "x");
  fs::create_symlink("loop", folder / "loop");
  const auto expect = [&](const std::string& name, const std::string& why) {
    const Status status = opened_by_nobody(folder / name);
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find(folder / name), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  };
  expect("nowhere", "no such directory");
  expect("file", "it is a file, expected a model's directory");
  expect("loop", "Too many levels of symbolic links");
  fs::permissions(folder / "closed/model/model.json", fs::perms::none);
  expect("closed/model", "cannot open " + (folder / "closed/model/model.json") + ": Permission denied");
  fs::permissions(folder / "closed/model", fs::perms::none);
  expect("closed/model", "Permission denied");
  fs::permissions(folder / "closed", fs::perms::none);
  expect("closed/model", "cannot look at " + (folder / "closed/model") + ": Permission denied");
  fs::permissions(folder / "closed", fs::perms::owner_all);
  fs::permissions(folder / "closed/model", fs::perms::owner_all);
}

TEST(ModelDir, LinksAreFollowed) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  ASSERT_TRUE(save_model(folder / "real", spec, test_tables(spec, 2, 1)).ok());
  fs::create_directory_symlink(folder / "real", folder / "link");
  const std::uint64_t digest = *save_model(folder / "link", spec, test_tables(spec, 4, 2));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(ModelReader::open(disk, folder / "real")->manifest().digest, digest);
}

TEST(ModelDir, RefusesWhatIsInTheWay) {
  TemporaryFolder folder;
  SystemDisk disk;
  write_text(folder / "file", "x");
  fs::create_directory(folder / "other");
  write_text(folder / "other/notes", "x");
  fs::create_directory(folder / "empty");
  for (const char* name : {"file", "other", "missing/model"}) {
    const Status status = ModelWriter::create(disk, folder / name).status();
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find(folder / ""), std::string::npos) << status.message();
  }
  EXPECT_EQ(read_text(folder / "other/notes"), "x");
  EXPECT_TRUE(check_model_destination(disk, folder / "empty").ok());
  const ModelSpec spec = fm_spec();
  EXPECT_TRUE(save_model(folder / "empty", spec, test_tables(spec, 3, 1)).ok());
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(ModelDir, WhatOthersPutBesideAModelIsNeverLost) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  const std::string model = folder / "model";
  ASSERT_TRUE(save_model(model, spec, test_tables(spec, 3, 1)).ok());
  write_text(model + "/names.tsv", "of the model");
  auto writer = ModelWriter::create(disk, model);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  write_text(model + "/scores.txt", "0.5");  // While it is being replaced.
  ASSERT_TRUE((*writer)->commit(spec, {}, {}).ok());
  EXPECT_EQ(read_text(model + "/scores.txt"), "0.5");
  EXPECT_FALSE(fs::exists(model + "/names.tsv"));

  const Status refused = ModelWriter::create(disk, model).status();
  EXPECT_EQ(refused.code(), Code::kIo);
  EXPECT_NE(refused.message().find("'scores.txt' there is not of the model"), std::string::npos)
      << refused.message();
  fs::remove(model + "/scores.txt");
  fs::create_directory(model + "/inner");
  EXPECT_FALSE(check_model_destination(disk, model).ok());
}

// A limit on file size stands for a full disk: the same call fails in the same place.
TEST(ModelDir, FailedWriteNamesPathAndBytesAndLeavesNothing) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec(8);
  const std::vector<TestTable> tables = test_tables(spec, 20000, 3);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{256 << 10, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = save_model(folder / "model", spec, tables).status();
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("cannot write"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(" bytes at "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(folder / "model"), std::string::npos) << status.message();
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(ModelDir, RowsAppendedTogetherAreThoseAppendedOneByOne) {
  TemporaryFolder folder;
  SystemDisk disk;
  std::vector<TestTable> tables = test_tables(fm_spec(8), 3000, 3);
  TestTable& wide = tables.emplace_back();
  wide.spec.name = "wide";
  wide.spec.kind = TableSpec::Kind::kDense;
  wide.spec.dim = 5000, wide.spec.rows = 3, wide.width = 10001;
  wide.keys = {0, 1, 2};
  for (std::size_t i = 0; i < 3 * wide.width; ++i) wide.rows.push_back(static_cast<float>(i));
  const auto hashes = [&](std::size_t rows_at_once) {
    std::unique_ptr<ModelWriter> writer = *ModelWriter::create(disk, folder / "model");
    EXPECT_TRUE(write_tables(*writer, tables, rows_at_once).ok());
    std::vector<std::string> found = {std::to_string(*writer->commit(fm_spec(8), {}, {}))};
    for (const TestTable& table : tables) {
      const std::string path = folder / "model" + "/" + table.spec.name + ".safetensors";
      found.push_back(*hash_file(**disk.open(path)));
    }
    return found;
  };
  const std::vector<std::string> singly = hashes(1);
  EXPECT_EQ(hashes(700), singly);
  EXPECT_EQ(hashes(100000), singly);
}

TEST(ModelDir, ADigestIsThereWhileItsTableIsWritten) {
  TemporaryFolder folder;
  SystemDisk disk;
  const TestTable table = test_tables(fm_spec(8), 20, 3).back();
  std::unique_ptr<ModelWriter> writer = *ModelWriter::create(disk, folder / "model");
  ASSERT_TRUE(writer->begin_table(table.spec, table.keys.size(), table.width).ok());
  TableDigest digest(table.spec.dim);
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    const auto row = std::span(table.rows).subspan(i * table.width, table.width);
    ASSERT_TRUE(writer->append({&table.keys[i], 1}, row).ok());
    digest.add(unplace(table.keys[i]), row.first(table.spec.dim));
    EXPECT_EQ(writer->digest_of_table(), digest.sum());
  }
}

TEST(ModelDir, WriterRefusesRowsOutOfOrderOrNumber) {
  TemporaryFolder folder;
  SystemDisk disk;
  TableSpec spec;
  spec.name = "weights";
  const std::vector<float> two = {1, 2};
  const auto write = [&](std::uint64_t announced, std::vector<std::uint64_t> keys) {
    std::unique_ptr<ModelWriter> writer = *ModelWriter::create(disk, folder / "model");
    EXPECT_TRUE(writer->begin_table(spec, announced, 1).ok());
    const Status status = writer->append(keys, two);
    return status.ok() ? writer->end_table() : status;
  };
  EXPECT_TRUE(write(2, {4, 5}).ok());
  EXPECT_EQ(write(2, {5, 4}).code(), Code::kModel);
  EXPECT_EQ(write(2, {4, 4}).code(), Code::kModel);
  EXPECT_EQ(write(2, {4, kNoPlace}).code(), Code::kModel);
  EXPECT_EQ(write(1, {4, 5}).code(), Code::kModel);
  EXPECT_EQ(write(3, {4, 5}).code(), Code::kModel);
}

}  // namespace
}  // namespace thalweg
