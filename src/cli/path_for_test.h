// Names of files for tests, which may run beside one another.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace thalweg {

inline std::string test_path(const std::string& name) {
  return testing::TempDir() + "thalweg_" + std::to_string(getpid()) + "_" + name;
}

}  // namespace thalweg
