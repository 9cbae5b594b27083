// One element of each of k nearly equal runs, the same on all ranks, as an f32 without its index: such
// vectors add up as they are (random-k: Stich et al., "Sparsified SGD with memory", NeurIPS 2018, where what
// was kept back is sent as it is, not scaled by n/k as without feedback). Ratio 1 / kept.
//
// Each run is gone round from a place drawn at random. Drawn anew in each step, as there, an element waits
// for n/k steps on average but for many times that now and then, and then moves by all the gradients of that
// time at once: on a loss of curvature c it diverges from a rate of 2 / c (2n/k - 1) on, and this way from
// twice that.
//
// What is not finite goes at once, in the place of its run's element, so that it is seen in the step in which
// it comes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "exchange/block.h"
#include "exchange/codec/codecs.h"

namespace thalweg::codecs {
namespace {

// Magnitudes are ordered as their bits are, and what is not finite comes last.
bool are_finite(std::span<const float> values) {
  std::uint32_t greatest = 0;
  for (const float value : values)
    greatest = std::max(greatest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  return greatest < std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
}

class RandomKCodec final : public Codec {
 public:
  explicit RandomKCodec(double kept) : kept_(kept) {}

  std::size_t encoded_bytes(std::size_t count) const override {
    return kept_of(kept_, count) * sizeof(float);
  }
  std::optional<Arithmetic> arithmetic() const override {
    return Arithmetic::of(DataType::kF32, Reduction::kSum);
  }
  Status decode_add(std::span<const std::byte> bytes, CodecRound round, float factor,
                    std::span<float> sum) const override {
    if (Status size = check_size("random-k", bytes.size(), encoded_bytes(sum.size())); !size.ok())
      return size;
    const std::byte* from = bytes.data();
    for_each_chosen(sum.size(), round, [&](std::size_t index) {
      sum[index] += factor * load<float>(from);
      from += sizeof(float);
    });
    return {};
  }

 private:
  template <class Visit>
  void for_each_chosen(std::size_t count, CodecRound round, const Visit& visit) const {
    const std::size_t kept = kept_of(kept_, count);
    Random random(round.tensor);
    for (std::size_t k = 0; k < kept; ++k) {
      const Block run = part_of({0, count}, kept, k);
      visit(static_cast<std::size_t>(run.begin + (random.below(run.count) + round.step) % run.count));
    }
  }
  // Of each run the first element that is not finite, in the places of those that are chosen.
  void encode_not_finite(std::span<const float> values, std::span<std::byte> out) const {
    const std::size_t kept = kept_of(kept_, values.size());
    for (std::size_t k = 0; k < kept; ++k) {
      const Block run = part_of({0, values.size()}, kept, k);
      const auto of_run = values.subspan(run.begin, run.count);
      const auto bad = std::ranges::find_if_not(of_run, [](float value) { return std::isfinite(value); });
      if (bad != of_run.end()) store(*bad, out.data() + k * sizeof(float));
    }
  }
  void encode_values(std::span<const float> values, CodecRound round,
                     std::span<std::byte> out) const override {
    std::byte* to = out.data();
    for_each_chosen(values.size(), round, [&](std::size_t index) {
      store(values[index], to);
      to += sizeof(float);
    });
    if (!are_finite(values)) encode_not_finite(values, out);
  }

  double kept_;
};

}  // namespace

std::unique_ptr<Codec> make_random_k(double kept) { return std::make_unique<RandomKCodec>(kept); }

}  // namespace thalweg::codecs
