#include "data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

constexpr std::uint64_t kPixelsMax = 1 << 20;  // A row's text stays below kMaxLineBytes.

// Reads exactly `size` bytes, fewer only at the end; kRetry loses nothing.
class ExactReader {
 public:
  explicit ExactReader(std::unique_ptr<ByteStream> from) : from_(std::move(from)) {}
  // False: the stream has ended before.
  Result<bool> read(std::size_t size) {
    bytes_.resize(size);
    while (have_ < size) {
      const Result<std::size_t> count = from_->read(bytes_.data() + have_, size - have_);
      if (!count) return count.status();
      if (*count == 0) return false;
      have_ += *count;
    }
    have_ = 0;
    return true;
  }
  // Whether nothing comes behind what was read.
  Result<bool> at_end() {
    bytes_.resize(1);
    if (have_ > 0) return false;
    const Result<std::size_t> count = from_->read(bytes_.data(), 1);
    if (!count) return count.status();
    have_ = *count;
    return have_ == 0;
  }
  std::uint8_t byte(std::size_t i) const { return static_cast<std::uint8_t>(bytes_[i]); }
  std::uint32_t number(std::size_t at) const {
    return std::uint32_t{byte(at)} << 24 | std::uint32_t{byte(at + 1)} << 16 |
           std::uint32_t{byte(at + 2)} << 8 | byte(at + 3);
  }
  ByteStream& stream() { return *from_; }
  const ByteStream& stream() const { return *from_; }

 private:
  std::unique_ptr<ByteStream> from_;
  std::vector<char> bytes_;
  std::size_t have_ = 0;
};

constexpr std::size_t kNumberTextMax = 16;  // Of a pixel's place or value.

// A part of a pixel's text: ":0.2", by its byte, or its place.
struct PixelText {
  char text[kNumberTextMax];
  std::size_t size;
};
const std::array<PixelText, 256>& pixel_texts() {
  static const std::array<PixelText, 256> kTexts = [] {
    std::array<PixelText, 256> texts;
    for (std::size_t value = 0; value < texts.size(); ++value) {
      PixelText& of = texts[value];
      of.text[0] = ':';
      const auto end =
          std::to_chars(of.text + 1, of.text + sizeof of.text, static_cast<float>(value) / 255.0f).ptr;
      of.size = static_cast<std::size_t>(end - of.text);
    }
    return texts;
  }();
  return kTexts;
}

class IdxRows final : public ByteStream {
 public:
  IdxRows(std::string path, std::string labels_path, std::unique_ptr<ByteStream> images,
          std::unique_ptr<ByteStream> labels)
      : path_(std::move(path)),
        labels_path_(std::move(labels_path)),
        images_(std::move(images)),
        labels_(std::move(labels)) {}

  Status read_heads();
  Result<std::size_t> read(char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      if (given_ == text_end_) {
        if (ended_) break;
        const Status status = row_ == rows_ ? end() : next_row();
        if (!status.ok() && done > 0) break;  // It comes again, behind the rows that could be read.
        if (!status.ok()) return status;
      }
      const std::size_t count = std::min(size - done, text_end_ - given_);
      std::memcpy(to + done, text_.data() + given_, count);
      given_ += count;
      done += count;
    }
    return done;
  }
  void give_way() override { images_.stream().give_way(); }
  std::uint64_t bytes_consumed() const override { return images_.stream().bytes_consumed(); }
  Packing packing() const override { return Packing::kIdx; }

 private:
  Status next_row();
  Status end();
  Status cut(const std::string& path, const char* what) const {
    return {Code::kData, fmt::format("{}: ends after {} of {} {}", path, row_, rows_, what)};
  }

  const std::string path_, labels_path_;
  ExactReader images_, labels_;
  std::uint64_t rows_ = 0, row_ = 0;
  bool has_label_ = false;  // Of the next row.
  bool ended_ = false;      // And nothing stood behind the last row.
  std::size_t pixels_ = 0;
  std::vector<PixelText> places_;  // " 152", by pixel.
  std::vector<char> text_;         // Of the newest row, up to text_end_.
  std::size_t given_ = 0, text_end_ = 0;
};

Status IdxRows::read_heads() {
  const Result<bool> head = images_.read(12);
  if (!head) return head.status();
  if (!*head) return {Code::kData, path_ + ": ends in the middle of its 16 bytes of sizes"};
  rows_ = images_.number(0);
  const std::uint64_t pixels = std::uint64_t{images_.number(4)} * images_.number(8);
  if (pixels == 0 || pixels > kPixelsMax) {
    return {Code::kData, fmt::format("{}: images of {} x {} pixels, expected 1 to {} pixels", path_,
                                     images_.number(4), images_.number(8), kPixelsMax)};
  }
  pixels_ = static_cast<std::size_t>(pixels);
  places_.resize(pixels_);
  for (std::size_t i = 0; i < pixels_; ++i) {
    PixelText& of = places_[i];
    of.text[0] = ' ';
    of.size = static_cast<std::size_t>(std::to_chars(of.text + 1, of.text + sizeof of.text, i).ptr - of.text);
  }
  // Room for the label, and a blank, a place and a value for each pixel.
  text_.resize(kNumberTextMax + pixels_ * 2 * kNumberTextMax);
  const Result<bool> labels = labels_.read(8);
  if (!labels) return labels.status();
  if (!*labels || labels_.number(0) != 0x801) {
    return {Code::kData, labels_path_ + ": expected a file of labels, which begins with the bytes 0 0 8 1"};
  }
  if (labels_.number(4) == rows_) return {};
  return {Code::kData, fmt::format("{}: {} labels, expected {} as there are images in {}", labels_path_,
                                   labels_.number(4), rows_, path_)};
}

