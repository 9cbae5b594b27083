#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash/hash.h"
#include "base/mix.h"
#include "data/reader/row_loop.h"
#include "data/stream_hub.h"
#include "data/text_windows.h"

namespace thalweg {

ChunkCutter::ChunkCutter(std::vector<InputFile>& files, Rules rules) : files_(files), rules_(rules) {
  if (files.front().command.empty()) return;
  std::vector<std::string> names;
  for (const InputFile& file : files) names.push_back(file.path);
  commands_.emplace(files.front().command, std::move(names),
                    rules.reads == Reads::kAll ? kCommandsAtOnce : 1);
}

std::uint64_t ChunkCutter::bytes_consumed() const {
  return consumed_before_file_ + (stream_ ? stream_->bytes_consumed() : 0);
}

Status ChunkCutter::open_file() {
  InputFile& file = files_[file_];
  text_.clear();
  if (file.seekable) {
    Result<std::unique_ptr<ByteStream>> stream =
        open_rows(file.path, file.text, commands_ ? &*commands_ : nullptr);
    if (!stream) return stream.status();
    stream_ = std::move(*stream);
  } else {
    text_.assign(file.head.begin(), file.head.end());
    stream_ = std::move(file.unread);
  }
  if (!file.order.places.empty()) {
    stream_ = in_order(std::string(text_.begin(), text_.end()), std::move(stream_), file.order);
    text_.clear();
  }
  offset_ = lines_ = 0;
  stream_ended_ = false;
  if (const Status status = skip_first_line(); !status.ok()) return status;
  if (rules_.give_way && !file.seekable) stream_->give_way();
  return {};
}

// Passes over the byte order mark and the header.
Status ChunkCutter::skip_first_line() {
  const auto drop = [this](std::size_t size) {
    text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(size));
    offset_ += size;
  };
  while (text_.size() < 3) {
    const Result<bool> more = read_more(kStreamChunkBytes);
    if (!more) return more.status();
    if (!*more) break;
  }
  const std::string_view text(text_.data(), text_.size());
  drop(text.size() - without_byte_order_mark(text).size());
  if (!rules_.header) return {};
  for (;;) {
    const char* end = text_.data() + text_.size();
    const char* newline = text_.empty() ? nullptr : line_end(text_.data(), end);
    if (newline != nullptr) {
      const auto size = static_cast<std::size_t>(newline + 1 - text_.data());
      const bool blank = is_blank({text_.data(), size});
      drop(size);
      ++lines_;
      if (!blank) return {};
      continue;
    }
    const Result<bool> more = read_more(kStreamChunkBytes);
    if (!more) return more.status();
    if (!*more) return drop(text_.size()), Status();
  }
}

// False: the file has no more text.
Result<bool> ChunkCutter::read_more(std::size_t size) {
  if (stream_ended_) return false;
  const std::size_t before = text_.size();
  text_.resize(before + size);
  const Result<std::size_t> count = stream_->read(text_.data() + before, size);
  text_.resize(before + (count ? *count : 0));
  if (!count) return count.status();
  stream_ended_ = *count == 0;
  if (stream_ended_ && !text_.empty() && text_.back() != '\n') text_.push_back('\n');
  return !stream_ended_;
}

StreamChunkRef ChunkCutter::cut(std::size_t size) {
  auto chunk = std::make_shared<StreamChunk>();
  chunk->size = size;
  chunk->bytes = std::vector<char>(size + kTextPad);
  std::memcpy(chunk->bytes.data(), text_.data(), size);
  text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(size));
  const char* begin = chunk->bytes.data();
  chunk->block = {begin, begin + size, file_, offset_, lines_, rules_.count_rows ? rows_ : kUnknown};
  if (rules_.hash_text) {
    chunk->block.hash = hash64(begin, size);
    hash_ = place(hash_ ^ chunk->block.hash);
  }
  lines_ += static_cast<std::uint64_t>(std::count(begin, begin + size, '\n'));
  if (rules_.count_rows) rows_ += count_rows(begin, begin + size, rules_.comments);
  offset_ += size;
  return chunk;
}

Result<bool> ChunkCutter::read_on(std::size_t size) {
  const Result<bool> more = read_more(size);
  if (more || more.status().code() == Code::kRetry) return more;
  return Status(more.status().code(), fmt::format("{} (after line {})", more.status().message(),
                                                  lines_ + std::count(text_.begin(), text_.end(), '\n')));
}

// Of a pipe the lines that are there, if one is; else 0.
std::size_t ChunkCutter::end_of_what_came() const {
  if (!rules_.as_it_comes || files_[file_].seekable) return 0;
  const auto newline = std::find(text_.rbegin(), text_.rend(), '\n');
  return static_cast<std::size_t>(text_.rend() - newline);
}

// The chunk's last line is the one that holds its last byte, and ends with the first '\n' from there on.
Result<std::size_t> ChunkCutter::end_of_bytes() {
  std::size_t from = kStreamChunkBytes - 1 - offset_ % kStreamChunkBytes;
  for (;;) {
    if (const std::size_t end = end_of_what_came(); end > 0) return end;
    if (text_.size() > from) {
      const char* begin = text_.data();
      if (const char* newline = line_end(begin + from, begin + text_.size()); newline != nullptr)
        return static_cast<std::size_t>(newline + 1 - begin);
      from = text_.size();
      if (text_.size() > kMaxLineBytes + 2 * kStreamChunkBytes) {
        return Status(Code::kData,
                      fmt::format("{}: a line near byte {} is longer than {} bytes, expected rows one a line",
                                  files_[file_].path, offset_ + text_.size(), kMaxLineBytes));
      }
    }
    const Result<bool> more = read_on(kStreamChunkBytes);
    if (!more) return more.status();
    if (!*more) return text_.size();
  }
}

Result<std::size_t> ChunkCutter::end_of_rows() {
  std::size_t from = 0;
  for (std::size_t lines = 0; lines < kComputedRowsPerChunk;) {
    const char* begin = text_.data();
    const char* newline = from < text_.size() ? line_end(begin + from, begin + text_.size()) : nullptr;
    if (newline != nullptr) {
      from = static_cast<std::size_t>(newline + 1 - begin);
      ++lines;
      continue;
    }
    const Result<bool> more = read_on(kComputedReadBytes);
    if (!more) return more.status();
    if (!*more) return text_.size();
  }
  return from;
}

Result<StreamChunkRef> ChunkCutter::next(std::uint64_t& index) {
  for (; file_ < files_.size(); ++file_) {
    if (!stream_) {
      if (const Status status = open_file(); !status.ok()) return status;
    }
    const bool computed = is_computed(stream_->packing());
    const Result<std::size_t> size = computed ? end_of_rows() : end_of_bytes();
    if (!size) return size.status();
    const std::uint64_t at = computed ? lines_ : offset_;
    const std::uint64_t length = computed ? kComputedRowsPerChunk : kStreamChunkBytes;
    if (*size > 0) {
      index = chunks_before_file_ + at / length;
      return cut(*size);
    }
    chunks_before_file_ += (at + length - 1) / length;
    consumed_before_file_ += stream_->bytes_consumed();
    stream_.reset();
  }
  return StreamChunkRef();
}

}  // namespace thalweg
