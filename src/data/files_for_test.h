// Files for the tests of this folder: packed ones, and the real data sets.
#pragma once

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/temporary_folder_for_test.h"

namespace thalweg {

// Path of a real data file, or "" if the data sets are not there.
inline std::string test_data(const std::string& name) {
  const char* root = std::getenv("THALWEG_TEST_DATA");
  const std::filesystem::path path =
      (root != nullptr ? std::filesystem::path(root)
                       : std::filesystem::path(THALWEG_SOURCE_DIR) / "../shared/data") /
      name;
  return std::filesystem::exists(path) ? path.string() : "";
}

inline std::string gzipped(std::string_view text) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&z, text.size()), '\0');
  std::string copy(text);
  z.next_in = reinterpret_cast<Bytef*>(copy.data());
  z.avail_in = static_cast<uInt>(copy.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

inline std::string zstd_packed(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

inline std::string xz_packed(std::string_view text) {
  lzma_stream z = LZMA_STREAM_INIT;
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  if (lzma_easy_encoder(&z, 1, LZMA_CHECK_CRC64) != LZMA_OK) return "";
  z.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
  z.avail_in = text.size();
  z.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  z.avail_out = packed.size();
  while (lzma_code(&z, LZMA_FINISH) == LZMA_OK) continue;
  packed.resize(z.total_out);
  lzma_end(&z);
  return packed;
}

inline std::string bzip2_packed(std::string_view text) {
  auto size = static_cast<unsigned>(text.size() + text.size() / 100 + 600);  // As bzip2's manual says.
  std::string packed(size, '\0'), copy(text);
  BZ2_bzBuffToBuffCompress(packed.data(), &size, copy.data(), static_cast<unsigned>(copy.size()), 1, 0, 0);
  packed.resize(size);
  return packed;
}

}  // namespace thalweg
