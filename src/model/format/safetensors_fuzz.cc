// Any bytes as a safetensors file: an error that names the file, or tensors that lie side by side in it and
// whose header, written again, says the same.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/format/memory_file_for_fuzz.h"
#include "model/format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  const MemoryFile file("x.safetensors", std::as_bytes(std::span(data, size)));
  const auto tensors = read_safetensors_header(file);
  if (!tensors) {
    THALWEG_CHECK(tensors.status().message().find("x.safetensors") != std::string::npos, "it names the file");
    return 0;
  }
  std::uint64_t end = tensors->empty() ? size : tensors->front().begin;
  for (const TensorInfo& tensor : *tensors) {
    THALWEG_CHECK(tensor.begin == end, "no gap and no overlap");
    std::uint64_t bytes = facts_of(tensor.dtype).bytes;
    for (const std::uint64_t extent : tensor.shape) bytes *= extent;
    end = tensor.begin + bytes;
    THALWEG_CHECK(tensor.end == end, "as large as its shape says");
  }
  THALWEG_CHECK(end == size, "all of the file is theirs");

  std::vector<TensorInfo> again = *tensors;
  std::string text = safetensors_header(again);
  if (!again.empty()) text.resize(again.back().end);
  const MemoryFile written("again.safetensors", std::as_bytes(std::span(text)));
  const auto read = read_safetensors_header(written);
  THALWEG_CHECK(read.ok() && *read == again, "what was written says the same when read");
  return 0;
}
