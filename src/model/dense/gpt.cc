// Decoder-only transformer over bytes.
#include <string>

#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr TextDefaults kGptText = {.context = 128, .layers = 4, .width = 128, .heads = 4};
constexpr DenseDefaults kGptDefaults = {
    .epochs = 7, .batch = 8, .rule = RuleKind::kAdam, .rate = 0.001f, .text = &kGptText};

constexpr std::uint32_t kLayersMax = 64;
constexpr std::uint32_t kWidthMax = 1u << 14;
constexpr std::uint32_t kContextMax = 1u << 14;

Status check_gpt(const ModelSpec& spec) {
  if (spec.layers == 0 && spec.width == 0 && spec.heads == 0) return check_dense_kind(spec);
  const auto outside = [](const char* flag, std::uint32_t value, std::uint32_t most) {
    return value >= 1 && value <= most
               ? ok_status()
               : Status(Code::kUsage, std::string(flag) + " " + std::to_string(value) + "; expected 1 to " +
                                          std::to_string(most));
  };
  for (const Status& status :
       {outside("--layers", spec.layers, kLayersMax), outside("--width", spec.width, kWidthMax),
        outside("--heads", spec.heads, spec.width), outside("--context", spec.inputs, kContextMax)}) {
    if (!status.ok()) return status;
  }
  if (spec.width % spec.heads != 0) {
    return {Code::kUsage, "--width " + std::to_string(spec.width) + " does not divide among --heads " +
                              std::to_string(spec.heads) + "; expected a multiple of it"};
  }
  if (spec.loss != Loss::kBytes || spec.classes != 256) {
    return {Code::kUsage, "model gpt of another loss than bytes, or of other than 256 of them"};
  }
  return check_dense_kind(spec);
}

}  // namespace

extern constinit const ModelKind kGptKind = {
    .name = "gpt", .dense = &kGptDefaults, .check = check_gpt, .make = make_dense};

}  // namespace thalweg
