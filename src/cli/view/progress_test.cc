#include "cli/view/progress.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

ProgressNumbers numbers(double done, std::uint64_t examples) {
  ProgressNumbers n;
  n.epochs = 3, n.done = done, n.examples = examples, n.loss = 0.4471, n.auc = 0.7893;
  n.workers = n.workers_alive = n.servers = n.servers_alive = 2;
  return n;
}

TEST(ProgressLine, ShowsAllThatIsKnown) {
  EXPECT_EQ(progress_line(numbers(0.42, 0), 1.24e6, 12, 200),
            "epoch 1/3  42% [####------] eta 0:12  1.24M ex/s  train logloss 0.4471  train auc 0.7893  "
            "staleness 0  W "
            "2/2 S 2/2");
  ProgressNumbers unknown = numbers(0, 123456);
  unknown.done.reset(), unknown.auc.reset();
  EXPECT_EQ(progress_line(unknown, std::nullopt, std::nullopt, 200),
            "epoch 1/3  123k examples  train logloss 0.4471  staleness 0  W 2/2 S 2/2");
}

TEST(ProgressLine, FitsAnyWidth) {
  for (int columns = 1; columns < 120; ++columns) {
    const std::string line = progress_line(numbers(0.42, 0), 1.24e6, 12, columns);
    EXPECT_LE(line.size(), static_cast<std::size_t>(columns));
    EXPECT_EQ(line.substr(0, 9), std::string("epoch 1/3").substr(0, static_cast<std::size_t>(columns)));
  }
  EXPECT_EQ(progress_line(numbers(0.42, 0), 1.24e6, 12, 109).substr(0, 22), "epoch 1/3  42% [##---]");
  EXPECT_EQ(progress_line(numbers(0.42, 0), 1.24e6, 12, 40), "epoch 1/3  42% eta 0:12  1.24M ex/s");
}

TEST(ProgressLine, ShortensNumbers) {
  EXPECT_EQ(short_count(980), "980");
  EXPECT_EQ(short_count(12345), "12.3k");
  EXPECT_EQ(short_count(1.24e6), "1.24M");
  EXPECT_EQ(short_count(99999.9), "100k");
  EXPECT_EQ(short_count(9999.9), "10.0k");
  EXPECT_EQ(short_time(11.2), "0:12");
  EXPECT_EQ(short_time(3723), "1:02:03");
}

struct Screen {
  std::string written;
  int width = 200;
  Progress::Write write() {
    return [this](std::string_view text) { written += text; };
  }
  std::function<int()> columns() {
    return [this] { return width; };
  }
};

TEST(Progress, WritesAPlainLineEveryTenSecondsToAFile) {
  Screen screen;
  Progress progress(false, screen.write(), screen.columns());
  Instant now{};
  for (std::uint64_t tenth = 0; tenth <= 250; ++tenth, now = now + 100ms) {
    progress.update(numbers(static_cast<double>(tenth) / 1000, tenth * 100), now);
  }
  EXPECT_EQ(std::count(screen.written.begin(), screen.written.end(), '\n'), 2);
  EXPECT_EQ(screen.written.find('\r'), std::string::npos);
  EXPECT_EQ(screen.written.find('\x1b'), std::string::npos);
  EXPECT_NE(screen.written.find("1.00k ex/s"), std::string::npos);
  EXPECT_NE(screen.written.find("10% [#---------] eta 1:30"), std::string::npos) << screen.written;
}

TEST(Progress, RewritesOneLineOnATerminalTenTimesASecond) {
  Screen screen;
  screen.width = 40;
  Progress progress(true, screen.write(), screen.columns());
  Instant now{};
  for (std::uint64_t i = 0; i <= 1000; ++i, now = now + 1ms) {
    progress.update(numbers(static_cast<double>(i) / 1000, i), now);
  }
  EXPECT_EQ(std::count(screen.written.begin(), screen.written.end(), '\r'), 10);
  EXPECT_EQ(screen.written.find('\n'), std::string::npos);
  progress.clear();
  EXPECT_TRUE(screen.written.ends_with("\r\x1b[K")) << screen.written;
}

// Reading the data's begin, starting processes and meeting them takes seconds in which no row is learnt.
TEST(Progress, RatesBeginWithTheFirstRows) {
  for (const bool terminal : {true, false}) {
    Screen screen;
    Progress progress(terminal, screen.write(), screen.columns());
    Instant now{};
    for (int tenth = 0; tenth < 150; ++tenth, now = now + 100ms) {
      screen.written.clear();
      const int worked = std::max(0, tenth - 50);  // 5 s of nothing, then 1 % and 100,000 rows a second.
      progress.update(numbers(worked * 0.001, static_cast<std::uint64_t>(worked) * 10000), now);
      const bool said = screen.written.find("ex/s") != std::string::npos;
      if (worked < 10) {
        EXPECT_FALSE(said) << screen.written;
        EXPECT_EQ(screen.written.find("eta"), std::string::npos) << screen.written;
      } else if (!screen.written.empty() && worked > 15) {
        EXPECT_NE(screen.written.find("  100k ex/s"), std::string::npos) << screen.written;
        EXPECT_NE(screen.written.find("eta 1:"), std::string::npos) << screen.written;
      }
    }
  }
}

TEST(Progress, AShortJobWritesNothingToAFile) {
  Screen screen;
  Progress progress(false, screen.write(), screen.columns());
  progress.update(numbers(0, 0), Instant{});
  progress.update(numbers(1, 10), Instant{} + 3s);
  progress.clear();
  EXPECT_EQ(screen.written, "");
}

TEST(Progress, SavingALargeModelHasNoRate) {
  Screen screen;
  Progress progress(false, screen.write(), screen.columns());
  Instant now{};
  for (std::uint64_t second = 0; second <= 100; ++second, now = now + 1s) {
    if (second == 71) screen.written.clear();
    progress.update(
        numbers(std::min(1.0, static_cast<double>(second) / 60), std::min<std::uint64_t>(second, 60)), now);
  }
  EXPECT_NE(screen.written.find("100% [##########] finishing  train logloss"), std::string::npos)
      << screen.written;
  EXPECT_EQ(screen.written.find("ex/s"), std::string::npos) << screen.written;
}

TEST(Progress, TheEstimateFollowsAChangeOfSpeed) {
  Screen screen;
  Progress progress(false, screen.write(), screen.columns());
  Instant now{};
  double done = 0;
  progress.update(numbers(done, 0), now);
  for (int i = 1; i <= 60; ++i) {
    now = now + 10s, done += i <= 10 ? 0.04 : 0.004;
    progress.update(numbers(done, 0), now);
  }
  // 0.6 done; at 0.0004 a second the rest takes 1000 s.
  EXPECT_NE(screen.written.find("60% [######----] eta 16:40"), std::string::npos) << screen.written;
  screen.written.clear();
  for (int i = 1; i <= 60; ++i) {
    now = now + 10s;
    progress.update(numbers(done, 0), now);
  }
  const std::size_t last = screen.written.rfind("epoch");
  EXPECT_EQ(screen.written.find("eta", last), std::string::npos) << screen.written.substr(last);
}

}  // namespace
}  // namespace thalweg
