#include "net/system_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "net/socket/file_descriptor.h"

namespace thalweg {
namespace {

constexpr std::size_t kFileBytes = std::size_t{150} << 20;

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i ^ i >> 8 ^ i >> 16);
  return out;
}

// In pieces of up to a megabyte.
void write_all(File& file, const std::vector<std::byte>& bytes) {
  Random random(1);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random.below(1 << 20), bytes.size() - at);
    ASSERT_TRUE(file.write_at(at, std::span(bytes).subspan(at, count)).ok());
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
    std::vector<std::byte> bytes = numbered(kFileBytes);
    write_all(**file, bytes);
    std::reverse(bytes.begin() + 1000, bytes.begin() + 9000);  // What has been given to the disk long since.
    ASSERT_TRUE((*file)->write_at(1000, std::span(bytes).subspan(1000, 8000)).ok());
    ASSERT_TRUE((*file)->sync().ok());
    EXPECT_EQ((*file)->size().value(), kFileBytes);
    if (!reads && !keeps_files_in_memory_alone(path)) {
      EXPECT_LT(share_in_memory(path), 0.1);
    }
    std::vector<std::byte> found(kFileBytes);
    ASSERT_TRUE((*disk.open(path))->read_at(0, found).ok());
    EXPECT_TRUE(found == bytes);
  }
}

}  // namespace
}  // namespace thalweg
