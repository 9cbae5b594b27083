#include "data/reader/not_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "data/files_for_test.h"

namespace thalweg {
namespace {

TEST(NotText, Utf16IsNamed) {
  const TemporaryFolder directory;
  const auto data = DataSet::open(files({directory.write("a.csv", std::string("\xff\xfe"
                                                                              "a\0,\0",
                                                                              6))}));
  ASSERT_FALSE(data);
  EXPECT_NE(data.status().message().find("is UTF-16"), std::string::npos) << data.status().message();
}

TEST(NotText, FilesOfOtherKindsAreNamedWithWhatReadsThem) {
  const TemporaryFolder directory;
  const auto said_of = [&](const std::string& text) {
    const auto data = DataSet::open(files({directory.write("a", text)}));
    return data ? std::string() : data.status().message();
  };
  const std::string tail("\0\0 rest", 7);
  const std::string tar = std::string(257, '\0') + "ustar" + tail;
  for (const auto& [text, name, reads] : std::vector<std::array<std::string, 3>>{
           {"PK\x03\x04" + tail, "is a zip archive", "--from-command 'unzip -p %s'"},
           {tar, "is a tar archive", "--from-command 'tar -xOf %s'"},
           {"PAR1" + tail, "is a Parquet file", "pyarrow.parquet.read_table(FILE)"},
           {"PK\x03\x04" + std::string(26, '\0') + "[Content_Types].xml", "is a spreadsheet", "as CSV"},
           {"1 1:1\r0 2:1\r", "lines end with CR alone", "tr '\\r' '\\n'"}}) {
    EXPECT_NE(said_of(text).find(name), std::string::npos) << said_of(text);
    EXPECT_NE(said_of(text).find(reads), std::string::npos) << said_of(text);
  }
  EXPECT_NE(said_of("1 1" + tail).find(":1:4: saw \"\\x00\""), std::string::npos);
  EXPECT_EQ(said_of("1 1:1\r"), "") << "a last line without its end";
}

}  // namespace
}  // namespace thalweg
