#include "net/loaded_library.h"

#include <dlfcn.h>

namespace thalweg {

LoadedLibrary::LoadedLibrary(const std::string& file)
    : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) trouble_ = ::dlerror();
}

void* LoadedLibrary::address_of(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr && trouble_.empty()) trouble_ = std::string("it has no function ") + name;
  return address;
}

}  // namespace thalweg
