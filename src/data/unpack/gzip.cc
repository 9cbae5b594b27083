// gzip (RFC 1952), several members allowed as from `cat a.gz b.gz`.
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/unpack/unpackers.h"

namespace thalweg {
namespace {

constexpr std::size_t kGzipBytesAtOnce = std::size_t{128} << 10;

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<PlainStream> from) : from_(std::move(from)) {
    THALWEG_CHECK(inflateInit2(&z_, 15 + 16) == Z_OK, "zlib starts");
  }
  ~GzipStream() override { inflateEnd(&z_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = static_cast<uInt>(std::min(size, kGzipBytesAtOnce));
    const std::size_t wanted = z_.avail_out;
    while (z_.avail_out == wanted) {
      if (from_->size() == 0) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        if (*filled == 0 && member_done_) return std::size_t{0};
        if (*filled == 0) return cut(*from_, "gzip");
      }
      if (member_done_) {
        inflateReset(&z_);
        member_done_ = false;
      }
      z_.next_in = reinterpret_cast<Bytef*>(from_->data());
      z_.avail_in = static_cast<uInt>(from_->size());
      const int result = inflate(&z_, Z_NO_FLUSH);
      from_->take(from_->size() - z_.avail_in);
      if (result == Z_STREAM_END) member_done_ = true;
      if (result != Z_OK && result != Z_STREAM_END) {
        return damaged(*from_, "gzip", z_.msg != nullptr ? z_.msg : "unknown block");
      }
    }
    return wanted - z_.avail_out;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kGzip; }

 private:
  std::unique_ptr<PlainStream> from_;
  z_stream z_{};
  bool member_done_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<PlainStream> from) {
  return std::make_unique<GzipStream>(std::move(from));
}

}  // namespace thalweg
