#include "exchange/codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "exchange/codec/codecs.h"

namespace thalweg {
namespace {

using EncodedBytes = std::vector<std::byte>;
constexpr CodecRound kRound{7, 3};

std::vector<float> draw(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(8))));
  return values;
}

EncodedBytes encoded(const Codec& codec, const std::vector<float>& gradient, std::vector<float>& residual) {
  EncodedBytes bytes(codec.encoded_bytes(gradient.size()));
  codec.encode(gradient, residual, kRound, bytes);
  return bytes;
}

std::vector<float> decoded(const Codec& codec, const EncodedBytes& bytes, std::size_t count) {
  std::vector<float> values(count);
  const Status status = codec.decode_add(bytes, kRound, 1.0f, values);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

class CodecTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Codec> codec_ = make_codec(*parse_codec(GetParam()));
};

TEST_P(CodecTest, WhatIsSentAndWhatIsLeftMakeTheGradient) {
  for (const std::size_t count : {0, 1, 2, 7, 8, 9, 255, 256, 257, 1024, 1025, 5000, 16384, 33000}) {
    const std::vector<float> gradient = draw(count, count + 1), before = draw(count, count + 2);
    std::vector<float> residual = before;
    const EncodedBytes bytes = encoded(*codec_, gradient, residual);
    const std::vector<float> sent = decoded(*codec_, bytes, count);
    for (std::size_t i = 0; i < count; ++i) {
      const float whole = gradient[i] + before[i];
      // The residual is one subtraction from the whole.
      ASSERT_EQ(residual[i], whole - sent[i]) << i << " of " << count;
    }
  }
}

TEST_P(CodecTest, AddsWithAFactorToWhatIsThere) {
  const std::vector<float> gradient = draw(1500, 1);
  std::vector<float> none, sum(1500, 2.0f);
  const EncodedBytes bytes = encoded(*codec_, gradient, none);
  const std::vector<float> sent = decoded(*codec_, bytes, 1500);
  ASSERT_TRUE(codec_->decode_add(bytes, kRound, 0.5f, sum).ok());
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], 2.0f + 0.5f * sent[i]);
}

TEST_P(CodecTest, ZerosStayZeros) {
  const std::vector<float> gradient(1100);
  std::vector<float> residual(1100);
  EXPECT_EQ(decoded(*codec_, encoded(*codec_, gradient, residual), 1100), gradient);
  EXPECT_EQ(residual, gradient);
}

TEST_P(CodecTest, WhatIsNotFiniteArrivesAndLeavesNoResidual) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> gradient(10, bad), residual(10);
    const std::vector<float> sent = decoded(*codec_, encoded(*codec_, gradient, residual), 10);
    EXPECT_TRUE(std::any_of(sent.begin(), sent.end(), [](float value) { return !std::isfinite(value); }));
    for (const float lost : residual) EXPECT_EQ(lost, 0.0f);
  }
}

// Whichever element it is; a codec that sends some of them would lose it otherwise.
TEST_P(CodecTest, OneElementThatIsNotFiniteIsSeenAtOnce) {
  const auto is_seen = [](float value) { return !std::isfinite(value); };
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (std::size_t at = 0; at < 300; ++at) {
      std::vector<float> gradient = draw(300, 1), residual(300), none;
      gradient[at] = bad;
      EXPECT_TRUE(std::ranges::any_of(decoded(*codec_, encoded(*codec_, gradient, none), 300), is_seen))
          << at;
      EXPECT_TRUE(std::ranges::any_of(decoded(*codec_, encoded(*codec_, gradient, residual), 300), is_seen))
          << at;
      EXPECT_TRUE(std::ranges::none_of(residual, is_seen)) << at;
    }
  }
}

TEST_P(CodecTest, SumsOfEncodingsDecodeToTheSum) {
  const auto arithmetic = codec_->arithmetic();
  if (!arithmetic) return;
  std::vector<float> none;
  const std::vector<float> a = draw(999, 1), b = draw(999, 2);
  EncodedBytes bytes = encoded(*codec_, a, none);
  const EncodedBytes other = encoded(*codec_, b, none);
  const std::vector<float> sent_a = decoded(*codec_, bytes, 999), sent_b = decoded(*codec_, other, 999);
  arithmetic->apply(bytes.data(), bytes.data(), other.data(), bytes.size() / arithmetic->element_bytes);
  const std::vector<float> sum = decoded(*codec_, bytes, 999);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const float wanted = sent_a[i] + sent_b[i];
    ASSERT_NEAR(sum[i], wanted, std::abs(wanted) * 0x1p-8f);
  }
}

