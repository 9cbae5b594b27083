// The safetensors layout: u64 length of a JSON header, the header, then the tensors' bytes without gaps, all
// little-endian (https://huggingface.co/docs/safetensors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/format/file.h"
#include "model/tensor_type.h"
#include "thalweg/status.h"

namespace thalweg {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // Offsets in the file.
  std::uint64_t end = 0;
  bool operator==(const TensorInfo&) const = default;
};

// Length and header for these tensors, of different names, in this order; fills in their offsets. Padded so
// that data starts at a multiple of 8. Metadata goes under "__metadata__".
std::string safetensors_header(std::span<TensorInfo> tensors,
                               const std::map<std::string, std::string>& metadata = {});

// The tensors of a file in the order of their bytes. Refuses (kModel, naming the file): a header over 16 MiB
// or past the end, more than 65,536 tensors, names over 512 bytes, nesting deeper than 8, anything but the
// layout above, dtypes but U64 and F32, repeated names, sizes that disagree with shapes, overlap, gaps, and
// bytes after the last tensor. Time is n log n in the header's size n.
Result<std::vector<TensorInfo>> read_safetensors_header(const File& file);

}  // namespace thalweg
