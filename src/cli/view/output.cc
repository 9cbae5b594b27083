#include "cli/view/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/view/printable.h"

namespace thalweg {
namespace {

constexpr std::size_t kLineBytesMax = 16384;

void put(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

}  // namespace

int exit_code(Code code) {
  switch (code) {
    case Code::kOk:
      return 0;
    case Code::kIo:
    case Code::kRefused:
    case Code::kStale:
      return 1;
    case Code::kUsage:
      return 2;
    case Code::kConfig:
      return 3;
    case Code::kData:
      return 4;
    case Code::kPeerLost:
      return 5;
    case Code::kTimeout:
    case Code::kRetry:
      return 6;
    case Code::kNonFinite:
      return 7;
    case Code::kModel:
      return 8;
    case Code::kAborted:
      return 130;
  }
  return 1;
}

void Output::write_line(std::string_view mark, std::string_view line) {
  put(words_, fmt::format("{}{}\n", mark, printable(line, {}, kLineBytesMax)));
  std::fflush(words_);
}

void Output::note(std::string_view line) {
  if (!style_.quiet) write_line("", line);
}

void Output::detail(std::string_view line) {
  if (style_.verbose) note(line);
}

void Output::warn(std::string_view line) {
  std::size_t end = std::min(line.find(kHint), line.size());
  write_line(style_.color ? "thalweg: \x1b[33mwarning\x1b[0m: " : "thalweg: warning: ", line.substr(0, end));
  while (end < line.size()) {
    line.remove_prefix(end + kHint.size());
    end = std::min(line.find(kHint), line.size());
    write_line("hint: ", line.substr(0, end));
  }
}

void Output::text(std::string_view text) {
  write_json();
  put(results_, text);
}

void Output::human(std::string_view text) {
  if (!style_.json) put(results_, printable(text, "\n\t"));
}

void Output::json(const nlohmann::ordered_json& object) {
  if (!style_.json) return;
  write_json();
  // Names of files may be any bytes; JSON may not, and ASCII commands no terminal.
  constexpr bool kAscii = true;
  json_ = object.dump(-1, ' ', kAscii, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void Output::write_json() {
  put(results_, json_);
  json_.clear();
}

void Output::error(const Status& status) {
  const std::string& whole = status.message();
  const std::size_t end = std::min(whole.find(kHint), whole.size());
  const std::string message = whole.substr(0, end);
  const std::string hint = end == whole.size() ? std::string() : whole.substr(end + kHint.size());
  std::fflush(results_);
  const bool color = style_.color;
  const std::string mark = fmt::format("thalweg: {}{}{}: ", color ? "\x1b[31m" : "", code_name(status.code()),
                                       color ? "\x1b[0m" : "");
  write_line(mark, message);
  if (!hint.empty()) write_line("hint: ", hint);
  nlohmann::ordered_json object = {{"code", code_name(status.code())}, {"message", message}};
  if (!hint.empty()) object["hint"] = hint;
  auto line = json_.empty() ? nlohmann::ordered_json::object() : nlohmann::ordered_json::parse(json_);
  line["error"] = object;
  json_.clear();
  json(line);
  write_json();
  std::fflush(results_);
}

Status Output::check() const {
  if (std::ferror(results_) == 0) return ok_status();
  return {Code::kIo, fmt::format("cannot write to standard output: {}", std::strerror(errno))};
}

Status Output::finish() {
  write_json();
  std::fflush(results_);
  return check();
}

}  // namespace thalweg
