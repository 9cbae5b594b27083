// bzip2, several streams allowed as pbzip2 writes them. A decoder takes 4 MB at most.
#include <bzlib.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/unpack/unpackers.h"

namespace thalweg {
namespace {

constexpr std::size_t kBzip2BytesAtOnce = std::size_t{128} << 10;

const char* bzip2_says(int result) {
  if (result == BZ_DATA_ERROR_MAGIC) return "bytes behind the end";
  return result == BZ_MEM_ERROR ? "there is no memory for a block" : "corrupt block";
}

class Bzip2Stream final : public ByteStream {
 public:
  explicit Bzip2Stream(std::unique_ptr<PlainStream> from) : from_(std::move(from)) { start(); }
  ~Bzip2Stream() override { BZ2_bzDecompressEnd(&z_); }
  Bzip2Stream(const Bzip2Stream&) = delete;
  Bzip2Stream& operator=(const Bzip2Stream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    const auto wanted = static_cast<unsigned>(std::min(size, kBzip2BytesAtOnce));
    z_.next_out = to;
    z_.avail_out = wanted;
    while (z_.avail_out == wanted) {
      // With the input used up there may still be output inside the decoder, so it is asked before the file.
      if (from_->size() == 0 && !flushing_) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        if (*filled == 0 && stream_done_) return std::size_t{0};
        if (*filled == 0) return cut(*from_, "bzip2");
      }
      if (stream_done_) start_next();
      z_.next_in = from_->data();
      z_.avail_in = static_cast<unsigned>(from_->size());
      const int result = BZ2_bzDecompress(&z_);
      from_->take(from_->size() - z_.avail_in);
      stream_done_ = result == BZ_STREAM_END;
      flushing_ = z_.avail_out == 0 && !stream_done_;
      if (result != BZ_OK && !stream_done_) return damaged(*from_, "bzip2", bzip2_says(result));
    }
    return wanted - z_.avail_out;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kBzip2; }

 private:
  void start() { THALWEG_CHECK(BZ2_bzDecompressInit(&z_, 0, 0) == BZ_OK, "bzip2 starts"); }
  void start_next() {
    char* const out = z_.next_out;
    const unsigned room = z_.avail_out;
    BZ2_bzDecompressEnd(&z_);
    z_ = {};
    start();
    z_.next_out = out;
    z_.avail_out = room;
    stream_done_ = false;
  }

  std::unique_ptr<PlainStream> from_;
  bz_stream z_{};
  bool stream_done_ = false;
  bool flushing_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> unpack_bzip2(std::unique_ptr<PlainStream> from) {
  return std::make_unique<Bzip2Stream>(std::move(from));
}

}  // namespace thalweg
