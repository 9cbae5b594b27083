#include "data/plain_blocks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash/hash.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

Result<int> open_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code::kIo, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return fd;
}

}  // namespace

ChunkGrid::ChunkGrid(const std::vector<InputFile>& files, std::uint32_t shards) : first_chunk_{0} {
  std::uint64_t total = 0;
  for (const InputFile& file : files) total += file.size_bytes;
  chunk_bytes_ =
      std::clamp<std::uint64_t>(total / (std::uint64_t{shards} * 16), kMinChunkBytes, kMaxChunkBytes);
  for (const InputFile& file : files) {
    sizes_.push_back(file.size_bytes);
    first_chunk_.push_back(first_chunk_.back() + (file.size_bytes + chunk_bytes_ - 1) / chunk_bytes_);
  }
}

ChunkGrid::Chunk ChunkGrid::chunk(std::uint64_t index) const {
  const auto after = std::upper_bound(first_chunk_.begin(), first_chunk_.end(), index);
  const auto file = static_cast<std::uint32_t>(after - first_chunk_.begin() - 1);
  const std::uint64_t begin = (index - first_chunk_[file]) * chunk_bytes_;
  return {file, begin, std::min(begin + chunk_bytes_, sizes_[file])};
}

PlainFiles::PlainFiles(const std::vector<InputFile>& files, std::uint32_t shards, Rules rules)
    : grid_(files, shards), rules_(rules) {
  for (const InputFile& file : files) {
    paths_.push_back(file.path);
    sizes_.push_back(file.size_bytes);
  }
}

PlainFiles::~PlainFiles() {
  for (const int fd : fds_) ::close(fd);
}

Result<std::shared_ptr<PlainFiles>> PlainFiles::open(const std::vector<InputFile>& files,
                                                     std::uint32_t shards, Rules rules) {
  std::shared_ptr<PlainFiles> opened(new PlainFiles(files, shards, rules));
  if (files.size() > kMaxOpenFiles) return opened;
  for (const InputFile& file : files) {
    const Result<int> fd = open_file(file.path);
    if (!fd) return fd.status();
    opened->fds_.push_back(*fd);
  }
  return opened;
}

Status PlainFiles::read(std::uint32_t file, std::uint64_t offset, char* to, std::size_t size) const {
  if (!fds_.empty()) return read_at(fds_[file], file, offset, to, size);
  const Result<int> fd = open_file(paths_[file]);
  if (!fd) return fd.status();
  const Status status = read_at(*fd, file, offset, to, size);
  ::close(*fd);
  return status;
}

