// Arrays as numpy.load reads them: an uncompressed zip archive of .npy members (NPY format 1.0; PKWARE
// APPNOTE 6.3, always with the zip64 records, so that sizes have no limit).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/format/file.h"
#include "model/format/safetensors.h"
#include "thalweg/status.h"

namespace thalweg {

class NpzWriter {
 public:
  explicit NpzWriter(File& file) : file_(&file), stream_(file) {}
  // Then write() exactly the array's bytes, then end_array().
  Status begin_array(const std::string& name, DType dtype, const std::vector<std::uint64_t>& shape);
  Status write(std::span<const std::byte> bytes);
  Status end_array();
  Status finish();  // Writes the archive's directory.

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0;  // Of its local header.
    std::uint64_t begin = 0;   // Of its bytes.
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
  };
  static std::string local_header(const Member& member);

  File* file_;
  FileStream stream_;
  std::vector<Member> members_;
};

}  // namespace thalweg
