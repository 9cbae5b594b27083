// Dense models are computed by LibTorch, in a component that is loaded when the first of them is made, so
// that nothing else needs that library or waits for it to load.
#pragma once

#include <memory>

#include "model/model.h"
#include "thalweg/status.h"

namespace thalweg {

// What the component's file offers under kDenseComponentName.
struct DenseComponent {
  const char* version;  // Of the library that it was built with.
  // As ModelKind has them.
  Status (*check)(const ModelSpec& spec);
  std::unique_ptr<Model> (*make)(const ModelSpec& spec);
};
using FindDenseComponent = const DenseComponent* (*)();
inline constexpr const char* kDenseComponentName = "thalweg_dense_component";
inline constexpr const char* kDenseComponentFile = "thalweg_torch.so";

// Loads it once a process, from beside the program or ../lib/thalweg from there. Thread-safe. kUsage says how
// to get it where it is missing or of another version.
Result<const DenseComponent*> dense_component();

}  // namespace thalweg