Status PlainFiles::read_at(int fd, std::uint32_t file, std::uint64_t offset, char* to,
                           std::size_t size) const {
  while (size > 0) {
    const ssize_t count = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return {Code::kIo, fmt::format("{}: cannot be read: {}", paths_[file], std::strerror(errno))};
    if (count == 0) {
      return {Code::kIo, fmt::format("{}: became shorter while it was read: {} bytes, expected {}",
                                     paths_[file], offset, sizes_[file])};
    }
    to += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::uint64_t> PlainFiles::rows_before(std::uint64_t chunk) {
  const std::lock_guard<std::mutex> lock(counting_);
  // Unowned: `lines` does not outlive this call.
  ChunkLines lines(std::shared_ptr<const PlainFiles>(std::shared_ptr<const PlainFiles>(), this));
  while (rows_before_.size() <= chunk) {
    lines.start(rows_before_.size() - 1);
    std::uint64_t rows = rows_before_.back();
    TextBlock block;
    for (;;) {
      const Result<bool> more = lines.next(block);
      if (!more) return more.status();
      if (!*more) break;
      rows += count_rows(block.begin, block.end, rules_.comments);
    }
    rows_before_.push_back(rows);
  }
  return rows_before_[chunk];
}

ChunkLines::ChunkLines(std::shared_ptr<const PlainFiles> files) : files_(std::move(files)) {}

void ChunkLines::start(std::uint64_t chunk) {
  chunk_ = files_->grid().chunk(chunk);
  begin_ = end_ = 0;
  // From the byte before: whether it ends a line tells whether one starts here.
  at_ = chunk_.begin == 0 ? 0 : chunk_.begin - 1;
  started_ = false;
}

// Appends file bytes to the buffer.
Status ChunkLines::read_more(std::size_t size) {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // One byte more than read, for the '\n' that a file's last line may lack.
  if (buffer_.size() < end_ + size + 1 + kTextPad) buffer_.resize(end_ + size + 1 + kTextPad);
  const Status status = files_->read(chunk_.file, at_, buffer_.data() + end_, size);
  if (status.ok()) end_ += size, at_ += size;
  return status;
}

// Moves begin_ to the first line that starts in the chunk (and is no header); at_ beyond the chunk if there
// is none.
Status ChunkLines::find_first_line() {
  started_ = true;
  if (chunk_.begin == 0 && !files_->rules().header) {
    if (const Status status = read_more(std::min<std::uint64_t>(chunk_.end, kBlockBytes)); !status.ok())
      return status;
    begin_ = end_ - without_byte_order_mark({buffer_.data(), end_}).size();
    return {};
  }
  for (bool blank = chunk_.begin == 0;;) {  // So far, of the lines before a header.
    while (begin_ < end_) {
      const char *const line = buffer_.data() + begin_, *const end = buffer_.data() + end_;
      const char* const newline = line_end(line, end);
      blank = blank && is_blank(without_byte_order_mark({line, newline == nullptr ? end : newline}));
      if (newline == nullptr) break;
      begin_ = static_cast<std::size_t>(newline + 1 - buffer_.data());
      if (!blank) return {};
    }
    begin_ = end_ = 0;
    if (at_ >= chunk_.end) return {};
    if (const Status status = read_more(std::min<std::uint64_t>(chunk_.end - at_, kBlockBytes)); !status.ok())
      return status;
  }
}

void ChunkLines::deliver(std::size_t end, TextBlock& block) {
  block = {};
  block.begin = buffer_.data() + begin_;
  block.end = buffer_.data() + end;
  block.file = chunk_.file;
  block.offset = at_ - (end_ - begin_);
  begin_ = end;
}

Result<bool> ChunkLines::next(TextBlock& block) {
  constexpr std::size_t kTailBytes = 4096;
  if (!started_) {
    if (const Status status = find_first_line(); !status.ok()) return status;
  }
  const std::uint64_t file_end = files_->file_size(chunk_.file);
  for (std::size_t searched = 0;;) {
    const char* text = buffer_.data() + begin_;
    const std::size_t size = end_ - begin_;
    // Whole lines that start before the chunk's end: up to the last '\n' inside, or the first one behind.
    if (at_ <= chunk_.end && size > searched) {
      const void* last = ::memrchr(text + searched, '\n', size - searched);
      if (last != nullptr) {
        const char* end = static_cast<const char*>(last) + 1;
        deliver(static_cast<std::size_t>(end - buffer_.data()), block);
        return true;
      }
    } else if (at_ > chunk_.end && size > searched) {
      const char* first = line_end(text + searched, text + size);
      if (first != nullptr) {
        const std::size_t end = static_cast<std::size_t>(first + 1 - buffer_.data());
        deliver(end, block);
        begin_ = end_ = 0;
        at_ = file_end + 1;  // The chunk is done.
        return true;
      }
    }
    if (size == 0 && at_ >= chunk_.end) return false;
    if (size > kMaxLineBytes) {
      return Status(Code::kData,
                    fmt::format("{}: a line at byte {} is longer than {} bytes, expected rows one a line",
                                files_->path(chunk_.file), at_ - size, kMaxLineBytes));
    }
    if (at_ >= file_end) {
      buffer_[end_++] = '\n';
      ++at_;
      continue;
    }
    searched = size;
    const std::uint64_t left =
        at_ < chunk_.end ? chunk_.end - at_ : std::min<std::uint64_t>(kTailBytes, file_end - at_);
    if (const Status status = read_more(std::min<std::uint64_t>(left, kBlockBytes)); !status.ok())
      return status;
  }
}

PlainBlocks::PlainBlocks(std::shared_ptr<PlainFiles> files, std::uint32_t shard, std::uint32_t shards,
                         const RowShuffle& shuffle, std::uint32_t epoch)
    : files_(std::move(files)),
      shard_(shard),
      shards_(shards),
      lines_(files_),
      order_(shuffle, shard, epoch, own_chunks(files_->grid().size(), shard, shards)) {}

Result<bool> PlainBlocks::next(TextBlock& block) {
  for (; at_ < order_.size(); ++at_) {
    const std::uint64_t chunk = shard_ + order_[at_] * shards_;
    const bool first = !in_chunk_;
    if (first) lines_.start(chunk);
    in_chunk_ = true;
    const Result<bool> more = lines_.next(block);
    if (!more) return more;
    if (*more && first && files_->rules().count_rows) {
      const Result<std::uint64_t> rows = files_->rows_before(chunk);
      if (!rows) return rows.status();
      block.first_row = *rows;
    }
    if (*more && files_->rules().hash_text) {
      block.hash = hash64(block.begin, static_cast<std::size_t>(block.end - block.begin));
    }
    if (*more) return true;
    in_chunk_ = false;
  }
  return false;
}

Status PlainBlocks::rewind() {
  at_ = 0;
  order_.next_pass();
  in_chunk_ = false;
  return {};
}

double PlainBlocks::fraction_done() const {
  return order_.size() == 0 ? 1.0 : static_cast<double>(at_) / static_cast<double>(order_.size());
}

}  // namespace thalweg
