#include "data/column/row_sample.h"

#include <algorithm>

#include "data/plain_blocks.h"
#include "data/reader/row_loop.h"
#include "data/text_windows.h"

namespace thalweg {

std::string_view rows_of_begin(std::string_view text, bool header) {
  text = without_byte_order_mark(text);
  if (!header) return text;
  for (;;) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (text.empty() || !is_blank(line)) return text;
  }
}

namespace {

// Pieces of plain files, evenly over all of them.
struct Pieces {
  std::uint64_t count;
  std::size_t bytes;  // Of each.
};
// The next ones are for longer rows.
constexpr Pieces kPieces[] = {{64, kSampleBytes / 64},
                              {16, kSampleBytes / 16},
                              {8, kSampleBytes / 4},
                              {8, kSampleBytes},
                              {8, kSampleBytes * 4}};
constexpr std::size_t kMarginBytes = kTextPad + kPieces[0].count;  // And line ends that pieces lack.

bool has_enough(std::string_view rows) {
  constexpr int kEnough = 64;
  int lines = 0;
  for (std::size_t end = 0; lines < kEnough && (end = rows.find('\n')) != rows.npos; ++lines)
    rows.remove_prefix(end + 1);
  return lines == kEnough;
}

// The lines that lie whole in a piece of text, the first without its `skip` bytes of a mark.
void append_lines(std::string_view piece, bool from_begin, bool to_end, std::string& rows) {
  if (!from_begin) piece.remove_prefix(std::min(piece.find('\n'), piece.size() - 1) + 1);
  const std::size_t last = piece.rfind('\n');
  if (!to_end) piece = piece.substr(0, last == piece.npos ? 0 : last + 1);
  rows += piece;
  if (!rows.empty() && rows.back() != '\n') rows += '\n';
}

Result<std::string> read_pieces(const PlainFiles& opened, const std::vector<InputFile>& files, bool header,
                                std::uint64_t total, Pieces pieces) {
  const std::uint64_t most = pieces.count * pieces.bytes;
  const bool all = total <= most;
  const std::uint64_t stride = std::max<std::uint64_t>(total / pieces.count, 1);
  std::string rows, piece;
  rows.reserve(static_cast<std::size_t>(std::min(total, most)) + kMarginBytes);
  std::uint64_t next = 0, before = 0;  // Of all bytes: where the next piece is, where this file begins.
  for (std::uint32_t f = 0; f < files.size(); before += files[f++].size_bytes) {
    const std::uint64_t size = files[f].size_bytes;
    while (all ? next == before && size > 0 : next < before + size) {
      const std::uint64_t at = next - before;
      const auto bytes =
          static_cast<std::size_t>(all ? size : std::min<std::uint64_t>(size - at, pieces.bytes));
      next = all ? before + size : next + stride;
      piece.resize(bytes);
      if (const Status status = opened.read(f, at, piece.data(), bytes); !status.ok()) return status;
      const std::string_view text = at == 0 ? rows_of_begin(piece, header) : std::string_view(piece);
      if (!text.empty()) append_lines(text, at == 0, at + bytes == size, rows);
    }
  }
  return rows;
}

Result<std::string> sample_plain(const std::vector<InputFile>& files, bool header) {
  const auto opened = PlainFiles::open(files, 1, {});
  if (!opened) return opened.status();
  std::uint64_t total = 0;
  for (const InputFile& file : files) total += file.size_bytes;
  Result<std::string> rows = std::string();
  for (const Pieces pieces : kPieces) {
    rows = read_pieces(**opened, files, header, total, pieces);
    if (!rows || has_enough(*rows) || total <= pieces.count * pieces.bytes) break;
  }
  return rows;
}

Result<std::string> sample_packed(const InputFile& file, bool header, const ReadOptions& options) {
  CommandsAhead command(file.command, {file.path});
  const auto stream = open_rows(file.path, options.text, file.command.empty() ? nullptr : &command);
  if (!stream) return stream.status();
  std::string text(kSampleBytes, '\0');
  std::size_t size = 0;
  for (bool more = true; more;) {
    if (size == text.size()) {
      if (size >= kMaxLineBytes || has_enough(text)) break;
      text.resize(2 * size);
    }
    const auto count = (*stream)->read(text.data() + size, text.size() - size);
    if (!count) return count.status();
    size += *count;
    more = *count > 0;
  }
  const bool all = size < text.size();
  text.resize(size);
  std::string rows;
  append_lines(rows_of_begin(text, header), true, all, rows);
  return rows;
}

}  // namespace

Result<std::string> sample_rows(const std::vector<InputFile>& files, bool header,
                                const ReadOptions& options) {
  Result<std::string> rows = std::string();
  const bool plain = std::all_of(files.begin(), files.end(), [](const InputFile& f) { return f.plain(); });
  if (plain) {
    rows = sample_plain(files, header);
  } else if (files.front().seekable) {
    rows = sample_packed(files.front(), header, options);
  } else {
    append_lines(rows_of_begin(files.front().head, header), true, files.front().head_is_all, *rows);
  }
  if (rows) rows->append(kTextPad, '\0');
  return rows;
}

}  // namespace thalweg
