// What a simulation came to in all its runs: kinds of faults, codes of errors, and branches that are marked.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/coverage/reached.h"
#include "thalweg/status.h"

namespace thalweg {

class Coverage {
 public:
  // Of one row; `rare`: why it need not be there.
  void add(const std::string& kind, const std::string& name, const std::string& when, std::uint64_t times,
           const std::string& rare = {}) {
    fmt::print("{:>10}  {:<7} {:<20} {}\n", times, kind, name, when);
    if (times > 0) return;
    (rare.empty() ? missed_ : left_out_).push_back(rare.empty() ? name : name + " (" + rare + ")");
  }
  // Those from `first` to `last`, itself left out.
  void add_branches(Branch first, Branch last, const std::map<Branch, std::string>& rare = {}) {
#define THALWEG_BRANCH_TEXT(name, when) std::pair(#name, when),
    constexpr std::array kTexts = {THALWEG_BRANCHES(THALWEG_BRANCH_TEXT)};
#undef THALWEG_BRANCH_TEXT
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const auto found = rare.find(static_cast<Branch>(i));
      add("branch", kTexts[i].first + 1, kTexts[i].second, branches_reached[i],
          found == rare.end() ? std::string() : found->second);
    }
  }
  void add_code(Code code, const std::string& rare = {}) {
    add("code", code_name(code), "a frame says so", codes_said[static_cast<std::uint8_t>(code)], rare);
  }
  // The exit code: 2 where something was not reached that should be.
  int result() const {
    const auto say = [](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      fmt::print("{}", what);
      for (const std::string& name : names) fmt::print(" {}", name);
      fmt::print("\n");
    };
    say("not reached, as expected:", left_out_);
    say("NOT REACHED:", missed_);
    if (missed_.empty()) fmt::print("all else was reached\n");
    return missed_.empty() ? 0 : 2;
  }

 private:
  std::vector<std::string> missed_, left_out_;
};

// What `run(first, count)` returns, of the program's FIRST and COUNT; 1 and 300 unless told.
template <class Run>
int run_coverage(int argc, char** argv, const Run& run) {
  const auto number = [&](int at, std::uint64_t unless_told) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : unless_told;
  };
  return run(number(1, 1), number(2, 300));
}

}  // namespace thalweg
