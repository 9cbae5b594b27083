#include "model/format/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

Result<std::vector<TensorInfo>> read_header(const TemporaryFolder& folder, const std::string& bytes) {
  write_text(folder / "t", bytes);
  return read_safetensors_header(**SystemDisk().open(folder / "t"));
}

TEST(Safetensors, HeaderReadsBackWithOffsets) {
  TemporaryFolder folder;
  std::vector<TensorInfo> tensors = {
      {"b", DType::kU64, {3}}, {"a", DType::kF32, {2, 5}}, {"none", DType::kF32, {0, 4}}};
  const std::string header = safetensors_header(tensors, {{"note", "\"quoted\""}});
  EXPECT_EQ(header.size() % 8, 0u);
  const Result<std::vector<TensorInfo>> read = read_header(folder, header + std::string(24 + 40, 'x'));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, tensors);
  EXPECT_EQ(tensors[1].begin, header.size() + 24);
}

TEST(Safetensors, RefusesEveryKindOfDamage) {
  TemporaryFolder folder;
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_TRUE(read_header(folder, with_length(good, "12345678")).ok());
  const std::string eight = "12345678", sixteen = eight + eight;
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "shorter"},
      {"1234567", "shorter"},
      {std::string(8, '\xff'), "header of"},
      {with_length(good, "1234567"), "leave the file"},
      {with_length(good, "123456789"), "follow the last tensor"},
      {with_length("[1,2]", ""), "JSON object"},
      {with_length("{\"a\":", ""), "JSON object"},
      {with_length(std::string(100000, '['), ""), "JSON object"},
      {with_length(R"({"a":3})", ""), "expected dtype"},
      {with_length(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", eight), "neither U64"},
      {with_length(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight), "whole number"},
      {with_length(R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", eight), "not a list"},
      {with_length(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight), "needs 12 bytes"},
      {with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight), "leave the file"},
      {with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", eight), "pair"},
      {with_length(R"({"a":{"dtype":"F32","shape":[4611686018427387904,16],"data_offsets":[0,8]}})", eight),
       "too large"},
      {with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", sixteen), "gap"},
      {with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                   "123456789012"),
       "overlaps"},
      {with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                   sixteen),
       "stands twice"},
      {with_length(R"({"a":{"dtype":"F32","dtype":"U64","shape":[2],"data_offsets":[0,8]}})", eight),
       "stands twice"},
  };
  for (const auto& [bytes, why] : cases) {
    const Status status = read_header(folder, bytes).status();
    EXPECT_EQ(status.code(), Code::kModel) << why;
    EXPECT_NE(status.message().find(why), std::string::npos) << why << " | " << status.message();
    EXPECT_NE(status.message().find(folder / "t"), std::string::npos);
  }
}

}  // namespace
}  // namespace thalweg
