// Arrays of numpy that own numbers made here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace thalweg::python {

template <class T, class... Shape>
using NewArray = nanobind::ndarray<nanobind::numpy, T, Shape..., nanobind::c_contig>;

template <class Array, class T>
Array array_of(std::vector<T> numbers, std::initializer_list<std::size_t> shape) {
  auto* const kept_numbers = new std::vector<T>(std::move(numbers));
  const nanobind::capsule owner(kept_numbers,
                                [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array(kept_numbers->data(), shape, owner);
}

}  // namespace thalweg::python
