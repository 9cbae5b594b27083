#include "model/model_kind.h"

#include <exception>

#include "base/word_list.h"

// A new model is a file that defines it, and its line here.
#define THALWEG_MODEL_KINDS(KIND) \
  KIND(kLinearKind)               \
  KIND(kFactorizationKind)        \
  KIND(kFieldAwareKind)           \
  KIND(kDeepFactorizationKind)    \
  KIND(kSoftmaxKind)              \
  KIND(kPerceptronKind)           \
  KIND(kConvnetKind)              \
  KIND(kGptKind)                  \
  KIND(kScriptKind)

namespace thalweg {
namespace {

constexpr std::uint32_t kMaxRank = 1024;
constexpr std::uint32_t kMaxFactorFloats = 65536;
constexpr std::uint32_t kMaxWidth = 1u << 20;
constexpr std::size_t kMaxLayers = 16;
constexpr std::uint32_t kMaxSparseClasses = 4096;  // Each feature has a float a class.

Status outside(const ModelSpec& spec, const char* what, std::uint64_t value, std::uint64_t low,
               std::uint64_t high) {
  if (value >= low && value <= high) return ok_status();
  return {Code::kUsage, std::string(what) + " of model " + spec.name + ": " + std::to_string(value) +
                            "; expected " + std::to_string(low) + " to " + std::to_string(high)};
}

Status check_hidden(const ModelSpec& spec) {
  if (Status status = outside(spec, "hidden layers", spec.hidden.size(), 0, kMaxLayers); !status.ok())
    return status;
  for (const std::uint32_t width : spec.hidden) {
    if (Status status = outside(spec, "a hidden layer's width", width, 1, kMaxWidth); !status.ok())
      return status;
  }
  return ok_status();
}

Status check_dense(const ModelSpec& spec) {
  if (Status status = outside(spec, "inputs", spec.inputs, 1, kMaxWidth); !status.ok()) return status;
  if (is_of_score(spec.loss)) return check_hidden(spec);
  if (Status status = outside(spec, "classes", spec.classes, 2, kMaxWidth); !status.ok()) return status;
  return check_hidden(spec);
}

}  // namespace

#define THALWEG_DECLARE_KIND(name) extern const ModelKind name;
THALWEG_MODEL_KINDS(THALWEG_DECLARE_KIND)
#undef THALWEG_DECLARE_KIND

ModelKinds model_kinds(const ModelKinds& more) {
#define THALWEG_LIST_KIND(name) &name,
  ModelKinds kinds = {THALWEG_MODEL_KINDS(THALWEG_LIST_KIND)};
#undef THALWEG_LIST_KIND
  kinds.insert(kinds.end(), more.begin(), more.end());
  return kinds;
}

Result<const ModelKind*> find_kind(const ModelSpec& spec) {
  const ModelKind* found = nullptr;
  std::vector<std::string_view> names;
  for (const ModelKind* kind : model_kinds(spec.kinds)) {
    if (kind->name == spec.name && found != nullptr && found != kind) {
      return Status(Code::kUsage, "two kinds of models are called '" + spec.name +
                                      "'; expected another name for the application's own");
    }
    if (kind->name == spec.name) found = kind;
    names.push_back(kind->name);
  }
  if (found != nullptr) return found;
  return Status(Code::kUsage, "model '" + spec.name + "' is unknown; expected " + any_of_words(names));
}

Result<std::unique_ptr<Model>> make_model(const ModelSpec& spec) {
  const auto kind = find_kind(spec);
  if (!kind.ok()) return kind.status();
  if ((*kind)->factors && (spec.rank < 1 || spec.rank > kMaxRank)) {
    return Status(Code::kUsage, "rank " + std::to_string(spec.rank) + " of model " + spec.name +
                                    " is out of range; expected 1 to " + std::to_string(kMaxRank));
  }
  const std::uint32_t fields_max = (*kind)->factors ? kMaxFactorFloats / spec.rank : kMaxFactorFloats;
  const bool too_few = (*kind)->fields && spec.fields < 1;
  if (too_few || spec.fields > fields_max) {
    return Status(Code::kUsage, "model " + spec.name + " with " + std::to_string(spec.fields) +
                                    " fields of rank " + std::to_string(spec.rank) +
                                    "; expected at least one field and fields * rank <= " +
                                    std::to_string(kMaxFactorFloats));
  }
  if ((*kind)->dense == nullptr && spec.loss == Loss::kClasses) {
    if (Status status = outside(spec, "classes", spec.classes, 2, kMaxSparseClasses); !status.ok())
      return status;
  }
  if ((*kind)->dense != nullptr) {
    if (Status status = check_dense(spec); !status.ok()) return status;
  }
  if ((*kind)->deep != nullptr) {
    if (Status status = check_hidden(spec); !status.ok()) return status;
  }
  try {
    if ((*kind)->check != nullptr) {
      if (Status status = (*kind)->check(spec); !status.ok()) return status;
    }
    return (*kind)->make(spec);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    return Status(Code::kUsage,
                  "model " + spec.name + ": it cannot be made: " + why.substr(0, why.find('\n')));
  }
}

}  // namespace thalweg
