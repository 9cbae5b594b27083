#include "data/text_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::size_t kTextBytesMax = std::size_t{1} << 30;  // It is held in memory.

class TextRows final : public ByteStream {
 public:
  TextRows(std::string path, std::unique_ptr<ByteStream> from, const TextWindows& windows)
      : path_(path == "-" ? "standard input" : std::move(path)), from_(std::move(from)), windows_(windows) {}

  Result<std::size_t> read(char* to, std::size_t size) override {
    if (!loaded_) {
      if (Status status = load(); !status.ok()) return status;
    }
    std::size_t done = 0;
    while (done < size) {
      if (given_ == row_.size()) {
        if (next_ == rows_) break;
        write_row();
      }
      const std::size_t count = std::min(size - done, row_.size() - given_);
      std::memcpy(to + done, row_.data() + given_, count);
      given_ += count;
      done += count;
    }
    return done;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override {
    return rows_ == 0 ? 0 : from_->bytes_consumed() * next_ / rows_;
  }
  Packing packing() const override { return Packing::kText; }

 private:
  Status load();
  Status cut();
  void write_row();

  const std::string path_;
  const std::unique_ptr<ByteStream> from_;
  const TextWindows windows_;
  std::vector<char> text_;  // As far as it has been read; once it is loaded, the wanted part.
  bool loaded_ = false;
  std::uint64_t rows_ = 0, next_ = 0;
  std::uint64_t stride_ = 1;  // From a row's window to the next row's; has no divisor in common with rows_.
  std::vector<std::string> places_;
  std::string row_;
  std::size_t given_ = 0;
};

// kRetry loses nothing.
Status TextRows::load() {
  for (std::size_t have = text_.size();;) {
    text_.resize(have + kReadBytes);
    const Result<std::size_t> count = from_->read(text_.data() + have, kReadBytes);
    text_.resize(have + (count ? *count : 0));
    if (!count) return count.status();
    if (*count == 0) break;
    have += *count;
    if (have > kTextBytesMax) {
      return {Code::kData,
              fmt::format("{}: more than {} bytes; expected text that fits in memory, in files of "
                          "that size at most",
                          path_, kTextBytesMax)};
    }
  }
  return cut();
}

Status TextRows::cut() {
  if (text_.empty()) return {Code::kData, path_ + ": is empty; expected text"};
  std::size_t begin = 0, end = text_.size();
  if (windows_.part != Part::kAll) {
    const std::size_t split = end - end / windows_.parts;
    (windows_.part == Part::kTrain ? end : begin) = split;
  }
  const std::size_t size = end - begin, context = windows_.context;
  if (size <= context) {
    const bool held_out = windows_.part == Part::kHeldOut;
    const char* const part = held_out                        ? " to hold out"
                             : windows_.part == Part::kTrain ? " to learn from"
                                                             : "";
    return {Code::kData,
            fmt::format("{}: {} bytes{}; expected more than the {} of --context\nhint: train with a lower "
                        "--context{}",
                        path_, size, part, context, held_out ? ", or name held-out text by --valid" : "")};
  }
  text_.erase(text_.begin() + static_cast<std::ptrdiff_t>(end), text_.end());
  text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin));
  rows_ = (size - 1) / context;
  constexpr double kGoldenSection = 0.6180339887498949;  // Any number of rows in a row are spread evenly.
  stride_ =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(rows_) * kGoldenSection));
  while (std::gcd(stride_, rows_) != 1) ++stride_;
  for (std::size_t i = 0; i < context; ++i) places_.push_back(fmt::format(" {}:", i));
  loaded_ = true;
  return {};
}

void TextRows::write_row() {
  const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(text_[at]); };
  const std::size_t begin = static_cast<std::size_t>(next_ * stride_ % rows_) * windows_.context;
  row_ = std::to_string(byte(begin + windows_.context));
  for (std::size_t i = 0; i < windows_.context; ++i) {
    row_ += places_[i];
    row_ += fmt::format_int(byte(begin + i)).c_str();
  }
  row_ += '\n';
  given_ = 0;
  ++next_;
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_rows(const std::string& path, const TextWindows& text,
                                              CommandsAhead* commands) {
  if (text.context == 0) return open_byte_stream(path, commands);
  Result<std::unique_ptr<ByteStream>> bytes = open_unpacked(path, commands);
  if (!bytes) return bytes.status();
  return std::unique_ptr<ByteStream>(std::make_unique<TextRows>(path, *std::move(bytes), text));
}

}  // namespace thalweg
