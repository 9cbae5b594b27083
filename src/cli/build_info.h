// What this program was built from.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thalweg {

struct BuildInfo {
  std::string version;
  std::string build_type;
  std::string compiler;
  std::string isa;        // Instruction sets that the compiler may use: "x86-64 sse2 avx2".
  std::string sanitizer;  // Empty: none.
  std::vector<std::pair<std::string, std::string>> libraries;  // Name, version compiled against.
};
BuildInfo build_info();

}  // namespace thalweg
