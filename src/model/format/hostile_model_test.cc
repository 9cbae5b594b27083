// Model files that were written to be expensive to read: small or whole, but deep, wide or promising much.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/peak_memory_for_test.h"
#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

constexpr std::size_t kTextBytes = (std::size_t{16} << 20) - 4096;
// Room for the text, a copy of it, and what a sanitizer holds back.
constexpr std::uint64_t kPeakMax = std::uint64_t{160} << 20;

std::string with_length(const std::string& header) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header;
}

std::string with_checksum(const std::string& body) {
  return body + ",\n  \"checksum\": \"" + hash_text(body) + "\"\n}\n";
}

// Whether a status says what it should; prints it where not, as a child's expectations are not heard.
bool says(const Status& status, std::string_view what) {
  if (status.code() == Code::kModel && status.message().find(what) != std::string::npos) return true;
  std::fprintf(stderr, "expected '%s', got '%.200s'\n", std::string(what).c_str(), status.message().c_str());
  return false;
}

class HostileHeader : public testing::Test {
 protected:
  Status read(const std::string& header) {
    write_text(folder_ / "t", with_length(header));
    return read_safetensors_header(**SystemDisk().open(folder_ / "t")).status();
  }
  void expect_refused_in_little_memory(const std::string& header, std::string_view why) {
    write_text(folder_ / "t", with_length(header));
    const auto file = SystemDisk().open(folder_ / "t");
    EXPECT_LT(peak_growth([&] { return says(read_safetensors_header(**file).status(), why); }), kPeakMax);
  }

  TemporaryFolder folder_;
};

std::string header_of(std::size_t tensors) {
  std::string text = "{";
  for (std::size_t i = 0; i < tensors; ++i) {
    text += fmt::format(R"({}"t{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", i > 0 ? "," : "", i);
  }
  return text + "}";
}

TEST_F(HostileHeader, NestingIsRefusedWhereItIsTooDeep) {
  expect_refused_in_little_memory("{\"a\":" + std::string(kTextBytes, '['), "nests deeper than 8");
  std::string objects = "{\"a\":";
  while (objects.size() < kTextBytes) objects += "{\"a\":";
  expect_refused_in_little_memory(objects, "nests deeper than 8");
}

TEST_F(HostileHeader, ValuesAreCountedAsTheyCome) {
  std::string many = "{\"a\":[0";
  while (many.size() < kTextBytes) many += ",0";
  expect_refused_in_little_memory(many, "more than 1048576 values");
}

TEST_F(HostileHeader, TensorsHaveANumberTheyMayReach) {
  EXPECT_TRUE(read(header_of(65536)).ok());
  EXPECT_TRUE(says(read(header_of(65537)), "more than 65536 names"));
  EXPECT_TRUE(says(read(header_of(80000)), "more than 65536 names"));
}

TEST_F(HostileHeader, NamesHaveALength) {
  const auto named = [](std::size_t bytes) {
    return "{\"" + std::string(bytes, 'n') + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  };
  EXPECT_TRUE(read(named(512)).ok());
  EXPECT_TRUE(says(read(named(513)), "a name of 513 bytes"));
}

class HostileManifest : public testing::Test {
 protected:
  void SetUp() override {
    const ModelSpec spec = fm_spec();
    ASSERT_TRUE(save_model(folder_ / "model", spec, test_tables(spec, 6, 2)).ok());
    body_ = read_text(folder_ / "model/model.json");
    body_.resize(body_.find(",\n  \"checksum\""));
  }
  void expect_refused_in_little_memory(const std::string& text, std::string_view why) {
    write_text(folder_ / "model/model.json", text);
    SystemDisk disk;
    const auto open = [&] { return says(ModelReader::open(disk, folder_ / "model").status(), why); };
    EXPECT_LT(peak_growth(open), kPeakMax);
  }

  TemporaryFolder folder_;
  std::string body_;  // Of model.json, without its checksum.
};

TEST_F(HostileManifest, NestingIsRefusedWhereItIsTooDeep) {
  expect_refused_in_little_memory(with_checksum(body_ + ",\"more\":" + std::string(kTextBytes, '[')),
                                  "model.json: nests deeper than 8");
}

TEST_F(HostileManifest, ValuesAreCountedAsTheyCome) {
  std::string many = body_ + ",\"more\":[0";
  while (many.size() < kTextBytes) many += ",0";
  expect_refused_in_little_memory(with_checksum(many + "]"), "more than 65536 values");
}

TEST_F(HostileManifest, TextWithAnotherChecksumIsNotRead) {
  const std::string text = with_checksum(body_ + ",\"more\":" + std::string(kTextBytes, '['));
  expect_refused_in_little_memory(text.substr(0, text.size() - 8) + "0\"\n}\n", "checksum does not match");
}

TEST_F(HostileManifest, TensorsThatOnlyItNamesTakeNoMemory) {
  std::string promising = body_;
  const std::string key = "\"state_floats\": ";
  const std::size_t at = promising.find(key) + key.size();
  promising.replace(at, promising.find(',', at) - at, "16777216");
  expect_refused_in_little_memory(with_checksum(promising), "other tensors than model.json says");
}

}  // namespace
}  // namespace thalweg
