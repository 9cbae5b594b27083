#include "cli/own_children.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace thalweg {
namespace {

// Field 4 of proc(5)'s stat, which follows a name in brackets that may hold anything; 0 if it has ended.
pid_t parent_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == line.npos || line.size() < name_end + 5) return 0;
  return static_cast<pid_t>(std::strtol(line.c_str() + name_end + 4, nullptr, 10));
}

}  // namespace

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto process = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (process > 0 && parent_of(process) == getpid()) children.push_back(process);
  }
  return children;
}

}  // namespace thalweg
