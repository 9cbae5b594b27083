// A TorchScript module of the user's own.
#include "model/dense/dense_kind.h"

namespace thalweg {
namespace {

constexpr DenseDefaults kScriptDefaults = {.epochs = 10};

Status check_script_kind(const ModelSpec& spec) {
  if (spec.script.empty())
    return {Code::kUsage, "model script needs a file; expected script:FILE, a TorchScript module"};
  return check_dense_kind(spec);
}

}  // namespace

extern constinit const ModelKind kScriptKind = {.name = "script",
                                                .takes_file = true,
                                                .dense = &kScriptDefaults,
                                                .check = check_script_kind,
                                                .make = make_dense};

}  // namespace thalweg
