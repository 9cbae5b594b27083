#include "data/idx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/data_set.h"
#include "data/files_for_test.h"
#include "data/idx_for_test.h"

namespace thalweg {
namespace {

ReadOptions reading(const std::string& path) {
  ReadOptions options;
  options.paths = {path};
  return options;
}

std::string failure(const std::string& path) {
  const auto data = DataSet::open(reading(path));
  if (!data) return data.status().message();
  auto reader = (*data)->reader(ShardId{0}, 1);
  if (!reader) return reader.status().message();
  Batch batch;
  for (;;) {
    const auto rows = (*reader)->next(10, batch);
    if (!rows) return rows.status().message();
    if (*rows == 0) return "";
  }
}

const std::string kImages = idx_images(3, 2, 2,
                                       std::string("\0\x80\0\0"
                                                   "\xff\0\0\x33"
                                                   "\0\0\0\0",
                                                   12));
const std::string kLabels = idx_labels(std::string("\x07\0\x02", 3));

TEST(Idx, ImagesOfAnotherSizeThanTheModelOrTheFirstFileAreRefused) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) folder.write(std::string(name) + "-labels-idx1-ubyte", kLabels);
  const std::string four = folder.write("a-images-idx3-ubyte", kImages),
                    two = folder.write("b-images-idx3-ubyte", idx_images(3, 1, 2, std::string(6, '\1')));
  ReadOptions both = reading(four);
  both.paths.push_back(two);
  EXPECT_EQ(DataSet::open(both).status().message(),
            two + ": has images of 2 pixels, expected 4, as in " + four);
  ReadOptions model = reading(two);
  for (const unsigned pixels : {1u, 4u}) {
    model.bounds.pixels = pixels;
    EXPECT_EQ(DataSet::open(model).status().message(),
              fmt::format("{}: has images of 2 pixels, expected {}, as the model has inputs", two, pixels));
  }
  model.bounds.pixels = 2;
  EXPECT_TRUE(DataSet::open(model).ok());
  model.bounds.pixels = 4, model.hash_bits = 2;
  EXPECT_TRUE(DataSet::open(model).ok()) << "hashed pixels are no pixels";
}

TEST(Idx, ImagesAreRowsOfTheirPixelsThatAreNotZeroAndTheLastOne) {
  const TemporaryFolder folder;
  folder.write("a-labels-idx1-ubyte", kLabels);
  folder.write("b-labels-idx1-ubyte.gz", gzipped(kLabels));
  folder.write("c-labels-idx1-ubyte", kLabels);
  for (const std::string& path : {folder.write("a-images-idx3-ubyte", kImages),
                                  folder.write("b-images-idx3-ubyte.gz", gzipped(kImages)),
                                  folder.write("c-images-idx3-ubyte.zst", zstd_packed(kImages))}) {
    const auto data = DataSet::open(reading(path));
    ASSERT_TRUE(data.ok()) << data.status().message();
    auto reader = (*data)->reader(ShardId{0}, 1);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    Batch batch;
    EXPECT_EQ((*reader)->next(10, batch).value(), 3u) << path;
    EXPECT_EQ(batch.labels, (std::vector<float>{7, 0, 2}));
    EXPECT_EQ(batch.row_begin, (std::vector<std::uint32_t>{0, 2, 4, 5}));
    EXPECT_EQ(batch.keys, (std::vector<Key>{1, 3, 0, 3, 3}));
    EXPECT_EQ(batch.values, (std::vector<float>{128 / 255.0f, 0, 1, 51 / 255.0f, 0}));
  }
}

TEST(Idx, ShardsHaveAllImagesOnceAndEachPassTheSame) {
  constexpr std::uint32_t kCount = 500, kSide = 16;
  std::string pixels, labels;
  for (std::uint32_t i = 0; i < kCount * kSide * kSide; ++i) pixels += static_cast<char>(i * 31 % 256);
  for (std::uint32_t i = 0; i < kCount; ++i) labels += static_cast<char>(i % 10);
  const TemporaryFolder folder;
  folder.write("x-labels-idx1-ubyte", idx_labels(labels));
  const auto data =
      DataSet::open(reading(folder.write("x-images-idx3-ubyte", idx_images(kCount, kSide, kSide, pixels))));
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::size_t rows = 0;
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    auto reader = (*data)->reader(ShardId{shard}, 3);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    Batch first, second;
    rows += (*reader)->next(kCount, first).value();
    EXPECT_NEAR(static_cast<double>(first.rows()), kCount / 3.0, kComputedRowsPerChunk) << "fall evenly";
    ASSERT_EQ((*reader)->next(1, second).value(), 0u);
    ASSERT_TRUE((*reader)->rewind().ok());
    ASSERT_EQ((*reader)->next(kCount, second).value(), first.rows());
    EXPECT_EQ(first.labels, second.labels);
    EXPECT_EQ(first.values, second.values);
  }
  EXPECT_EQ(rows, kCount);
}

