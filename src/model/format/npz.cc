#include "model/format/npz.h"

#include <zlib.h>

#include <bit>
#include <cstring>

#include "base/check.h"

namespace thalweg {
namespace {

static_assert(std::endian::native == std::endian::little,
              "zip and NPY members are written as memory has them");

constexpr std::uint16_t kZip64Version = 45;
constexpr std::uint16_t kFirstDosDate = (1 << 5) | 1;  // 1980-01-01: equal models give equal archives.
constexpr std::uint32_t kSeeZip64 = 0xffffffff;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string npy_header(DType dtype, const std::vector<std::uint64_t>& shape) {
  std::string text =
      std::string("{'descr': '") + facts_of(dtype).numpy + "', 'fortran_order': False, 'shape': (";
  for (const std::uint64_t extent : shape) text += std::to_string(extent) + ",";
  text += "), }";
  constexpr std::size_t kMagicBytes = 10;
  text.resize((kMagicBytes + text.size() + 1 + 63) / 64 * 64 - kMagicBytes - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(text.size()));
  return out + text;
}

}  // namespace

std::string NpzWriter::local_header(const Member& member) {
  std::string out;
  put(out, std::uint32_t{0x04034b50});
  put(out, kZip64Version);
  put(out, std::uint32_t{0});  // Flags; method: stored.
  put(out, std::uint16_t{0});  // Time.
  put(out, kFirstDosDate);
  put(out, member.crc);
  put(out, kSeeZip64);
  put(out, kSeeZip64);
  put(out, static_cast<std::uint16_t>(member.name.size()));
  put(out, std::uint16_t{20});
  out += member.name;
  put(out, std::uint16_t{1});
  put(out, std::uint16_t{16});
  put(out, member.bytes);
  put(out, member.bytes);
  return out;
}

Status NpzWriter::begin_array(const std::string& name, DType dtype, const std::vector<std::uint64_t>& shape) {
  if (facts_of(dtype).numpy == nullptr) {
    return {Code::kUsage, "tensor " + name + " is " + facts_of(dtype).name +
                              ", which NumPy does not have; expected --format safetensors"};
  }
  Member& member = members_.emplace_back();
  member.name = name + ".npy";
  member.offset = stream_.position();
  if (Status status = stream_.write(bytes_of(local_header(member))); !status.ok()) return status;
  member.begin = stream_.position();
  return write(bytes_of(npy_header(dtype, shape)));
}

Status NpzWriter::write(std::span<const std::byte> bytes) {
  THALWEG_CHECK(!members_.empty(), "an array is open");
  std::uint32_t& crc = members_.back().crc;
  crc =
      static_cast<std::uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  return stream_.write(bytes);
}

// The header was written before size and checksum were known, so it is written again.
Status NpzWriter::end_array() {
  Member& member = members_.back();
  member.bytes = stream_.position() - member.begin;
  if (Status status = stream_.flush(); !status.ok()) return status;
  return file_->write_at(member.offset, bytes_of(local_header(member)));
}

Status NpzWriter::finish() {
  std::string out;
  const std::uint64_t begin = stream_.position();
  for (const Member& member : members_) {
    put(out, std::uint32_t{0x02014b50});
    put(out, kZip64Version);
    put(out, kZip64Version);
    put(out, std::uint32_t{0});
    put(out, std::uint16_t{0});
    put(out, kFirstDosDate);
    put(out, member.crc);
    put(out, kSeeZip64);
    put(out, kSeeZip64);
    put(out, static_cast<std::uint16_t>(member.name.size()));
    put(out, std::uint16_t{28});  // Extra field.
    put(out, std::uint16_t{0});   // Comment.
    put(out, std::uint16_t{0});   // Disk.
    put(out, std::uint16_t{0});   // Attributes within and without.
    put(out, std::uint32_t{0});
    put(out, kSeeZip64);
    out += member.name;
    put(out, std::uint16_t{1});
    put(out, std::uint16_t{24});
    put(out, member.bytes);
    put(out, member.bytes);
    put(out, member.offset);
  }
  const std::uint64_t directory_bytes = out.size();
  put(out, std::uint32_t{0x06064b50});  // zip64 end of the directory.
  put(out, std::uint64_t{44});
  put(out, kZip64Version);
  put(out, kZip64Version);
  put(out, std::uint64_t{0});  // Disks.
  put(out, static_cast<std::uint64_t>(members_.size()));
  put(out, static_cast<std::uint64_t>(members_.size()));
  put(out, directory_bytes);
  put(out, begin);
  put(out, std::uint32_t{0x07064b50});  // Where that record is.
  put(out, std::uint32_t{0});
  put(out, begin + directory_bytes);
  put(out, std::uint32_t{1});
  put(out, std::uint32_t{0x06054b50});  // The old end record, which points to the new one by its full fields.
  put(out, std::uint32_t{0});
  put(out, std::uint16_t{0xffff});
  put(out, std::uint16_t{0xffff});
  put(out, kSeeZip64);
  put(out, kSeeZip64);
  put(out, std::uint16_t{0});
  if (Status status = stream_.write(bytes_of(out)); !status.ok()) return status;
  return stream_.flush();
}

}  // namespace thalweg
