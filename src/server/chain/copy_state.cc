// clang-format off
// Grammar, all integers little-endian; array and payload as in state_codec.h, state as in range_state.cc:
//   copy  := array(state) rows:u64 copied:step count:u32 step* count:u32 (step payload)*
//   step  := epoch:u32 index:u32
// clang-format on
#include "server/chain/copy_state.h"

#include <xxhash.h>

#include "base/limits.h"
#include "server/shown_rows.h"
#include "server/state_codec.h"

namespace thalweg {
namespace {

void put_images(Writer& out, const BeforeImages::OfRange& images) {
  out.put(static_cast<std::uint32_t>(images.steps.size()));
  for (const Step step : images.steps) put_step(out, step);
  out.put(static_cast<std::uint32_t>(images.images.size()));
  for (const auto& [step, rows] : images.images) {
    put_step(out, step);
    put_payload(out, rows);
  }
}

BeforeImages::OfRange get_images(Reader& in, const TableSpec& spec, RangeSpan range) {
  constexpr std::size_t kStepBytes = 8, kImageBytesMin = 16;
  BeforeImages::OfRange images;
  for (auto left = in.get_count(limits::kStepWindow, kStepBytes); left > 0 && in.ok(); --left) {
    images.steps.push_back(get_step(in));
    const std::size_t known = images.steps.size();
    if (known > 1 && images.steps[known - 1] <= images.steps[known - 2]) in.fail();
  }
  for (auto left = in.get_count(~0u, kImageBytesMin); left > 0 && in.ok(); --left) {
    const Step step = get_step(in);
    Payload rows = get_payload(in);
    if (!is_shown(spec, rows, range) || (!images.images.empty() && step < images.images.back().first))
      in.fail();
    images.images.emplace_back(step, std::move(rows));
  }
  return images;
}

}  // namespace

Bytes encode(const CopyState& copy) {
  Writer out;
  put_array<std::byte>(out, encode(copy.state).span());
  put_step(out.put(copy.rows), copy.copied);
  put_images(out, copy.images);
  return out.take();
}

std::optional<CopyState> decode_copy_state(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards) {
  Reader in(bytes);
  const Bytes state = Bytes::of(get_array<std::byte>(in));
  auto decoded = decode_range_state(state, spec, shards);
  if (!decoded || !decoded->open_steps.empty() || !decoded->keys.empty() || !decoded->rows.empty()) return {};
  CopyState copy{*std::move(decoded), in.get<std::uint64_t>(), get_step(in), {}};
  copy.images = get_images(in, spec, only(copy.state.range));
  if (!in.done()) return {};
  return copy;
}

std::uint64_t digest(const Payload& rows) {
  const std::uint64_t keys = XXH3_64bits(rows.keys.span().data(), rows.keys.size());
  return XXH3_64bits_withSeed(rows.values.span().data(), rows.values.size(), keys);
}

}  // namespace thalweg
