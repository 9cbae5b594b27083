#include "model/format/model_export.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

std::string python_rows(const TemporaryFolder& folder, const char* kind, const std::string& path) {
  const std::string out = folder / "printed";
  const std::string command = fmt::format("{} '{}/tests/model/read_model.py' {} '{}' > '{}'", kPython,
                                          THALWEG_SOURCE_DIR, kind, path, out);
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return read_text(out);
}

std::string expected_rows(const std::vector<TestTable>& tables, bool with_state) {
  std::vector<std::string> lines;
  for (const TestTable& table : tables) {
    const bool sparse = table.spec.kind == TableSpec::Kind::kSparse;
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      std::string line =
          fmt::format("{} {}", table.spec.name, sparse ? unplace(table.keys[i]) : table.keys[i]);
      for (std::size_t f = 0; f < (with_state ? table.width : table.spec.dim); ++f) {
        line += fmt::format(" {:08x}", std::bit_cast<std::uint32_t>(table.rows[i * table.width + f]));
      }
      lines.push_back(line + "\n");
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

class ModelExport : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(save_model(folder_ / "model", fm_spec(), tables_).ok()); }
  static bool has_numpy() { return std::system("/usr/bin/python3 -c 'import numpy' 2> /dev/null") == 0; }
  ModelReader reader() { return *ModelReader::open(disk_, folder_ / "model"); }

  SystemDisk disk_;
  TemporaryFolder folder_;
  std::vector<TestTable> tables_ = test_tables(fm_spec(), 300, 4);
};

TEST_F(ModelExport, PythonReadsDirectorySafetensorsAndNpz) {
  if (!has_numpy()) GTEST_SKIP() << "python3-numpy is not installed";
  EXPECT_EQ(python_rows(folder_, "directory", folder_ / "model"), expected_rows(tables_, true));
  ASSERT_TRUE(export_model(reader(), ExportFormat::kSafetensors, disk_, folder_ / "m.safetensors").ok());
  EXPECT_EQ(python_rows(folder_, "safetensors", folder_ / "m.safetensors"), expected_rows(tables_, false));
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(export_model(reader(), ExportFormat::kNpz, disk_, folder_ / "m.npz").ok());
    EXPECT_EQ(python_rows(folder_, "npz", folder_ / "m.npz"), expected_rows(tables_, false));
  }
}

TEST_F(ModelExport, TextHasSortedKeysAndFloatsThatReadBack) {
  ASSERT_TRUE(export_model(reader(), ExportFormat::kText, disk_, folder_ / "text").ok());
  std::ifstream in(folder_ / "text/factors.tsv");
  std::map<Key, std::vector<float>> expected;
  for (std::size_t i = 0; i < tables_[2].keys.size(); ++i) {
    const float* const row = tables_[2].rows.data() + i * tables_[2].width;
    expected[unplace(tables_[2].keys[i])] = {row, row + 3};
  }
  for (const auto& [key, row] : expected) {
    Key read_key = 0;
    std::string floats[3];
    ASSERT_TRUE(in >> read_key >> floats[0] >> floats[1] >> floats[2]);
    EXPECT_EQ(read_key, key);
    for (std::size_t f = 0; f < 3; ++f) EXPECT_EQ(std::stof(floats[f]), row[f]);
  }
  std::string rest;
  EXPECT_FALSE(in >> rest);
  EXPECT_EQ(export_model(reader(), ExportFormat::kText, disk_, folder_ / "text").code(), Code::kIo);
}

TEST_F(ModelExport, RefusesUnknownFormatsAndPlaces) {
  EXPECT_EQ(*parse_export_format("npz"), ExportFormat::kNpz);
  EXPECT_EQ(*parse_export_format("text"), ExportFormat::kText);
  EXPECT_EQ(*parse_export_format("safetensors"), ExportFormat::kSafetensors);
  EXPECT_EQ(parse_export_format("csv").status().code(), Code::kUsage);
  EXPECT_EQ(export_model(reader(), ExportFormat::kNpz, disk_, folder_ / "model").code(), Code::kIo);
  EXPECT_EQ(export_model(reader(), ExportFormat::kNpz, disk_, folder_ / "missing/m.npz").code(), Code::kIo);
  write_text(folder_ / "file", "x");
  EXPECT_EQ(export_model(reader(), ExportFormat::kText, disk_, folder_ / "file").code(), Code::kIo);
  EXPECT_EQ(folder_.entries(), 2u);
}

TEST_F(ModelExport, VwsReadableFormHasALineForEachWeightThatIsNotZero) {
  ModelSpec spec;
  std::vector<TestTable> tables = test_tables(spec, 40, 2);
  tables[1].rows[0] = 0, tables[1].rows[2 * tables[1].width] = -0.0f;
  ASSERT_TRUE(save_model(folder_ / "lr", spec, tables).ok());
  const auto model = ModelReader::open(disk_, folder_ / "lr");
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(export_model(*model, ExportFormat::kVw, disk_, folder_ / "lr.vw").ok());
  const std::string text = read_text(folder_ / "lr.vw");
  const std::size_t end = text.find("\n:0\n");
  ASSERT_NE(end, text.npos) << text;
  std::vector<std::pair<Key, float>> expected;
  for (std::size_t i = 0; i < tables[1].keys.size(); ++i) {
    const float weight = tables[1].rows[i * tables[1].width];
    if (weight != 0) expected.emplace_back(unplace(tables[1].keys[i]), weight);
  }
  EXPECT_EQ(expected.size(), tables[1].keys.size() - 2);
  std::sort(expected.begin(), expected.end());
  const auto bits = std::bit_width(expected.back().first);
  EXPECT_EQ(text.substr(0, text.find("lda")),
            fmt::format("Version 9.11.9\nId \nMin label:-50\nMax label:50\nbits:{}\n", bits));
  std::string lines;
  for (const auto& [key, weight] : expected) lines += fmt::format("{}:{}\n", key, weight);
  lines += fmt::format("Constant:11650396:{}\n", tables[0].rows[0]);
  EXPECT_EQ(text.substr(end + 4), lines);
}

TEST_F(ModelExport, VwsReadableFormIsOfValuesAsTheyWereBeforeTrainingScaledThem) {
  ModelSpec spec;
  const std::vector<TestTable> tables = test_tables(spec, 40, 2);
  ASSERT_TRUE(save_model(folder_ / "lr", spec, tables).ok());
  const auto model = ModelReader::open(disk_, folder_ / "lr");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Key key = unplace(tables[1].keys[3]);
  ASSERT_TRUE(export_model(*model, ExportFormat::kVw, disk_, folder_ / "lr.vw", {{key, {2.0f, 4.0f}}}).ok());
  const float weight = tables[1].rows[3 * tables[1].width] / 4;
  const std::string text = read_text(folder_ / "lr.vw"), line = fmt::format("\n{}:{}\n", key, weight);
  EXPECT_NE(text.find(line), std::string::npos) << line;
  const std::string constant = fmt::format("Constant:11650396:{}\n", tables[0].rows[0] - 2 * weight);
  EXPECT_TRUE(text.ends_with(constant)) << constant;
}

TEST_F(ModelExport, VwsReadableFormIsOfLinearModelsOfOneScore) {
  const Status status = export_model(reader(), ExportFormat::kVw, disk_, folder_ / "fm.vw");
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("expected lr"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace thalweg
