// xz (The .xz File Format 1.0.4), several streams and padding between them allowed.
#include <lzma.h>

#include <utility>

#include "base/check.h"
#include "data/unpack/unpackers.h"

namespace thalweg {
namespace {

// Twice what `xz -9` asks of a reader; a header may ask for 4 GiB.
constexpr std::uint64_t kXzMemoryMax = std::uint64_t{128} << 20;

const char* xz_says(lzma_ret result) {
  switch (result) {
    case LZMA_FORMAT_ERROR:
      return "bytes behind the end";
    case LZMA_MEMLIMIT_ERROR:
      return "it asks for a dictionary that needs more than 128 MiB of memory, expected no more than xz -9 "
             "does";
    case LZMA_MEM_ERROR:
      return "there is no memory for its dictionary";
    case LZMA_OPTIONS_ERROR:
      return "it asks for what this version of liblzma does not know";
    case LZMA_UNSUPPORTED_CHECK:
      return "its kind of checksum is not known";
    default:
      return "corrupt block";
  }
}

class XzStream final : public ByteStream {
 public:
  explicit XzStream(std::unique_ptr<PlainStream> from) : from_(std::move(from)) {
    const lzma_ret begun =
        lzma_stream_decoder(&z_, kXzMemoryMax, LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK);
    THALWEG_CHECK(begun == LZMA_OK, "liblzma starts");
  }
  ~XzStream() override { lzma_end(&z_); }
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    z_.next_out = reinterpret_cast<std::uint8_t*>(to);
    z_.avail_out = size;
    while (z_.avail_out == size && !done_) {
      // With the input used up there may still be output inside the decoder, so it is asked before the file.
      if (from_->size() == 0 && !flushing_ && !ended_) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        ended_ = *filled == 0;
      }
      z_.next_in = reinterpret_cast<const std::uint8_t*>(from_->data());
      z_.avail_in = from_->size();
      const lzma_ret result = lzma_code(&z_, ended_ ? LZMA_FINISH : LZMA_RUN);
      from_->take(from_->size() - z_.avail_in);
      flushing_ = z_.avail_out == 0;
      done_ = result == LZMA_STREAM_END;
      if (result == LZMA_OK || done_ || (result == LZMA_BUF_ERROR && !ended_)) continue;
      return result == LZMA_BUF_ERROR ? cut(*from_, "xz") : damaged(*from_, "xz", xz_says(result));
    }
    return size - z_.avail_out;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kXz; }

 private:
  std::unique_ptr<PlainStream> from_;
  lzma_stream z_ = LZMA_STREAM_INIT;
  bool ended_ = false;  // The file; the decoder must not be given more from then on.
  bool flushing_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<PlainStream> from) {
  return std::make_unique<XzStream>(std::move(from));
}

}  // namespace thalweg
