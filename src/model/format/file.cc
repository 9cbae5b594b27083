#include "model/format/file.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace thalweg {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

}  // namespace

Status FileStream::write(std::span<const std::byte> bytes) {
  if (bytes.size() >= kBufferBytes) {
    if (Status status = flush(); !status.ok()) return status;
    const Status status = file_->write_at(offset_, bytes);
    offset_ += bytes.size();
    return status;
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return buffer_.size() < kBufferBytes ? ok_status() : flush();
}

Status FileStream::flush() {
  const Status status = file_->write_at(offset_, bytes_of(buffer_));
  offset_ += buffer_.size();
  buffer_.clear();
  return status;
}

Result<std::string> hash_file(const File& file) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.status();
  StreamHash hash;
  std::vector<std::byte> buffer(kBufferBytes);
  for (std::uint64_t offset = 0; offset < *size; offset += kBufferBytes) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, *size - offset));
    const std::span<std::byte> part = std::span(buffer).first(count);
    if (Status status = file.read_at(offset, part); !status.ok()) return status;
    hash.add(part);
  }
  return hash.text();
}

Status copy_file(Disk& disk, const std::string& from, const std::string& to) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
  const Result<std::unique_ptr<File>> source = disk.open(from);
  if (!source) return source.status();
  const Result<std::uint64_t> size = (*source)->size();
  if (!size) return size.status();
  const Result<std::unique_ptr<File>> copy = disk.create(to);
  if (!copy) return copy.status();
  std::vector<std::byte> part;
  for (std::uint64_t done = 0; done < *size; done += part.size()) {
    part.resize(static_cast<std::size_t>(std::min(kPart, *size - done)));
    if (Status status = (*source)->read_at(done, part); !status.ok()) return status;
    if (Status status = (*copy)->write_at(done, part); !status.ok()) return status;
  }
  return (*copy)->sync();
}

std::string hash_text(std::string_view text) {
  StreamHash hash;
  hash.add(bytes_of(text));
  return hash.text();
}

}  // namespace thalweg
