// Where words go: what people read to standard error, results to standard output.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/hint.h"
#include "thalweg/status.h"

namespace thalweg {

// 0 ok, 1 internal or refused by the system, 2 usage, 3 configuration, 4 data, 5 peer lost, 6 stall or
// timeout, 7 non-finite, 8 model, 9 a model that is worse than none, 130 interrupted after saving.
int exit_code(Code code);

// One thread, but for note(), detail() and warn(). Borrows both streams. What people read may hold foreign
// text: nothing in it commands their terminal, see cli/view/printable.h, and a line of words has a bound.
class Output {
 public:
  struct Style {
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool color = false;  // On standard error.
  };
  Output(Style style, std::FILE* results, std::FILE* words)
      : style_(style), results_(results), words_(words) {}

  const Style& style() const { return style_; }
  std::FILE* results() const { return results_; }
  std::FILE* words() const { return words_; }

  void note(std::string_view line);    // For people, unless quiet.
  void detail(std::string_view line);  // For people who asked for more.
  void warn(std::string_view line);    // Marked as a warning, quiet or not; hints on lines of their own.
  void text(std::string_view text);    // A result as is, in either style; the caller ends its lines.
  // A result as a person reads it, of several lines; nothing with --json.
  void human(std::string_view text);
  // A line of standard output with --json; nothing without. It is held back until what follows is known.
  void json(const nlohmann::ordered_json& object);
  // "thalweg: CODE: message", "hint: ..."; with --json also {"error":{"code","message","hint"}}, in one
  // object with the last result if there is one.
  void error(const Status& status);
  // The program's exit code when it ends without an error of its own.
  void end_with(int exit_code) { exit_code_ = exit_code; }
  int exit_code() const { return exit_code_; }
  // Whether results reach standard output so far, and whether all did.
  Status check() const;
  Status finish();

 private:
  void write_line(std::string_view mark, std::string_view line);
  void write_json();

  Style style_;
  std::FILE* results_;
  std::FILE* words_;
  int exit_code_ = 0;
  std::string json_;  // The line held back.
};

}  // namespace thalweg
