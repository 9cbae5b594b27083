#include "cli/view/drawing.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/view/output.h"

namespace thalweg {
namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status failed(const std::string& program, const char* what) {
  return {Code::kIo, fmt::format("'{}' cannot be run: {}: {}", program, what, std::strerror(errno))};
}

// Its exit status, or -1 with errno where it did not run.
int run_drawing(const DrawingProgram& drawing, int input, int output, int said) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
  std::vector<std::string> line = {drawing.program};
  line.insert(line.end(), drawing.arguments.begin(), drawing.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  errno = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string all_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char block[1 << 16];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, file)) > 0;) text.append(block, got);
  return text;
}

}  // namespace

DrawingProgram graphviz_svg() { return {"dot", "graphviz", {"-Tsvg"}}; }
DrawingProgram gnuplot() { return {"gnuplot", "gnuplot-nox", {"-"}}; }

Status check_picture_name(std::string_view flag, const std::string& path, bool png) {
  std::error_code error;
  const bool is_other =
      std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
  if (path.empty() || is_other || path.ends_with(".svg") || (png && path.ends_with(".png")))
    return ok_status();
  return {Code::kUsage, fmt::format("{} {}: {}", flag, path,
                                    png ? "pictures are SVG or PNG; expected a name that ends in .svg or .png"
                                        : "the picture is SVG; expected a name that ends in .svg")};
}

Result<std::string> drawn_by(const DrawingProgram& drawing, const std::string& text) {
  const std::string& program = drawing.program;
  const TemporaryFile input(std::tmpfile(), &std::fclose), output(std::tmpfile(), &std::fclose),
      said(std::tmpfile(), &std::fclose);  // Warnings, of an axis of one point, are for nobody.
  if (input == nullptr || output == nullptr || said == nullptr) return failed(program, "temporary file");
  if (std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() || std::fflush(input.get()) != 0) {
    return failed(program, "temporary file");
  }
  std::rewind(input.get());
  const int status = run_drawing(drawing, fileno(input.get()), fileno(output.get()), fileno(said.get()));
  if (status < 0 && errno == ENOENT) {
    return with_hint({Code::kIo, fmt::format("there is no program '{}', which draws the picture", program)},
                     "apt-get install " + drawing.package);
  }
  if (status < 0) return failed(program, "it did not start");
  if (status != 0) {
    std::string why = all_of(said.get());
    while (why.ends_with('\n')) why.pop_back();
    return Status(Code::kIo, fmt::format("'{}' ended with status {}: {}", program, status, why));
  }
  return all_of(output.get());
}

}  // namespace thalweg
