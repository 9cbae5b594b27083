#include "model/dense/component.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace thalweg {
namespace {

constexpr const char* kHint =
    "\nhint: build with -D THALWEG_TORCH=ON, as scripts/build release does; docs/dense.md";

std::vector<std::filesystem::path> places() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path();
  return {folder / kDenseComponentFile, folder / "../lib/thalweg" / kDenseComponentFile};
}

Result<const DenseComponent*> load() {
  std::string tried;
  for (const std::filesystem::path& place : places()) {
    std::error_code error;
    tried += (tried.empty() ? "" : " and ") + place.lexically_normal().string();
    if (!std::filesystem::exists(place, error)) continue;
    void* const library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      return Status(Code::kUsage, std::string("dense models cannot be used: ") + dlerror() +
                                      "\nhint: apt-get install libtorch1.13 libopenblas0-pthread");
    }
    const auto find = reinterpret_cast<FindDenseComponent>(dlsym(library, kDenseComponentName));
    const DenseComponent* const component = find == nullptr ? nullptr : find();
    if (component == nullptr || std::string(component->version) != THALWEG_VERSION) {
      return Status(Code::kUsage, place.string() + ": is of version " +
                                      (component == nullptr ? "unknown" : component->version) +
                                      ", expected that of the program, " THALWEG_VERSION);
    }
    return component;
  }
  return Status(Code::kUsage, "dense models need " + std::string(kDenseComponentFile) +
                                  ", which is not there; looked for " + tried + kHint);
}

}  // namespace

Result<const DenseComponent*> dense_component() {
  static const Result<const DenseComponent*> kComponent = load();
  return kComponent;
}

}  // namespace thalweg
