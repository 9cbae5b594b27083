// A shared library that is loaded when something of it is asked for, so that no program needs it installed.
#pragma once

#include <string>
#include <type_traits>

namespace thalweg {

// It stays loaded once it is: it may have handlers and threads of its own.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const std::string& file);

  // Sets a pointer to a function; null where there is none of that name.
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(address_of(name));
  }
  // Empty, or why it is not there, or which of its functions was missed first.
  const std::string& trouble() const { return trouble_; }

 private:
  void* address_of(const char* name);

  void* handle_;
  std::string trouble_;
};

}  // namespace thalweg
