#include "net/system_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "net/socket/file_descriptor.h"

namespace thalweg {
namespace {

constexpr std::size_t kFileBytes = std::size_t{150} << 20;

using Words = std::vector<std::uint64_t>;

// In pieces of up to a megabyte.
void write_all(File& file, std::span<const std::byte> bytes) {
  Random random(1);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random.below(1 << 20), bytes.size() - at);
    ASSERT_TRUE(file.write_at(at, bytes.subspan(at, count)).ok());
    at += count;
  }
}

// Of the pages of a file the share that is in memory.
double share_in_memory(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY));
  void* const map = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there(kFileBytes / page);
  EXPECT_EQ(::mincore(map, kFileBytes, there.data()), 0);
  ::munmap(map, kFileBytes);
  return static_cast<double>(std::ranges::count_if(there, [](unsigned char is) { return (is & 1) != 0; })) /
         static_cast<double>(there.size());
}

bool keeps_files_in_memory_alone(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

TEST(SystemDisk, ALargeFileIsWhatWasWritten) {
  const TemporaryFolder folder;
  SystemDisk disk;
  for (const bool reads : {true, false}) {
    const std::string path = folder / (reads ? "read" : "unread");
    auto file = disk.create(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    if (!reads) (*file)->expect_no_reads();
    Words words(kFileBytes / sizeof(std::uint64_t));
    std::iota(words.begin(), words.end(), 1);
    write_all(**file, std::as_bytes(std::span(words)));
    std::reverse(words.begin() + 125, words.begin() + 1125);  // What has been given to the disk long since.
    ASSERT_TRUE((*file)->write_at(1000, std::as_bytes(std::span(words).subspan(125, 1000))).ok());
    ASSERT_TRUE((*file)->sync().ok());
    EXPECT_EQ((*file)->size().value(), kFileBytes);
    if (!reads && !keeps_files_in_memory_alone(path)) {
      EXPECT_LT(share_in_memory(path), 0.1);
    }
    Words found(words.size());
    ASSERT_TRUE((*disk.open(path))->read_at(0, std::as_writable_bytes(std::span(found))).ok());
    EXPECT_TRUE(found == words);
  }
}

}  // namespace
}  // namespace thalweg
