// Files for the tests of this folder: a directory of its own per test, and the real data sets.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace thalweg {

// Path of a real data file, or "" if the data sets are not there.
inline std::string test_data(const std::string& name) {
  const char* root = std::getenv("THALWEG_TEST_DATA");
  const std::filesystem::path path =
      (root != nullptr ? std::filesystem::path(root)
                       : std::filesystem::path(THALWEG_SOURCE_DIR) / "../shared/data") /
      name;
  return std::filesystem::exists(path) ? path.string() : "";
}

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "thalweg_data_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  std::string name(const std::string& file) const { return path_ + "/" + file; }
  std::string write(const std::string& file, std::string_view text) const {
    std::ofstream(name(file), std::ios::binary) << text;
    return name(file);
  }

 private:
  std::string path_;
};

}  // namespace thalweg