Status IdxRows::next_row() {
  if (!has_label_) {
    const Result<bool> label = labels_.read(1);
    if (!label) return label.status();
    if (!*label) return cut(labels_path_, "labels");
    has_label_ = true;
  }
  const Result<bool> image = images_.read(pixels_);
  if (!image) return image.status();
  if (!*image) return cut(path_, "images");
  has_label_ = false;
  const auto& texts = pixel_texts();
  char* out = std::to_chars(text_.data(), text_.data() + kNumberTextMax, labels_.byte(0)).ptr;
  for (std::size_t i = 0; i < pixels_; ++i) {
    const std::uint8_t value = images_.byte(i);
    if (value == 0 && i + 1 < pixels_) continue;
    std::memcpy(out, places_[i].text, kNumberTextMax);
    out += places_[i].size;
    std::memcpy(out, texts[value].text, kNumberTextMax);
    out += texts[value].size;
  }
  *out++ = '\n';
  text_end_ = static_cast<std::size_t>(out - text_.data());
  given_ = 0;
  ++row_;
  return {};
}

// A packed file is checked where it ends, and damage may have made it longer.
Status IdxRows::end() {
  struct Part {
    ExactReader& in;
    const std::string& path;
    const char* what;
  };
  for (const Part& part : {Part{images_, path_, "images"}, Part{labels_, labels_path_, "labels"}}) {
    const Result<bool> over = part.in.at_end();
    if (!over) return over.status();
    if (!*over)
      return {Code::kData, fmt::format("{}: goes on behind its {} {}", part.path, rows_, part.what)};
  }
  ended_ = true;
  return {};
}

// Where the labels of the images at `path` are; empty: the name does not tell.
std::string labels_beside(const std::string& path) {
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  for (const auto& [from, to] : {std::pair("images", "labels"), std::pair("idx3", "idx1")}) {
    const std::size_t at = name.find(from);
    if (at == std::string::npos) return {};
    name.replace(at, std::string_view(from).size(), to);
  }
  const std::filesystem::path same = file.parent_path() / name;
  if (std::filesystem::exists(same)) return same.string();
  const std::filesystem::path unpacked = same.parent_path() / same.stem();
  if (same.has_extension() && std::filesystem::exists(unpacked)) return unpacked.string();
  const std::filesystem::path packed = same.string() + ".gz";
  return std::filesystem::exists(packed) ? packed.string() : same.string();
}

constexpr const char *kTrainImages = "train-images-idx3-ubyte", *kTestImages = "t10k-images-idx3-ubyte";

std::string either(const std::filesystem::path& directory, const char* name) {
  for (const char* ending : {"", ".gz", ".zst", ".xz", ".bz2"}) {
    const std::filesystem::path path = directory / (std::string(name) + ending);
    if (std::filesystem::exists(path)) return path.string();
  }
  return {};
}

}  // namespace

bool is_idx_images(const char* magic) { return std::memcmp(magic, "\0\0\x08\x03", kIdxMagicBytes) == 0; }
bool is_idx_labels(const char* magic) { return std::memcmp(magic, "\0\0\x08\x01", kIdxMagicBytes) == 0; }

Result<std::unique_ptr<ByteStream>> open_idx_rows(const std::string& path,
                                                  std::unique_ptr<ByteStream> images) {
  const std::string labels_path = labels_beside(path);
  if (labels_path.empty()) {
    return Status(Code::kData,
                  path +
                      ": holds images, whose labels are looked for in a file beside it; expected a name "
                      "with \"images\" and \"idx3\" in it, such as train-images-idx3-ubyte.gz");
  }
  Result<std::unique_ptr<ByteStream>> labels = open_byte_stream(labels_path);
  if (!labels) return labels.status();
  auto rows = std::make_unique<IdxRows>(path, labels_path, std::move(images), *std::move(labels));
  if (Status status = rows->read_heads(); !status.ok()) return status;
  return std::unique_ptr<ByteStream>(std::move(rows));
}

std::uint64_t pixels_of_row(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::string_view last = text.substr(text.rfind(' ') + 1);
  std::uint64_t place = 0;
  const auto read = std::from_chars(last.data(), last.data() + last.size(), place);
  return read.ec == std::errc() ? place + 1 : 0;
}

std::optional<ImageFiles> find_images(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::nullopt;
  ImageFiles files{either(path, kTrainImages), either(path, kTestImages)};
  if (files.train.empty()) return std::nullopt;
  return files;
}

Status take_test_images(ReadOptions& read) {
  if (!read.from_command.empty() || read.text.context != 0) return {};
  for (std::string& path : read.paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) continue;
    std::string test = either(path, kTestImages);
    if (test.empty() && either(path, kTrainImages).empty()) continue;
    if (test.empty()) {
      return {Code::kIo,
              fmt::format("{}: has {} and no {}, expected test images, or the name of a file of images", path,
                          kTrainImages, kTestImages)};
    }
    path = std::move(test);
  }
  return {};
}

}  // namespace thalweg
