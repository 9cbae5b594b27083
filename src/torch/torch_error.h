// What LibTorch throws, as one line for people.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace thalweg {

// Without the stack of the library and that of a module's interpreter: "RuntimeError: mat1 and mat2 shapes
// ...".
std::string torch_error_line(const std::exception& error);
// The same, of the text that the exception has.
std::string torch_error_line(std::string_view text);

}  // namespace thalweg
