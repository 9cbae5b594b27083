#include "cli/data_split.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "data/byte_stream.h"
#include "data/columns.h"
#include "data/detect.h"
#include "data/input_files.h"
#include "data/row_loop.h"

namespace thalweg {
namespace {

// A file that gets its name when it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), file_(std::fopen(part().c_str(), "wb")) {}
  ~NewFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(part().c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const std::string& path() const { return path_; }
  Status write(std::string_view text) {
    errno = file_ == nullptr ? errno : 0;
    if (file_ != nullptr && std::fwrite(text.data(), 1, text.size(), file_) == text.size())
      return Status::ok();
    return refused();
  }
  Status commit() {
    if (file_ == nullptr) return refused();
    const bool closed = std::fclose(file_) == 0;
    file_ = nullptr;
    if (closed && std::rename(part().c_str(), path_.c_str()) == 0) return Status::ok();
    const Status status = refused();
    std::remove(part().c_str());
    return status;
  }

 private:
  std::string part() const { return path_ + ".part"; }
  Status refused() const {
    return {Code::kIo, fmt::format("{}: cannot be written: {}", path_, std::strerror(errno))};
  }

  std::string path_;
  std::FILE* file_;
};

// Lines of one file, each closed by '\n'.
class Lines {
 public:
  Lines(std::string head, std::unique_ptr<ByteStream> rest, std::string path)
      : text_(std::move(head)), rest_(std::move(rest)), path_(std::move(path)) {}

  // Empty at the end.
  Result<std::string_view> next() {
    std::size_t end = text_.find('\n', begin_);
    while (end == text_.npos && rest_ != nullptr) {
      text_.erase(0, begin_);
      begin_ = 0;
      const std::size_t searched = text_.size();
      if (searched > kMaxLineBytes) {
        return Status(Code::kData, fmt::format("{}: a line is longer than {} bytes", path_, kMaxLineBytes));
      }
      if (const Status status = read_more(); !status) return status;
      end = text_.find('\n', searched);
    }
    if (end == text_.npos) {
      if (begin_ == text_.size()) return std::string_view();
      text_ += '\n';
      end = text_.size() - 1;
    }
    const std::string_view line(text_.data() + begin_, end + 1 - begin_);
    begin_ = end + 1;
    return line;
  }

 private:
  Status read_more() {
    const std::size_t size = text_.size();
    text_.resize(size + kBlockBytes);
    const Result<std::size_t> count = rest_->read(text_.data() + size, kBlockBytes);
    text_.resize(size + (count ? *count : 0));
    if (!count) return count.status();
    if (*count == 0) rest_.reset();
    return Status::ok();
  }

  std::string text_;
  std::size_t begin_ = 0;
  std::unique_ptr<ByteStream> rest_;
  std::string path_;
};

Result<Lines> lines_of(InputFile& file) {
  if (!file.seekable) return Lines(std::move(file.head), std::move(file.unread), file.path);
  Result<std::unique_ptr<ByteStream>> stream = open_byte_stream(file.path);
  if (!stream) return stream.status();
  return Lines("", *std::move(stream), file.path);
}

const char* extension(Format format) {
  switch (format) {
    case Format::kLibffm:
      return "ffm";
    case Format::kCriteo:
      return "tsv";
    case Format::kCsv:
      return "csv";
    case Format::kAuto:
    case Format::kLibsvm:
      break;
  }
  return "svm";
}

struct Shape {
  Format format = Format::kAuto;
  bool header = false;
};

Result<Shape> look(const ReadOptions& options, const InputFile& first) {
  Shape shape{options.format, false};
  if (shape.format == Format::kAuto && !options.columns.empty()) shape.format = Format::kCsv;
  if (shape.format == Format::kAuto) {
    const Result<Format> found = detect_format(first.head_lines(), first.path);
    if (!found) return found.status();
    shape.format = *found;
  }
  if (shape.format == Format::kCsv) {
    const Result<Columns> columns = find_columns(first.head_lines(), first.path, options);
    if (!columns) return columns.status();
    shape.header = columns->header;
  }
  return shape;
}

// The first file's header goes to both parts; other files' headers are passed over.
Status deal(Lines& lines, const Shape& shape, bool first_file, std::uint64_t modulus, NewFile& train,
            NewFile& valid, SplitReport& report) {
  for (bool first_line = true;; first_line = false) {
    const Result<std::string_view> line = lines.next();
    if (!line) return line.status();
    if (line->empty()) return Status::ok();
    if (first_line && shape.header) {
      if (!first_file) continue;
      if (Status status = train.write(*line); !status) return status;
      if (Status status = valid.write(*line); !status) return status;
      continue;
    }
    if (!is_row(line->data(), has_comments(shape.format))) continue;
    const bool held_out = (report.train_rows + report.valid_rows + 1) % modulus == 0;
    if (Status status = (held_out ? valid : train).write(*line); !status) return status;
    (held_out ? report.valid_rows : report.train_rows) += 1;
  }
}

}  // namespace

Result<SplitReport> split_rows(const ReadOptions& options, const std::string& directory) {
  Result<std::vector<InputFile>> files = open_input_files(options.paths);
  if (!files) return files.status();
  const Result<Shape> shape = look(options, files->front());
  if (!shape) return shape.status();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Status(Code::kIo, fmt::format("{}: cannot be made: {}", directory, error.message()));
  NewFile train(fmt::format("{}/train.{}", directory, extension(shape->format)));
  NewFile valid(fmt::format("{}/valid.{}", directory, extension(shape->format)));
  SplitReport report{0, 0, train.path(), valid.path()};
  for (InputFile& file : *files) {
    Result<Lines> lines = lines_of(file);
    if (!lines) return lines.status();
    const bool first = &file == &files->front();
    if (Status status = deal(*lines, *shape, first, options.part_modulus, train, valid, report); !status)
      return status;
  }
  if (Status status = train.commit(); !status) return status;
  if (Status status = valid.commit(); !status) return status;
  return report;
}

}  // namespace thalweg
