#include "model/format/vw_readable.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

constexpr Key kVwConstant = 11650396;  // Before VW's mask: constant.h of its sources.

// As the model's rows were hashed, or as many as its keys take.
unsigned vw_bits(const Manifest& manifest, Key largest) {
  const unsigned bits = manifest.hash_bits();
  return bits != 0 ? bits : std::max(18u, static_cast<unsigned>(std::bit_width(largest)));
}

std::string vw_head(const Manifest& manifest, unsigned bits) {
  const bool logistic = manifest.model.loss == Loss::kLogistic;
  const bool poisson = manifest.model.loss == Loss::kPoisson;
  return fmt::format(
      "Version 9.11.9\nId \nMin label:{}\nMax label:{}\nbits:{}\nlda:0\n0 ngram:\n0 skip:\noptions:{}\n"
      "Checksum: 0\n:0\n",
      logistic ? -50 : 0, logistic || poisson ? 50 : 1, bits,
      logistic  ? " --link=logistic --loss_function=logistic"
      : poisson ? " --link=poisson --loss_function=poisson"
                : "");
}

// The rows of the table of that name that are not 0, by ascending key.
Result<std::vector<std::pair<Key, float>>> vw_weights(const ModelReader& model, const char* name) {
  const std::vector<TableManifest>& tables = model.manifest().tables;
  std::vector<std::pair<Key, float>> weights;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (tables[t].spec.name != name) continue;
    const Status status = model.scan(t, false, [&](const StoredRows& block) {
      for (std::size_t i = 0; i < block.keys.size(); ++i) {
        if (block.rows[i] != 0) weights.emplace_back(block.keys[i], block.rows[i]);
      }
      return ok_status();
    });
    if (!status.ok()) return status;
  }
  std::sort(weights.begin(), weights.end());
  return weights;
}

Status check_linear(const ModelReader& model) {
  const Manifest& manifest = model.manifest();
  const std::vector<TableManifest>& tables = manifest.tables;
  const bool linear = tables.size() == 2 && tables[1].spec.kind == TableSpec::Kind::kSparse;
  if (linear && tables[0].spec.dim == 1 && tables[1].spec.dim == 1) return ok_status();
  return {
      Code::kUsage,
      fmt::format("{}: model {} of loss {} has more than a weight a feature, which VW's readable form has no "
                  "place for; expected lr of one score",
                  model.path(), manifest.model.name, loss_name(manifest.model.loss))};
}

}  // namespace

Status write_vw_readable(const ModelReader& model, const FeatureScales& scales, File& file) {
  if (Status status = check_linear(model); !status.ok()) return status;
  const auto weights = vw_weights(model, "weights"), bias = vw_weights(model, "bias");
  for (const auto* part : {&weights, &bias}) {
    if (!part->ok()) return part->status();
  }
  const unsigned bits = vw_bits(model.manifest(), weights->empty() ? 0 : weights->back().first);
  FileStream stream(file);
  const std::string head = vw_head(model.manifest(), bits);
  if (Status status = stream.write(bytes_of(head)); !status.ok()) return status;
  double subtracted = 0;
  for (const auto& [key, weight] : *weights) {
    const auto found = scales.find(key);
    const FeatureScale scale = found == scales.end() ? FeatureScale() : found->second;
    const float of_value = weight / scale.scale;
    subtracted += static_cast<double>(of_value) * scale.offset;
    if (Status status = stream.write(bytes_of(fmt::format("{}:{}\n", key, of_value))); !status.ok())
      return status;
  }
  if (!bias->empty() || subtracted != 0) {
    const Key mask = bits >= 64 ? ~Key{0} : (Key{1} << bits) - 1;
    const double own = bias->empty() ? 0 : static_cast<double>(bias->front().second);
    const std::string line =
        fmt::format("Constant:{}:{}\n", kVwConstant & mask, static_cast<float>(own - subtracted));
    if (Status status = stream.write(bytes_of(line)); !status.ok()) return status;
  }
  return stream.flush();
}

}  // namespace thalweg
