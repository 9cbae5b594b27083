// A file that gets its name when it is complete.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

// Until commit() the text is in PATH.part, which goes when this does. A path that is no regular file, such as
// a pipe, is written to directly. Errors are kIo.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const std::string& path() const { return path_; }
  // For who writes by itself; commit() finds out whether it went well.
  std::ostream& stream() { return file_; }
  Status write(std::string_view text);  // Nothing: only whether the file could be opened.
  Status commit();

 private:
  Status refused() const;

  std::string path_;
  std::string part_;
  std::ofstream file_;
  bool committed_ = false;
};

// A file of this text. kIo.
Status write_new_file(const std::string& path, std::string_view text);

// kUsage if `path` ends as names of packed files do: readers take what is packed by its bytes, but people and
// other programs go by the name.
Status is_no_packed_name(const std::string& path);
// The same where `command` writes `what`, such as rows, as plain text, if without -o to standard output.
Status is_no_packed_name(const std::string& path, const std::string& what, std::string_view command);

// kUsage if `path` is one of these inputs, however it is spelt: it would be gone when the file is complete.
Status is_no_input(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace thalweg
