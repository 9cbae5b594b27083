// Matrices and tables of Python as rows in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>

#include "data/memory/memory_rows.h"
#include "data/memory/table_rows.h"
#include "gil.h"
#include "thalweg/trainer.h"

namespace thalweg::python {

// Rows of Python, whose arrays it keeps.
struct Rows {
  std::shared_ptr<const MemoryRows> rows;
};

// `keep` lives until nobody uses what it points to; it may be dropped on any thread.
template <class T>
std::shared_ptr<const void> kept(T keep) {
  return std::shared_ptr<const void>(new T(std::move(keep)), [](const T* kept_one) {
    const WithGil gil;
    delete kept_one;
  });
}

// By the names that stand for files.
TrainParts parts_of(const nanobind::dict& rows);

// What `capsule`, an "arrow_array_stream" of the Arrow PyCapsule interface, gives.
Table table_of_arrow(const nanobind::object& capsule);

}  // namespace thalweg::python
