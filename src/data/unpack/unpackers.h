// The unpackers of packed files; each reads members or frames one after the other, as `cat` joins them.
// Packed data that is damaged or ends too early is an error of what reads it.
#pragma once

#include <memory>

#include "data/byte_stream.h"
#include "data/unpack/plain_stream.h"

namespace thalweg {

std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<PlainStream> from);
std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<PlainStream> from);
std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<PlainStream> from);
std::unique_ptr<ByteStream> unpack_bzip2(std::unique_ptr<PlainStream> from);

}  // namespace thalweg
