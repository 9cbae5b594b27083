// A small model on disk, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/mix.h"
#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "model/format/model_dir.h"
#include "net/system_disk.h"

namespace thalweg {

struct TestTable {
  TableSpec spec;
  std::size_t width = 1;
  std::vector<std::uint64_t> keys;  // Placed and ascending, or row numbers.
  std::vector<float> rows;
};

// Tables of an fm with odd state widths: bias, weights, factors.
inline std::vector<TestTable> test_tables(const ModelSpec& spec, std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<TestTable> out;
  for (const TableSpec& table : (*make_model(spec))->tables()) {
    TestTable& made = out.emplace_back();
    made.spec = table;
    const bool dense = table.kind == TableSpec::Kind::kDense;
    for (std::size_t i = 0; i < (dense ? table.rows : rows); ++i) {
      made.keys.push_back(dense ? i : place(i < 3 ? i : random.next() >> random.below(60)));
    }
    std::sort(made.keys.begin(), made.keys.end());
    made.keys.erase(std::unique(made.keys.begin(), made.keys.end()), made.keys.end());
    made.width = table.dim + (table.dim > 1 ? table.dim + 1 : 2);
    made.rows.resize(made.keys.size() * made.width);
    for (float& value : made.rows) value = static_cast<float>(random.normal());
  }
  return out;
}

inline Status write_tables(ModelWriter& writer, const std::vector<TestTable>& tables, std::size_t block = 7) {
  for (const TestTable& table : tables) {
    if (Status status = writer.begin_table(table.spec, table.keys.size(), table.width); !status.ok())
      return status;
    for (std::size_t i = 0; i < table.keys.size(); i += block) {
      const std::size_t count = std::min(block, table.keys.size() - i);
      const Status status =
          writer.append(std::span(table.keys).subspan(i, count),
                        std::span(table.rows).subspan(i * table.width, count * table.width));
      if (!status.ok()) return status;
    }
    if (Status status = writer.end_table(); !status.ok()) return status;
  }
  return ok_status();
}

inline Result<std::uint64_t> save_model(Disk& disk, const std::string& path, const ModelSpec& spec,
                                        const std::vector<TestTable>& tables) {
  Result<std::unique_ptr<ModelWriter>> writer = ModelWriter::create(disk, path);
  if (!writer) return writer.status();
  if (Status status = write_tables(**writer, tables); !status.ok()) return status;
  return (*writer)->commit(spec, {{"epochs", "2"}, {"rate", "0.1"}},
                           {{"valid_auc", 0.75}, {"bad", std::stod("nan")}});
}

inline Result<std::uint64_t> save_model(const std::string& path, const ModelSpec& spec,
                                        const std::vector<TestTable>& tables) {
  SystemDisk disk;
  return save_model(disk, path, spec, tables);
}

inline ModelSpec fm_spec(std::uint32_t rank = 3) {
  ModelSpec spec;
  spec.name = "fm", spec.rank = rank, spec.init_scale = 0.05f, spec.seed = ~std::uint64_t{0};
  spec.weights.kind = RuleKind::kFtrl;
  spec.weights.l1 = 0.3f;
  spec.factors.kind = RuleKind::kAdagrad;
  return spec;
}

}  // namespace thalweg
