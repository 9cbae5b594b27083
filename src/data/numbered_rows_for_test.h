// Rows that tell their own number, and how tests read them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/data_set.h"

namespace thalweg {

// Row i has the label i and keys that tell i, in lines of very different lengths.
inline std::string numbered_rows(std::uint64_t count, std::uint64_t first = 0) {
  std::string text;
  for (std::uint64_t i = first; i < first + count; ++i) {
    text += std::to_string(i);
    const std::uint64_t entries = i % 97 == 0 ? 900 : i % 5;
    for (std::uint64_t e = 0; e < entries; ++e) text += ' ' + std::to_string(i * 1000 + e) + ":1";
    if (i % 31 == 0) text += "  \r\n\n# between";
    text += '\n';
  }
  return text;
}

inline std::shared_ptr<DataSet> open_data(ReadOptions options) {
  Result<std::shared_ptr<DataSet>> data = DataSet::open(std::move(options));
  EXPECT_TRUE(data.ok()) << data.status().message();
  return data ? *data : nullptr;
}

inline ReadOptions files(std::vector<std::string> paths) {
  ReadOptions options;
  options.paths = std::move(paths);
  return options;
}

inline std::unique_ptr<RowReader> open_reader(const std::shared_ptr<DataSet>& data, std::uint32_t shard = 0,
                                              std::uint32_t shards = 1) {
  Result<std::unique_ptr<RowReader>> reader = data->reader(ShardId{shard}, shards);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return std::move(*reader);
}

using Labels = std::vector<std::uint64_t>;

// The labels of a shard's rows in order, with their keys checked; every batch but the last is full.
inline Labels read_labels(RowReader& reader, std::size_t batch_rows = 100) {
  Labels labels;
  Batch batch;
  bool ended = false;
  for (;;) {
    const Result<std::size_t> rows = reader.next(batch_rows, batch);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    if (!rows || *rows == 0) return labels;
    EXPECT_FALSE(ended) << "a batch in the middle is not full";
    ended = *rows < batch_rows;
    for (std::size_t r = 0; r < *rows; ++r) {
      const auto label = static_cast<std::uint64_t>(batch.labels[r]);
      labels.push_back(label);
      const std::uint64_t entries = label % 97 == 0 ? 900 : label % 5;
      EXPECT_EQ(batch.row_begin[r + 1] - batch.row_begin[r], entries);
      for (std::uint64_t e = 0; e < entries; ++e)
        EXPECT_EQ(batch.keys[batch.row_begin[r] + e], label * 1000 + e);
    }
  }
}

}  // namespace thalweg
