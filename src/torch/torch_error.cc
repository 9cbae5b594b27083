#include "torch/torch_error.h"

#include <c10/util/Exception.h>

#include <cctype>
#include <string_view>

namespace thalweg {
namespace {

constexpr std::string_view kInterpreter = "The following operation failed in the TorchScript interpreter";
constexpr std::string_view kHere = "<--- HERE";
constexpr std::string_view kStack = "Exception raised from ";

// "RuntimeError: ...": the interpreter ends with what was raised, behind the lines of the module.
bool names_an_error(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  if (name.size() == line.size() || name.empty()) return false;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') return false;
  }
  return true;
}

std::string_view first_words(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == text.npos) return {};
  text = text.substr(begin);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string torch_error_line(std::string_view text) {
  text = text.substr(0, text.find(kStack));
  if (!text.starts_with(kInterpreter)) return std::string(first_words(text));
  const std::size_t code = text.rfind(kHere);
  for (std::size_t at = text.find('\n', code == text.npos ? 0 : code); at != text.npos;
       at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1), line = rest.substr(0, rest.find('\n'));
    if (!names_an_error(line)) continue;
    const std::size_t colon = line.find(':');
    const std::string_view said = first_words(rest.substr(colon + 1));
    return std::string(line.substr(0, colon)) + (said.empty() ? "" : ": " + std::string(said));
  }
  return std::string(first_words(text));
}

std::string torch_error_line(const std::exception& error) {
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  return torch_error_line(of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
}

}  // namespace thalweg
