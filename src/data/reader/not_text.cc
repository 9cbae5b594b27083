#include "data/reader/not_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/hint.h"

namespace thalweg {
namespace {

// What bytes at some place of a file tell of it, and what makes rows of such a file: a command, or a call of
// Python.
struct FileKind {
  std::size_t at;
  std::string_view bytes;
  std::string_view name;
  std::string_view command, call;
};

constexpr std::size_t kFirstMember = 30;  // Of a zip archive: its name.
// The first that fits counts.
constexpr FileKind kFileKinds[] = {
    {kFirstMember, "[Content_Types].xml", "a spreadsheet or document of an office program", "", ""},
    {0, "PK\x03\x04", "a zip archive", "unzip -p", ""},
    {257, "ustar", "a tar archive", "tar -xOf", ""},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so", ""},
    {0, "\x04\x22\x4d\x18", "packed by lz4", "lz4 -dc", ""},
    {0, "\x1f\x9d", "packed by compress", "zcat", ""},
    {0, "PAR1", "a Parquet file", "", "pyarrow.parquet.read_table(FILE)"},
    {0, "ARROW1", "an Arrow file", "", "pyarrow.feather.read_table(FILE)"},
    {0, "ORC", "an ORC file", "", "pyarrow.orc.read_table(FILE)"},
    {0, "\x89HDF", "an HDF5 file", "", "pandas.read_hdf(FILE)"},
    {0, "\x93NUMPY", "an array of numpy", "", "numpy.load(FILE)"},
};

std::string hint_of(const FileKind& kind) {
  if (!kind.command.empty())
    return fmt::format("--from-command '{} %s' reads the rows that are in it", kind.command);
  if (!kind.call.empty())
    return fmt::format("in Python, thalweg.train() takes what {} makes of it", kind.call);
  return "save it as CSV in UTF-8";
}

Status check_nul(const std::string& path, std::string_view head, std::size_t nul) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
    return with_hint({Code::kData, path + ": is UTF-16, as spreadsheets write it, expected UTF-8 text"},
                     "iconv -f UTF-16 -t UTF-8 FILE | thalweg ... - reads it, or save it as CSV in UTF-8");
  }
  for (const FileKind& kind : kFileKinds) {
    if (head.substr(std::min(kind.at, head.size())).starts_with(kind.bytes))
      return with_hint({Code::kData, fmt::format("{}: is {}, expected text", path, kind.name)},
                       hint_of(kind));
  }
  const std::string_view before = head.substr(0, nul);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return {Code::kData, fmt::format("{}:{}:{}: saw \"\\x00\", expected text (is it a binary file?)", path,
                                   std::count(before.begin(), before.end(), '\n') + 1, nul - line_begin + 1)};
}

}  // namespace

Status check_text(const std::string& path, std::string_view head) {
  const std::size_t nul = head.find('\0');
  if (nul != head.npos) return check_nul(path, head, nul);
  const std::size_t cr = head.find('\r');
  if (cr >= head.size() - std::min<std::size_t>(head.size(), 1) || head.find('\n') != head.npos)
    return ok_status();
  return with_hint(
      {Code::kData, path + ": its lines end with CR alone, as old programs write them, expected LF or CRLF"},
      "tr '\\r' '\\n' <FILE | thalweg ... - reads it, and so does --from-command 'tr \"\\r\" \"\\n\" <%s'");
}

}  // namespace thalweg
