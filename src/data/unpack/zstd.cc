// Zstandard (RFC 8878), several frames allowed.
#include <zstd.h>

#include <utility>

#include "base/check.h"
#include "data/unpack/unpackers.h"

namespace thalweg {
namespace {

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<PlainStream> from) : from_(std::move(from)), z_(ZSTD_createDStream()) {
    THALWEG_CHECK(z_ != nullptr, "zstd starts");
  }
  ~ZstdStream() override { ZSTD_freeDStream(z_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      // With the input used up there may still be output inside the decoder, so it is asked before the file.
      if (from_->size() == 0 && !flushing_) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        if (*filled == 0 && frame_done_) return std::size_t{0};
        if (*filled == 0) return cut(*from_, "zstd");
      }
      ZSTD_inBuffer in{from_->data(), from_->size(), 0};
      const std::size_t result = ZSTD_decompressStream(z_, &out, &in);
      from_->take(in.pos);
      if (ZSTD_isError(result) != 0) return damaged(*from_, "zstd", ZSTD_getErrorName(result));
      frame_done_ = result == 0;
      flushing_ = out.pos == out.size && !frame_done_;
    }
    return out.pos;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kZstd; }

 private:
  std::unique_ptr<PlainStream> from_;
  ZSTD_DStream* z_;
  bool frame_done_ = false;
  bool flushing_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<PlainStream> from) {
  return std::make_unique<ZstdStream>(std::move(from));
}

}  // namespace thalweg
