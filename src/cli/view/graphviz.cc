#include "cli/view/graphviz.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/view/output.h"

namespace thalweg {
namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status failed(const char* what) {
  return {Code::kIo, fmt::format("Graphviz cannot be run: {}: {}", what, std::strerror(errno))};
}

// Its exit status, or -1 with errno where it did not run.
int run_dot(int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  char program[] = "dot", format[] = "-Tsvg";
  char* const arguments[] = {program, format, nullptr};
  pid_t child = 0;
  errno = posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<std::string> draw_svg(const std::string& graph) {
  const TemporaryFile input(std::tmpfile(), &std::fclose), output(std::tmpfile(), &std::fclose);
  if (input == nullptr || output == nullptr) return failed("temporary file");
  if (std::fwrite(graph.data(), 1, graph.size(), input.get()) != graph.size() ||
      std::fflush(input.get()) != 0) {
    return failed("temporary file");
  }
  std::rewind(input.get());
  const int status = run_dot(fileno(input.get()), fileno(output.get()));
  if (status < 0 && errno == ENOENT) {
    return with_hint({Code::kIo, "there is no program 'dot'; expected Graphviz, which draws the picture"},
                     "apt-get install graphviz");
  }
  if (status < 0) return failed("dot");
  if (status != 0) return Status(Code::kIo, fmt::format("Graphviz's dot ended with status {}", status));
  std::string picture;
  std::rewind(output.get());
  char block[1 << 16];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, output.get())) > 0;)
    picture.append(block, got);
  return picture;
}

}  // namespace thalweg
