// The built program from outside.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/path_for_test.h"

namespace thalweg {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

// One word of a shell's line.
inline std::string in_quotes(const std::string& path) { return "'" + path + "'"; }

// By a shell: `before` may set variables, `arguments` redirect. No sanitizer may report anything.
inline Ran run(const std::string& arguments, const std::string& before = "") {
  const std::string errors = test_path("run.err");
  const std::string line = before + " '" THALWEG_PROGRAM "' </dev/null 2>'" + errors + "' " + arguments;
  std::FILE* pipe = popen(line.c_str(), "r");
  Ran ran{-1, "", ""};
  char block[4096];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) ran.out.append(block, got);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  ran.err = text.str();
  std::remove(errors.c_str());
  EXPECT_EQ(ran.err.find("Sanitizer: "), std::string::npos) << line << "\n" << ran.err;
  return ran;
}

}  // namespace thalweg
