#include "data/reader/entry_names.h"

#include <gtest/gtest.h>

#include "data/data_set.h"
#include "data/files_for_test.h"

namespace thalweg {
namespace {

// Of all entries of the file's rows, as whoever reads it gets them.
std::vector<std::string> all_names(const std::string& text, const std::string& columns = "",
                                   const std::string& format = "auto") {
  const TemporaryFolder folder;
  ReadOptions options;
  options.paths = {folder.write("rows", text)};
  options.columns = columns;
  options.format = format;
  options.keep_lines = true;
  const auto data = DataSet::open(options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  const auto reader = (*data)->reader(ShardId{0}, 1);
  Batch rows;
  EXPECT_TRUE((*reader)->next(100, rows).ok());
  std::vector<std::string> all;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const std::size_t begin = rows.row_begin[row], count = rows.row_begin[row + 1] - begin;
    std::vector<std::string> names;
    const auto fields =
        rows.fields.empty() ? std::span<const std::uint32_t>() : std::span(rows.fields).subspan(begin, count);
    (*data)->format().names({(*reader)->lines().line(row), (*data)->options(), (*data)->columns(), fields},
                            names);
    EXPECT_EQ(names.size(), count) << row;
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(EntryNames, OfCsvAreColumnsAndCells) {
  EXPECT_EQ(all_names("label,n,site,x,c\n1,0.5,\"a,b\",9,u\n\n0,0,,9,v\n1,NA,z,9,w\r\n",
                      "label:label,n:num,site:cat,x:-,c:cat"),
            (Names{"n", "site=a,b", "c=u", "site=", "c=v", "site=z", "c=w"}));
}

TEST(EntryNames, OfBucketsAreTheNumbersThatTheyHold) {
  EXPECT_EQ(all_names("label,n\n1,500\n0,-1.5\n0,2.1\n1,NA\n", "label:label,n:num:bucket"),
            (Names{"n=476..515", "n=-1.5", "n=2..2.72", "n="}));
  EXPECT_EQ(
      all_names("{\"label\":1,\"n\":500}\n{\"label\":1,\"n\":2}\n{\"label\":1,\"n\":null}\n", "n:num:bucket"),
      (Names{"n=476..515", "n=2", "n="}));
}

TEST(EntryNames, OfIndicesAreTheseAsTheyAreWritten) {
  EXPECT_EQ(all_names("1 qid:4 17:2 3 # 5:1\n# 9:9\n0:2 08:1\n"), (Names{"17", "3", "08"}));
  EXPECT_EQ(all_names("1 2:17:0.5 3:4:1\n"), (Names{"17", "4"}));
}

TEST(EntryNames, OfVwAreNamespacesAndFeatures) {
  EXPECT_EQ(all_names("1 'tag|user ann:2 bob |item:0.5 i7 gone:0 | plain\n-1 |user cat\n"),
            (Names{"user=ann", "user=bob", "item=i7", "plain", "user=cat"}));
}

TEST(EntryNames, OfJsonLinesAreMembersAndTheirWords) {
  EXPECT_EQ(
      all_names("{\"label\":1,\"user\":\"ann\",\"price\":3.5,\"none\":0,\"tags\":[\"a\",2],"
                "\"at\":{\"home\":true},\"gone\":null}\n{\"label\":0,\"weight\":2,\"user\":\"b\\n\"}\n"),
      (Names{"user=ann", "price", "tags=a", "tags=2", "at.home=true", "user=b\n"}));
}

TEST(EntryNames, OfCriteoAreCellsByTheirKind) {
  std::string line = "1";
  for (int i = 0; i < 39; ++i) {
    line += '\t';
    if (i != 1) line += std::to_string(i);
  }
  const Names names = all_names(line + "\n");
  ASSERT_EQ(names.size(), 39u);
  EXPECT_EQ(names[0], "I1=0");
  EXPECT_EQ(names[1], "I2=");
  EXPECT_EQ(names[12], "I13=12");
  EXPECT_EQ(names[13], "C1=13");
  EXPECT_EQ(names[38], "C26=38");
}

}  // namespace
}  // namespace thalweg