TEST(Idx, APackedFileIsCheckedWhereItEnds) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(kLabels);
  folder.write("x-labels-idx1-ubyte.gz", packed.substr(0, packed.size() - 8));  // Without its checksum.
  const std::string path = folder.write("x-images-idx3-ubyte", kImages);
  EXPECT_NE(failure(path).find("x-labels-idx1-ubyte.gz"), std::string::npos) << failure(path);
}

TEST(Idx, EachBadFileHasOneClearError) {
  const TemporaryFolder folder;
  const auto with_labels = [&](const std::string& name, const std::string& images,
                               const std::string& labels) {
    folder.write(name + "-labels-idx1", labels);
    return failure(folder.write(name + "-images-idx3", images));
  };
  const std::string at = folder / "";
  EXPECT_EQ(failure(folder.write("alone-images-idx3", kImages)),
            at + "alone-labels-idx1: cannot be opened: No such file or directory");
  EXPECT_EQ(failure(folder.write("digits", kImages)),
            at +
                "digits: holds images, whose labels are looked for in a file beside it; expected a name with "
                "\"images\" and \"idx3\" in it, such as train-images-idx3-ubyte.gz");
  EXPECT_EQ(failure(folder.write("labels", kLabels)),
            at + "labels: holds labels alone; expected the file of images beside it");
  EXPECT_EQ(with_labels("few", kImages, idx_labels("ab")),
            at + "few-labels-idx1: 2 labels, expected 3 as there are images in " + at + "few-images-idx3");
  EXPECT_EQ(with_labels("text", kImages, "7\n0\n2\n"),
            at + "text-labels-idx1: expected a file of labels, which begins with the bytes 0 0 8 1");
  EXPECT_EQ(with_labels("cut", kImages.substr(0, kImages.size() - 1), kLabels),
            at + "cut-images-idx3: ends after 2 of 3 images");
  EXPECT_EQ(with_labels("short", kImages, kLabels.substr(0, 10)),
            at + "short-labels-idx1: ends after 2 of 3 labels");
  EXPECT_EQ(with_labels("head", kImages.substr(0, 11), kLabels),
            at + "head-images-idx3: ends in the middle of its 16 bytes of sizes");
  EXPECT_EQ(with_labels("huge", idx_images(3, 0xffffffff, 0xffffffff, ""), kLabels),
            at + "huge-images-idx3: images of 4294967295 x 4294967295 pixels, expected 1 to 1048576 pixels");
  EXPECT_EQ(with_labels("longer", kImages + '\0', kLabels),
            at + "longer-images-idx3: goes on behind its 3 images");
  EXPECT_EQ(with_labels("more", kImages, kLabels + "\x01"),
            at + "more-labels-idx1: goes on behind its 3 labels");
  EXPECT_EQ(with_labels("none", idx_images(0, 2, 2, ""), idx_labels("")),
            at + "none-images-idx3: is empty, expected rows");
}

TEST(Idx, ADirectoryOfImagesNamesItsFiles) {
  const TemporaryFolder folder;
  EXPECT_FALSE(find_images(folder / "").has_value());
  const std::string train = folder.write("train-images-idx3-ubyte.gz", gzipped(kImages));
  ASSERT_TRUE(find_images(folder / "").has_value());
  EXPECT_EQ(find_images(folder / "")->train, train);
  EXPECT_EQ(find_images(folder / "")->test, "");
  const std::string test = folder.write("t10k-images-idx3-ubyte", kImages);
  EXPECT_EQ(find_images(folder / "")->test, test);
  EXPECT_FALSE(find_images(train).has_value());
}

TEST(Idx, WhatIsMeasuredInADirectoryIsItsTestImages) {
  using Paths = std::vector<std::string>;
  ReadOptions read;
  Paths& paths = read.paths;
  const TemporaryFolder folder;
  const std::string directory = folder / "";
  paths = {directory, "rows.svm"};
  EXPECT_TRUE(take_test_images(read).ok());
  EXPECT_EQ(paths, (Paths{directory, "rows.svm"}));
  const std::string train = folder.write("train-images-idx3-ubyte", kImages);
  EXPECT_EQ(take_test_images(read).message(),
            directory +
                ": has train-images-idx3-ubyte and no t10k-images-idx3-ubyte, expected test images, "
                "or the name of a file of images");
  const std::string test = folder.write("t10k-images-idx3-ubyte.gz", gzipped(kImages));
  paths = {train, directory};
  EXPECT_TRUE(take_test_images(read).ok());
  EXPECT_EQ(paths, (Paths{train, test}));
  paths = {directory};
  read.from_command = "cat %s";
  EXPECT_TRUE(take_test_images(read).ok());
  EXPECT_EQ(paths, (Paths{directory})) << "a name for the command";
  read.from_command.clear(), read.text.context = 8;
  EXPECT_TRUE(take_test_images(read).ok());
  EXPECT_EQ(paths, (Paths{directory})) << "no text";
}

}  // namespace
}  // namespace thalweg