TEST_P(CodecTest, RefusesAnotherLengthAndChangesNothing) {
  std::vector<float> residual(100), sum(100, 1.0f);
  const EncodedBytes bytes = encoded(*codec_, draw(100, 1), residual);
  EncodedBytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(codec_->decode_add(longer, kRound, 1.0f, sum).code(), Code::kData);
  const std::span<const std::byte> shorter(bytes.data(), bytes.size() - 1);
  EXPECT_EQ(codec_->decode_add(shorter, kRound, 1.0f, sum).code(), Code::kData);
  EXPECT_EQ(sum, std::vector<float>(100, 1.0f));
}

TEST(Codecs, WhatOverflowsHalvesIsSentOnceMore) {
  const auto codec = make_codec(*parse_codec("f16"));
  std::vector<float> gradient = {1e30f, -1e30f, 1e5f, 3}, residual(4);
  const std::vector<std::vector<float>> rounds = {
      {65504, -65504, 65504, 3}, {65504, -65504, 34496, 0}, {0, 0, 0, 0}};
  for (const std::vector<float>& wanted : rounds) {
    EXPECT_EQ(decoded(*codec, encoded(*codec, gradient, residual), 4), wanted);
    gradient.assign(4, 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, CodecTest,
                         testing::Values("f16", "bf16", "int8", "top-k:0.05", "top-k:1", "random-k:0.1",
                                         "sign"),
                         [](const auto& name) {
                           std::string plain = name.param;
                           for (char& c : plain) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return plain;
                         });

TEST(Codecs, TakeFewerBytes) {
  constexpr std::size_t kCount = 1 << 20;
  const auto ratio = [](const char* name) {
    return static_cast<double>(kCount * sizeof(float)) /
           static_cast<double>(make_codec(*parse_codec(name))->encoded_bytes(kCount));
  };
  EXPECT_DOUBLE_EQ(ratio("f16"), 2.0);
  EXPECT_DOUBLE_EQ(ratio("bf16"), 2.0);
  EXPECT_NEAR(ratio("int8"), 1024.0 / 260.0, 1e-9);
  EXPECT_NEAR(ratio("top-k:0.01"), 50.0, 0.01);
  EXPECT_NEAR(ratio("random-k:0.01"), 100.0, 0.01);
  EXPECT_NEAR(ratio("sign"), 4096.0 / 132.0, 1e-9);
}

TEST(Codecs, AreFoundByName) {
  constexpr const char* kNames[] = {"f16", "bf16", "int8", "top-k:0.25", "random-k:0.5", "sign"};
  for (std::size_t i = 0; i < kCodecs; ++i) {
    EXPECT_EQ(parse_codec(kNames[i])->kind, static_cast<CodecKind>(i)) << kNames[i];
  }
  EXPECT_EQ(parse_codec("top-k:0.25")->kept, 0.25);
  EXPECT_EQ(parse_codec("random-k:0.5")->kept, 0.5);
  EXPECT_EQ(parse_codec("top-k")->kept, 0.01);
  const auto refusal = [](const char* name) { return parse_codec(name).status().message(); };
  EXPECT_NE(refusal("gzip").find("expected f16, bf16, int8"), std::string::npos);
  for (const char* name : {"top-k:0", "top-k:1.5", "top-k:", "random-k:0.1x", "top-k:nan"}) {
    EXPECT_NE(refusal(name).find("a share in (0, 1]"), std::string::npos) << name;
  }
  EXPECT_NE(refusal("f16:2").find("no share"), std::string::npos);
}

TEST(Int8, ErrsByHalfAStepOfItsBlock) {
  const auto codec = make_codec({CodecKind::kInt8});
  const std::vector<float> gradient = draw(1000, 5);
  std::vector<float> none;
  const std::vector<float> sent = decoded(*codec, encoded(*codec, gradient, none), 1000);
  for (std::size_t begin = 0; begin < 1000; begin += 256) {
    float greatest = 0;
    for (std::size_t i = begin; i < std::min<std::size_t>(1000, begin + 256); ++i) {
      greatest = std::max(greatest, std::abs(gradient[i]));
    }
    for (std::size_t i = begin; i < std::min<std::size_t>(1000, begin + 256); ++i) {
      ASSERT_LE(std::abs(sent[i] - gradient[i]), greatest / 254 * 1.0001f);
    }
  }
}

TEST(TopK, KeepsTheGreatestAndOfEqualOnesTheFirst) {
  const auto codec = make_codec({CodecKind::kTopK, 0.5});
  std::vector<float> residual(6);
  const EncodedBytes bytes = encoded(*codec, {1, -5, 1, 0, 3, 1}, residual);
  EXPECT_EQ(decoded(*codec, bytes, 6), (std::vector<float>{1, -5, 0, 0, 3, 0}));
  EXPECT_EQ(residual, (std::vector<float>{0, 0, 1, 0, 0, 1}));
}

TEST(TopK, SelectsAsSortingDoes) {
  for (const double kept : {0.001, 0.03, 0.5, 1.0}) {
    const auto codec = make_codec({CodecKind::kTopK, kept});
    const std::vector<float> gradient = draw(3001, 8);
    std::vector<float> none, sorted = gradient;
    const std::vector<float> sent = decoded(*codec, encoded(*codec, gradient, none), 3001);
    const auto greater = [](float a, float b) { return std::abs(a) > std::abs(b); };
    std::sort(sorted.begin(), sorted.end(), greater);
    const std::size_t k = codecs::kept_of(kept, 3001);
    for (std::size_t i = 0; i < 3001; ++i) {
      ASSERT_EQ(sent[i], std::abs(gradient[i]) >= std::abs(sorted[k - 1]) ? gradient[i] : 0.0f);
    }
  }
}

TEST(TopK, RefusesIndicesOutOfOrderOrRange) {
  const auto codec = make_codec({CodecKind::kTopK, 0.5});
  std::vector<float> residual(4), sum(4);
  const EncodedBytes good = encoded(*codec, {1, 2, 3, 4}, residual);
  for (const std::uint32_t index : {0u, 2u, 4u, ~0u}) {  // After an index of 2.
    EncodedBytes bad = good;
    codecs::store(index, bad.data() + 8);
    EXPECT_EQ(codec->decode_add(bad, kRound, 1.0f, sum).code(), Code::kData) << index;
  }
  EXPECT_EQ(sum, std::vector<float>(4));
}

TEST(RandomK, ChoosesTheSameEverywhereAndEveryElementInTime) {
  const auto codec = make_codec({CodecKind::kRandomK, 0.1});
  constexpr std::size_t kCount = 64;
  const std::vector<float> gradient(kCount, 1.0f);
  std::vector<float> times(kCount), first(kCount);
  EncodedBytes bytes(codec->encoded_bytes(kCount));
  for (std::uint64_t step = 0; step < 1000; ++step) {
    codec->encode(gradient, {}, {step, 1}, bytes);
    ASSERT_TRUE(codec->decode_add(bytes, {step, 1}, 1.0f, times).ok());
    if (step == 0) first = times;
  }
  for (const float time : times) {
    EXPECT_GT(time, 60.0f);
    EXPECT_LT(time, 160.0f);
  }
  std::vector<float> other_tensor(kCount);
  ASSERT_TRUE(codec->decode_add(bytes, {0, 2}, 1.0f, other_tensor).ok());
  EXPECT_NE(other_tensor, first);
}

TEST(ScaledCodecs, RefuseScalesThatTheyNeverWrite) {
  for (const CodecKind kind : {CodecKind::kInt8, CodecKind::kSign}) {
    const auto codec = make_codec({kind});
    std::vector<float> residual(12), sum(12);
    const EncodedBytes good = encoded(*codec, draw(12, 3), residual);
    for (const float scale : {-1.0f, -0.0f, std::numeric_limits<float>::infinity(), 1e-42f}) {
      EncodedBytes bad = good;
      codecs::store(scale, bad.data());
      EXPECT_EQ(codec->decode_add(bad, kRound, 1.0f, sum).code(), Code::kData) << scale;
    }
    EncodedBytes bad = good;
    bad.back() = std::byte{0x80};  // int8: a value that has no negative. Sign: a bit after the last element.
    EXPECT_EQ(codec->decode_add(bad, kRound, 1.0f, sum).code(), Code::kData);
    EXPECT_EQ(sum, std::vector<float>(12));
  }
}

}  // namespace
}  // namespace thalweg
