// Images in IDX files, as the MNIST sets come: train-images-idx3-ubyte beside train-labels-idx1-ubyte, plain
// or packed (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/byte_stream.h"
#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kIdxMagicBytes = 4;
// Whether a file that begins so holds images, or labels, of a byte each.
bool is_idx_images(const char* magic);
bool is_idx_labels(const char* magic);

// The images behind the magic bytes of the file at `path` as rows of text, "7 152:0.2 153:1 783:0": the label
// out of the file beside it, then the pixels that are not 0, as parts of 1, and the last one, which tells the
// image's size. Errors: kIo, kData, naming the file and what was expected.
Result<std::unique_ptr<ByteStream>> open_idx_rows(const std::string& path,
                                                  std::unique_ptr<ByteStream> images);

// Of an image that is such a row, at the begin of `text`.
std::uint64_t pixels_of_row(std::string_view text);

// The image files of a directory that holds such a set; test is empty where it has none.
struct ImageFiles {
  std::string train, test;
};
// Nothing: `path` is no directory, or has no train-images-idx3-ubyte.
std::optional<ImageFiles> find_images(const std::string& path);

// In what is measured or scored: a directory of images becomes its test images, where paths are those of
// files of rows. kIo naming one that has none.
Status take_test_images(ReadOptions& read);

}  // namespace thalweg
