#include "data/column/cell_order.h"

#include <gtest/gtest.h>

#include "data/data_set.h"
#include "data/files_for_test.h"
#include "data/input_words.h"

namespace thalweg {
namespace {

// A few bytes at a time, as pipes may give them.
class Trickle final : public ByteStream {
 public:
  explicit Trickle(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(char* to, std::size_t size) override {
    const std::size_t count = text_.copy(to, std::min<std::size_t>(size, 3), at_);
    at_ += count;
    return count;
  }
  void give_way() override {}
  std::uint64_t bytes_consumed() const override { return at_; }
  Packing packing() const override { return Packing::kPlain; }

 private:
  const std::string text_;
  std::size_t at_ = 0;
};

TEST(CellOrder, LinesAreAsLongAsBeforeAndOthersStayAsTheyAre) {
  const std::string text =
      "\xef\xbb\xbf"
      "c,a,\"b\"\r\n3,1,\"2,\"\"\"\n\n,,x\nfew,1\n\"open,1,2\n3,1,2,4\n9,7,8";
  const auto stream =
      in_order(text.substr(0, 9), std::make_unique<Trickle>(text.substr(9)), {{1, 2, 0}, ','});
  std::string read;
  char some[7];
  for (std::size_t count = 1; count > 0; read.append(some, count)) count = stream->read(some, 7).value();
  EXPECT_EQ(read,
            "\xef\xbb\xbf"
            "a,\"b\",c\r\n1,\"2,\"\"\",3\n\n,x,\nfew,1\n\"open,1,2\n3,1,2,4\n7,8,9");
}

struct Read {
  Batch batch;
  std::vector<std::string> lines;
};

Read read_files(ReadOptions options) {
  options.keep_lines = true;
  const auto data = DataSet::open(options);
  EXPECT_TRUE(data) << data.status().message();
  Read out;
  auto reader = (*data)->reader(ShardId{0}, 1);
  EXPECT_TRUE((*reader)->next(1000, out.batch)) << options.paths.back();
  for (std::size_t row = 0; row < out.batch.rows(); ++row)
    out.lines.emplace_back((*reader)->lines().line(row));
  return out;
}

TEST(CellOrder, RowsComeOutAsIfAllFilesHadTheFirstOnesOrder) {
  const TemporaryFolder folder;
  const std::string head = "click,user,price\n", own = "1,ann,2.5\n0,\"b,ob\",3\n";
  const std::string a = folder.write("a.csv", head + own);
  const std::string same = folder.write("same.csv", head + "0,eve,7\n1,dan,\n");
  const std::string other = folder.write("other.csv", "price, user ,click\n7,eve,0\n,dan,1\n");
  const std::string packed = folder.write("other.csv.gz", gzipped("price,user,click\n7,eve,0\n,dan,1\n"));
  ReadOptions options;
  options.paths = {a, same};
  const Read expected = read_files(options);
  for (const std::string& file : {other, packed}) {
    options.paths = {a, file};
    const Read read = read_files(options);
    EXPECT_EQ(read.batch.keys, expected.batch.keys);
    EXPECT_EQ(read.batch.values, expected.batch.values);
    EXPECT_EQ(read.batch.labels, expected.batch.labels);
    EXPECT_EQ(read.batch.fields, expected.batch.fields);
    EXPECT_EQ(read.lines, expected.lines);
    const auto data = DataSet::open(options);
    EXPECT_EQ(reordered_files(**data),
              file + " has the columns of " + a + " in another order; its cells are matched by their names");
  }
}

TEST(CellOrder, ErrorsNameTheLineAndOtherNamesAreRefused) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "click,user\n1,ann\n");
  ReadOptions options;
  options.paths = {a, folder.write("bad.csv", "user,click\nann,1\nbob,often\n")};
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data) << data.status().message();
  Batch batch;
  auto reader = (*data)->reader(ShardId{0}, 1);
  const std::string message = (*reader)->next(1000, batch).status().message();
  EXPECT_NE(message.find("bad.csv:3:1: saw \"often\""), message.npos) << message;
  for (const char* text : {"user,clicks\nann,1\n", "user;click\nann;1\n", "user,click,user\nann,1,2\n"}) {
    options.paths[1] = folder.write("other.csv", text);
    EXPECT_FALSE(DataSet::open(options)) << text;
  }
}

}  // namespace
}  // namespace thalweg
