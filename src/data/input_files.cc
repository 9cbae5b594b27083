#include "data/input_files.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "data/idx.h"
#include "data/reader/not_text.h"
#include "data/reader/row_loop.h"
#include "data/text_windows.h"

namespace thalweg {
namespace {

Status expand(const std::string& pattern, std::vector<std::string>& paths) {
  struct stat info {};
  const bool looks_like_glob = pattern.find_first_of("*?[") != std::string::npos;
  if (!looks_like_glob || ::stat(pattern.c_str(), &info) == 0) {
    paths.push_back(pattern);
    return {};
  }
  glob_t found{};
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (result == 0) return {};
  return {Code::kIo, fmt::format("{}: no file matches", pattern)};
}

// Whether some whole line is neither blank nor a comment.
bool has_row(std::string_view head) {
  for (std::size_t at = 0, end = 0; (end = head.find('\n', at)) != head.npos; at = end + 1) {
    const std::size_t first = head.find_first_not_of(" \t\r", at);
    if (first < end && head[first] != '#') return true;
  }
  return false;
}

Result<std::string> read_head(ByteStream& stream, bool one_row, bool& is_all) {
  constexpr auto kLines = static_cast<std::ptrdiff_t>(kHeadRows + 1);
  std::string head(kHeadBytes, '\0');
  std::size_t size = 0;
  is_all = false;
  while (!is_all && !(one_row && has_row({head.data(), size}))) {
    if (size == head.size()) {
      if (size >= kMaxLineBytes || std::count(head.begin(), head.end(), '\n') >= kLines) break;
      head.resize(2 * size);
    }
    const Result<std::size_t> count = stream.read(head.data() + size, head.size() - size);
    if (!count) return count.status();
    size += *count;
    is_all = *count == 0;
  }
  head.resize(size);
  return head;
}

Status check_head(const InputFile& file) {
  if (file.head.size() >= kIdxMagicBytes && is_idx_labels(file.head.data())) {
    return {Code::kData, file.path + ": holds labels alone; expected the file of images beside it"};
  }
  return check_text(file.path, file.head);
}

Result<InputFile> open_input_file(const std::string& path, const TextWindows& text, CommandsAhead* commands,
                                  bool as_it_comes) {
  if (path.empty())
    return Status(Code::kUsage, "a file's name is empty, ''; expected one, or - for standard input");
  InputFile file;
  file.text = text;
  file.path = path == "-" ? "standard input" : path;
  file.seekable = commands != nullptr;
  if (path != "-" && commands == nullptr) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      return Status(Code::kIo, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
    }
    if (S_ISDIR(info.st_mode)) {
      return Status(Code::kIo, fmt::format("{}: is a directory, expected a file (\"{}/*\" names its files)",
                                           path, path));
    }
    file.seekable = S_ISREG(info.st_mode);
    if (file.seekable) file.size_bytes = static_cast<std::uint64_t>(info.st_size);
  }
  Result<std::unique_ptr<ByteStream>> stream = open_rows(path, text, commands);
  if (!stream) return stream.status();
  file.packing = (*stream)->packing();
  Result<std::string> head = read_head(**stream, as_it_comes && !file.seekable, file.head_is_all);
  if (!head) return head.status();
  file.head = std::move(*head);
  if (!file.seekable) file.unread = std::move(*stream);
  if (const Status status = check_head(file); !status.ok()) return status;
  return file;
}

}  // namespace

std::string InputFile::head_lines() const {
  std::string lines(without_byte_order_mark(head));
  const std::size_t last = lines.rfind('\n');
  if (!head_is_all && last != std::string::npos) lines.resize(last + 1);
  if (lines.empty() || lines.back() != '\n') lines += '\n';
  return lines;
}

Result<InputFiles> open_input_files(const std::vector<std::string>& paths, const TextWindows& text,
                                    const SourceCommand& command, bool as_it_comes,
                                    const std::function<Result<std::string>(InputFile&)>& look) {
  std::vector<std::string> names;
  if (!command.empty()) names = paths;
  for (const std::string& path : command.empty() ? paths : std::vector<std::string>()) {
    if (const Status status = expand(path, names); !status.ok()) return status;
  }
  if (names.empty()) return Status(Code::kUsage, "no data file given, expected one or more");
  const auto piped = std::count(names.begin(), names.end(), "-");
  if (piped > 0 && !command.empty()) {
    return Status(Code::kUsage, "standard input is named beside --from-command, expected names for it");
  }
  if (piped > 1) {
    return Status(Code::kUsage, "standard input is named twice, expected once");
  }
  InputFiles files;
  std::string first_without_rows;
  std::optional<CommandsAhead> commands;
  if (!command.empty()) commands.emplace(command, names);
  for (const std::string& name : names) {
    Result<InputFile> file = open_input_file(name, text, commands ? &*commands : nullptr, as_it_comes);
    if (!file) return file.status();
    file->command = command;
    const Result<std::string> lack = file->head.empty() ? Result<std::string>("is empty") : look(*file);
    if (!lack) return lack.status();
    if (!lack->empty()) {
      if (files.empty.empty()) first_without_rows = fmt::format("{}: {}", file->path, *lack);
      files.empty.push_back(file->path);
      continue;
    }
    if (file->seekable) file->head = {};
    files.full.push_back(std::move(*file));
  }
  if (files.full.empty()) {
    return Status(Code::kData, first_without_rows + ", expected rows");
  }
  return files;
}

}  // namespace thalweg
