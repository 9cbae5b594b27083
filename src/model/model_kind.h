// A kind of model: what it is called, which numbers of a ModelSpec shape it, and how it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "thalweg/status.h"

namespace thalweg {

// What a model of text takes where its user leaves it open.
struct TextDefaults {
  std::uint32_t context = 0, layers = 0, width = 0, heads = 0;
  std::uint64_t held_out_part = 10;  // The last one of so many equal parts of the text.
};
// What a dense model takes where its user leaves it open.
struct DenseDefaults {
  std::uint32_t epochs = 1, batch = 128;
  RuleKind rule = RuleKind::kAdagrad;
  float rate = 0.01f;
  std::span<const std::uint32_t> hidden = {};
  bool takes_hidden = false;           // ModelSpec::hidden means something to it.
  const TextDefaults* text = nullptr;  // Not null: it is of text, by Loss::kBytes.
};

// What a model of factors and layers takes where its user leaves it open.
struct DeepDefaults {
  std::span<const std::uint32_t> hidden = {};
  std::uint32_t epochs = 1;
  float rate = 0.01f;  // Of its layers.
};

// One a file in this folder; what a model of an application's own is as well, see ModelSpec::kinds.
struct ModelKind {
  std::string_view name;    // As --model says it.
  bool takes_file = false;  // Behind a colon, ModelSpec::script.
  bool factors =
      false;  // Has a table of factors: ModelSpec::rank, init_scale and factors mean something to it.
  bool fields =
      false;  // Each entry needs a field below ModelSpec::fields; the factors of a key have as many parts.
  // Not null: all of the model's tables are dense, and the features of a row are numbers of its inputs.
  const DenseDefaults* dense = nullptr;
  // Not null: layers are above the factors, by ModelSpec::hidden; entries may have a field.
  const DeepDefaults* deep = nullptr;
  // Whether such a model can be made here; null: always. kUsage otherwise. Sizes of 0 are not known yet.
  Status (*check)(const ModelSpec& spec) = nullptr;
  // Called once a thread. The spec's rank and fields are in their limits where they mean something.
  std::unique_ptr<Model> (*make)(const ModelSpec& spec) = nullptr;
};
inline bool takes_hidden(const ModelKind& kind) {
  return kind.deep != nullptr || (kind.dense != nullptr && kind.dense->takes_hidden);
}
using ModelKinds = std::vector<const ModelKind*>;

// The built-in ones, then `more`.
ModelKinds model_kinds(const ModelKinds& more = {});
// Of spec.name. kUsage names those that there are, or says that two are called so.
Result<const ModelKind*> find_kind(const ModelSpec& spec);

}  // namespace thalweg
