#include "data/reader/bounded_parser.h"

#include <gtest/gtest.h>

#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

TEST(BoundedRows, FeaturesBeyondABoundAreNamed) {
  const TemporaryFolder directory;
  ReadOptions options = files({directory.write("a", "1 2:1 11:3\n0 900:1 3:1\n\n1 0:1\n")});
  options.bounds.keys_below = 12;
  Batch batch;
  const auto read = open_reader(open_data(options), 0, 1)->next(100, batch);
  ASSERT_FALSE(read);
  EXPECT_NE(read.status().message().find(":2:1: saw \"feature 900\", expected features 0 to 11"),
            std::string::npos)
      << read.status().message();
  options.answer_bad_rows = true, options.max_bad_rows = 5;
  const std::unique_ptr<RowReader> answering = open_reader(open_data(options), 0, 1);
  ASSERT_EQ(*answering->next(100, batch), 3u);
  EXPECT_EQ(answering->lines().bad, std::vector<std::uint32_t>{1});
  EXPECT_EQ(batch.keys, (std::vector<Key>{2, 11, 0}));
}

TEST(BoundedRows, FieldsAndEntriesBeyondABoundAreNamed) {
  const TemporaryFolder directory;
  ReadOptions options =
      files({directory.write("a.ffm", "1 0:7:1 2:8:1\n0 1:9:1 3:8:1\n1 0:1:1 0:2:1 1:3:1\n")});
  Batch batch;
  const auto refused = [&](const RowBounds& bounds) {
    options.bounds = bounds;
    return open_reader(open_data(options), 0, 1)->next(100, batch).status().message();
  };
  const std::string field = refused({.fields_below = 3}), entries = refused({.entries_most = 2});
  EXPECT_NE(field.find("a.ffm:2:1: saw \"field 3\", expected fields 0 to 2"), std::string::npos) << field;
  EXPECT_NE(entries.find("a.ffm:3:1: saw \"3 entries\", expected at most 2"), std::string::npos) << entries;
  options.bounds = {.fields_below = 3, .entries_most = 2};
  options.max_bad_rows = 2;
  EXPECT_EQ(open_reader(open_data(options), 0, 1)->next(100, batch).value(), 1u);
  EXPECT_EQ(batch.keys, (std::vector<Key>{7, 8}));
}

}  // namespace
}  // namespace thalweg
