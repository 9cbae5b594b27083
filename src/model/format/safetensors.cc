#include "model/format/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "model/format/json_bounds.h"

namespace thalweg {
namespace {

using SortedJson = nlohmann::json;  // Finds a name in logarithmic time.

static_assert(std::endian::native == std::endian::little, "files are written as memory has them");

constexpr std::uint64_t kHeaderBytesMax = std::uint64_t{16} << 20;
constexpr std::size_t kLengthBytes = 8;
constexpr JsonBounds kHeaderBounds{.depth = 8, .values = 1u << 20, .names = 1u << 16, .name_bytes = 512};

Status damaged(const File& file, const std::string& why) {
  return {Code::kModel, file.path() + " is damaged or no safetensors file: " + why};
}

bool read_u64(const SortedJson& value, std::uint64_t& out) {
  if (!value.is_number_unsigned()) return false;
  out = value.get<std::uint64_t>();
  return true;
}

// Empty when the shape's bytes are end - begin.
std::string size_error(const TensorInfo& tensor) {
  std::uint64_t bytes = facts_of(tensor.dtype).bytes;
  for (const std::uint64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return "its shape is too large";
  }
  if (bytes == tensor.end - tensor.begin) return {};
  return fmt::format("its shape needs {} bytes and its offsets hold {}", bytes, tensor.end - tensor.begin);
}

std::string parse_tensor(const SortedJson& value, std::uint64_t data_begin, std::uint64_t data_bytes,
                         TensorInfo& tensor) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    return "expected dtype, shape and data_offsets";
  }
  if (value["dtype"] == "U64") {
    tensor.dtype = DType::kU64;
  } else if (value["dtype"] == "F32") {
    tensor.dtype = DType::kF32;
  } else {
    return "dtype is neither U64 nor F32";
  }
  const SortedJson& shape = value["shape"];
  if (!shape.is_array() || shape.size() > 8) return "shape is not a list of at most 8 numbers";
  for (const SortedJson& extent : shape) {
    if (!read_u64(extent, tensor.shape.emplace_back()))
      return "shape holds something that is no whole number";
  }
  const SortedJson& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !read_u64(offsets[0], tensor.begin) ||
      !read_u64(offsets[1], tensor.end)) {
    return "data_offsets is not a pair of whole numbers";
  }
  if (tensor.begin > tensor.end || tensor.end > data_bytes) return "its data_offsets leave the file";
  tensor.begin += data_begin;
  tensor.end += data_begin;
  return size_error(tensor);
}

}  // namespace

std::string safetensors_header(std::span<TensorInfo> tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::string text;
  const auto add = [&text](const std::string& name, const nlohmann::ordered_json& value) {
    text += text.empty() ? '{' : ',';
    text += SortedJson(name).dump();
    text += ':';
    text += value.dump();
  };
  if (!metadata.empty()) add("__metadata__", metadata);
  std::uint64_t offset = 0;
  for (TensorInfo& tensor : tensors) {
    std::uint64_t bytes = facts_of(tensor.dtype).bytes;
    for (const std::uint64_t extent : tensor.shape) bytes *= extent;
    tensor.begin = offset;
    tensor.end = offset += bytes;
    add(tensor.name, {{"dtype", facts_of(tensor.dtype).name},
                      {"shape", tensor.shape},
                      {"data_offsets", {tensor.begin, tensor.end}}});
  }
  text += text.empty() ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string out(kLengthBytes, '\0');
  std::memcpy(out.data(), &length, kLengthBytes);
  out += text;
  for (TensorInfo& tensor : tensors) tensor.begin += out.size(), tensor.end += out.size();
  return out;
}

Result<std::vector<TensorInfo>> read_safetensors_header(const File& file) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.status();
  if (*size < kLengthBytes) return damaged(file, "shorter than the length of a header");
  std::uint64_t length = 0;
  if (Status status = file.read_at(0, std::as_writable_bytes(std::span(&length, 1))); !status.ok())
    return status;
  if (length > kHeaderBytesMax || length > *size - kLengthBytes) {
    return damaged(file, fmt::format("a header of {} bytes in a file of {}; at most {} are allowed", length,
                                     *size, kHeaderBytesMax));
  }
  std::string text(length, '\0');
  if (Status status = file.read_at(kLengthBytes, std::as_writable_bytes(std::span(text))); !status.ok())
    return status;
  if (!text.starts_with('{')) return damaged(file, "its header is not a JSON object");
  const JsonFindings found = look_over(text, kHeaderBounds);
  if (!found.exceeded.empty()) return damaged(file, "its header " + found.exceeded);
  const SortedJson header = SortedJson::parse(text, nullptr, false);
  if (!header.is_object()) return damaged(file, "its header is not a JSON object");
  if (!found.repeated.empty())
    return damaged(file, "the name '" + found.repeated + "' stands twice in its header");
  const std::uint64_t data_begin = kLengthBytes + length;
  std::vector<TensorInfo> tensors;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    TensorInfo& tensor = tensors.emplace_back();
    tensor.name = name;
    const std::string error = parse_tensor(value, data_begin, *size - data_begin, tensor);
    if (!error.empty()) return damaged(file, "tensor '" + name + "': " + error);
  }
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = data_begin;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != expected)
      return damaged(file, "tensor '" + tensor.name + "' overlaps or leaves a gap");
    expected = tensor.end;
  }
  if (expected != *size)
    return damaged(file, fmt::format("{} bytes follow the last tensor", *size - expected));
  return tensors;
}

}  // namespace thalweg
