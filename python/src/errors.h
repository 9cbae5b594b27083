// Statuses of the library as exceptions of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "thalweg/status.h"

namespace thalweg::python {

// Throws what thalweg._errors has for the status's code. Precondition: it is not OK, and this thread holds
// the GIL.
[[noreturn]] void raise(const Status& status);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}

template <class T>
T value_of(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace thalweg::python
