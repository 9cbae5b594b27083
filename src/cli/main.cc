#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/program.h"

// When it is loaded, Highway's library measures the processor's clock for 4 ms, which its own benchmarks
// alone want. It calls what the loader finds first, so that every process of a command begins that much
// sooner.
namespace hwy::platform {
[[gnu::used, gnu::visibility("default")]] std::uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error like a full disk.
  thalweg::Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    const bool for_tests = text.rfind("THALWEG_TEST_", 0) == 0;
    if (text.rfind("THALWEG_", 0) == 0 && !for_tests && equals != text.npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = isatty(STDERR_FILENO) == 1 && (no_color == nullptr || std::strlen(no_color) == 0);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return thalweg::run_program(words, variables, color, stdout, stderr);
}
