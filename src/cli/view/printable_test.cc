#include "cli/view/printable.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/view/output.h"

namespace thalweg {
namespace {

using namespace std::string_literals;

TEST(Printable, WhatShowsStaysAsItIs) {
  for (const std::string text : {"", "plain", "größer than 东京 \xf0\x9f\x8c\x8a", "a\\x1b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, WhatCommandsATerminalIsWrittenOut) {
  EXPECT_EQ(printable("\x1b[2J\r\n\t\x7f\0."s), "\\x1b[2J\\x0d\\x0a\\x09\\x7f\\x00.");
  EXPECT_EQ(printable("a\nb\tc\x1b", "\n\t"), "a\nb\tc\\x1b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");                                      // CSI in one character.
  EXPECT_EQ(printable("\xe2\x80\xaegnp"), "\\xe2\\x80\\xaegnp");  // From right to left.
}

TEST(Printable, WhatIsNoUtf8IsWrittenOut) {
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                                      // Cut short.
  EXPECT_EQ(printable("\xc3("), "\\xc3(");                                    // Not continued.
  EXPECT_EQ(printable("\xc0\x9b\xe0\x80\x9b"), "\\xc0\\x9b\\xe0\\x80\\x9b");  // Too long a form.
  EXPECT_EQ(printable("\xed\xa0\x80\xf5\x80\x80\x80"), "\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80");
}

TEST(Printable, LongTextIsCutAndCounted) {
  EXPECT_EQ(printable(std::string(100, 'x'), {}, 10), "xxxxxxxxxx... (90 bytes more)");
  EXPECT_EQ(printable(std::string(10, 'x'), {}, 10), "xxxxxxxxxx");
}

struct Written {
  std::string results, words;
};

std::string text_of(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

template <class Act>
Written written(Output::Style style, const Act& act) {
  std::FILE* results = std::tmpfile();
  std::FILE* words = std::tmpfile();
  Output out(style, results, words);
  act(out);
  EXPECT_TRUE(out.finish().ok());
  return {text_of(results), text_of(words)};
}

TEST(Output, NothingForeignCommandsTheTerminal) {
  const std::string foreign = "a\x1b[2J\nb\xc2\x9b";
  const Written said = written({.verbose = true}, [&](Output& out) {
    out.note(foreign);
    out.detail(foreign);
    out.warn(foreign);
    out.error(with_hint({Code::kData, foreign}, foreign));
    out.human("x\n" + foreign);
  });
  const std::string shown = "a\\x1b[2J\\x0ab\\xc2\\x9b\n";
  EXPECT_EQ(said.words,
            shown + shown + "thalweg: warning: " + shown + "thalweg: DATA: " + shown + "hint: " + shown);
  EXPECT_EQ(said.results, "x\na\\x1b[2J\nb\\xc2\\x9b");  // Its lines are the caller's.
  const Written json = written({.json = true}, [&](Output& out) {
    out.json({{"file", foreign}});
    out.error({Code::kData, foreign});
  });
  for (const unsigned char byte : json.results) EXPECT_TRUE((byte >= 0x20 && byte < 0x7f) || byte == '\n');
  EXPECT_EQ(nlohmann::json::parse(json.results).at("file"), foreign);
}

TEST(Output, HintsOfAWarningAreLinesOfTheirOwn) {
  const Written said =
      written({}, [](Output& out) { out.warn("it diverged\nhint: --rate 0.01\nhint: or\nx"); });
  EXPECT_EQ(said.words, "thalweg: warning: it diverged\nhint: --rate 0.01\nhint: or\\x0ax\n");
}

TEST(Output, QuietLeavesErrorsAndWarnings) {
  const Written said = written({.quiet = true}, [](Output& out) {
    out.note("a note");
    out.warn("it diverged\nhint: --rate 0.01");
    out.error({Code::kIo, "no room"});
  });
  EXPECT_EQ(said.words, "thalweg: warning: it diverged\nhint: --rate 0.01\nthalweg: IO: no room\n");
}

TEST(Output, ALineHasABound) {
  const Written said = written({}, [](Output& out) { out.note(std::string(1 << 20, 'x')); });
  EXPECT_LT(said.words.size(), 20000u);
  EXPECT_NE(said.words.find("bytes more)"), std::string::npos);
}

TEST(Output, ResultsAreNotChanged) {
  const Written said = written({}, [](Output& out) { out.text("\x1b\x00"s); });
  EXPECT_EQ(said.results, "\x1b\x00"s);
}

}  // namespace
}  // namespace thalweg
