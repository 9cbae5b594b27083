#include "rows.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.h"
#include "data/memory/matrix_rows.h"
#include "errors.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<nb::ro, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Maybe = std::optional<Vector<T>>;

template <class T>
std::span<const T> span_of(const Vector<T>& vector) {
  return {vector.data(), vector.size()};
}
template <class T>
std::span<const T> span_of(const Maybe<T>& vector) {
  return vector ? span_of(*vector) : std::span<const T>();
}

bool holds_doubles(const Array& array) {
  if (array.dtype() == nb::dtype<double>()) return true;
  if (array.dtype() == nb::dtype<float>()) return false;
  raise({Code::kUsage, "values: expected float32 or float64"});
}

MatrixTargets targets_of(const Maybe<float>& labels, const Maybe<float>& weights,
                         const Maybe<std::uint32_t>& fields) {
  return {span_of(labels), span_of(weights), span_of(fields)};
}

Rows make_dense(const Array& values, const Maybe<float>& labels, const Maybe<float>& weights,
                const Maybe<std::uint32_t>& fields) {
  if (values.ndim() != 2) raise({Code::kUsage, "values: expected two dimensions"});
  const auto item = static_cast<std::ptrdiff_t>(values.itemsize());
  DenseMatrix matrix{.rows = values.shape(0),
                     .columns = values.shape(1),
                     .values = values.data(),
                     .doubles = holds_doubles(values),
                     .row_bytes = values.stride(0) * item,
                     .column_bytes = values.stride(1) * item};
  auto owner = kept(std::tuple(values, labels, weights, fields));
  return {value_of(dense_rows(matrix, targets_of(labels, weights, fields), std::move(owner)))};
}

Rows make_sparse(const Vector<std::int64_t>& begins, const Array& indices, const Array& values,
                 std::uint64_t columns, const Maybe<float>& labels, const Maybe<float>& weights,
                 const Maybe<std::uint32_t>& fields) {
  const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
  if (!wide && indices.dtype() != nb::dtype<std::int32_t>()) {
    raise({Code::kUsage, "indices: expected int32 or int64"});
  }
  for (const Array& array : {indices, values}) {
    if (array.ndim() != 1 || (array.size() > 1 && array.stride(0) != 1)) {
      raise({Code::kUsage, "indices and values: expected contiguous arrays of one dimension"});
    }
  }
  SparseMatrix matrix{.columns = columns,
                      .begins = span_of(begins),
                      .entries = std::min(indices.size(), values.size()),
                      .indices = indices.data(),
                      .wide_indices = wide,
                      .values = values.data(),
                      .doubles = holds_doubles(values)};
  auto owner = kept(std::tuple(begins, indices, values, labels, weights, fields));
  return {value_of(sparse_rows(matrix, targets_of(labels, weights, fields), std::move(owner)))};
}

CellType type_of(const Array& array, const std::string& name) {
  const std::pair<nb::dlpack::dtype, CellType> types[] = {
      {nb::dtype<std::int8_t>(), CellType::kI8},    {nb::dtype<std::int16_t>(), CellType::kI16},
      {nb::dtype<std::int32_t>(), CellType::kI32},  {nb::dtype<std::int64_t>(), CellType::kI64},
      {nb::dtype<std::uint8_t>(), CellType::kU8},   {nb::dtype<std::uint16_t>(), CellType::kU16},
      {nb::dtype<std::uint32_t>(), CellType::kU32}, {nb::dtype<std::uint64_t>(), CellType::kU64},
      {nb::dtype<float>(), CellType::kF32},         {nb::dtype<double>(), CellType::kF64}};
  for (const auto& [dtype, type] : types) {
    if (array.dtype() == dtype) return type;
  }
  raise({Code::kUsage, fmt::format("column \"{}\": not of whole or real numbers", name)});
}

// Strings one behind the other, as CellType::kLongText has them.
struct Dictionary {
  explicit Dictionary(const std::vector<std::string>& words) : ends{0} {
    for (const std::string& word : words) {
      text += word;
      ends.push_back(static_cast<std::int64_t>(text.size()));
    }
  }
  std::string text;
  std::vector<std::int64_t> ends;
};

struct NamedColumn {
  std::string name;
  Array values;
  std::optional<std::vector<std::string>> words;  // Those that `values` are the numbers of; -1 is none.
  Maybe<std::uint8_t> present;                    // A bit for each, the least first.
};

void add_column(const NamedColumn& column, Table& table, std::vector<std::shared_ptr<const void>>& owners) {
  const Array& array = column.values;
  if (array.ndim() != 1 || (array.size() > 1 && array.stride(0) != 1)) {
    raise({Code::kUsage, fmt::format("column \"{}\": expected a contiguous array", column.name)});
  }
  TableChunk& chunk = table.chunks.front();
  if (table.names.empty()) chunk.rows = array.size();
  if (array.size() != chunk.rows) {
    raise({Code::kUsage,
           fmt::format("column \"{}\": {} cells, expected {}", column.name, array.size(), chunk.rows)});
  }
  CellColumn cells;
  cells.type = type_of(array, column.name);
  cells.values = array.data();
  owners.push_back(kept(array));
  if (column.present) {
    if (column.present->size() * 8 < array.size())
      raise({Code::kUsage, fmt::format("column \"{}\": too few bits that say what is present", column.name)});
    cells.present = column.present->data();
    owners.push_back(kept(*column.present));
  }
  if (column.words) {
    const auto dictionary = std::make_shared<const Dictionary>(*column.words);
    CellColumn words;
    words.type = CellType::kLongText;
    words.values = dictionary->ends.data();
    words.text = dictionary->text.data();
    cells.codes = std::exchange(cells.type, CellType::kCodes);
    cells.dictionary = std::make_shared<const CellColumn>(words);
    cells.dictionary_size = column.words->size();
    owners.push_back(dictionary);
  }
  table.names.push_back(column.name);
  chunk.columns.push_back(std::move(cells));
}

Rows make_table(const std::vector<std::tuple<std::string, Array, std::optional<std::vector<std::string>>,
                                             Maybe<std::uint8_t>>>& columns,
                const std::map<std::size_t, std::string>& unreadable) {
  Table table;
  table.unreadable = unreadable;
  table.chunks.resize(1);
  std::vector<std::shared_ptr<const void>> owners;
  for (const auto& [name, values, words, present] : columns)
    add_column({name, values, words, present}, table, owners);
  table.owner = kept(std::move(owners));
  return {value_of(table_rows(std::move(table)))};
}

// With further columns of numbers, such as labels that come apart from the table.
Rows make_arrow(const nb::object& capsule, const std::vector<std::pair<std::string, Vector<float>>>& more) {
  Table table = table_of_arrow(capsule);
  std::uint64_t rows = 0;
  for (const TableChunk& chunk : table.chunks) rows += chunk.rows;
  for (const auto& [name, values] : more) {
    if (values.size() != rows) {
      raise({Code::kUsage, fmt::format("\"{}\": {} numbers, expected {}", name, values.size(), rows)});
    }
    table.names.push_back(name);
    CellColumn cells;
    cells.type = CellType::kF32;
    cells.values = values.data();
    for (TableChunk& chunk : table.chunks) {
      chunk.columns.push_back(cells);
      cells.offset += chunk.rows;
    }
  }
  table.owner = kept(std::pair(table.owner, more));
  return {value_of(table_rows(std::move(table)))};
}

}  // namespace

TrainParts parts_of(const nb::dict& rows) {
  TrainParts parts;
  for (const auto& [name, of_name] : rows) {
    parts.rows.emplace(nb::cast<std::string>(name), nb::cast<const Rows&>(of_name).rows);
  }
  return parts;
}

void bind_rows(nb::module_& module) {
  nb::class_<Rows>(module, "Rows", "Rows in memory, which keep the arrays that they were made of.")
      .def_static("dense", &make_dense, nb::arg("values"), nb::arg("labels").none(),
                  nb::arg("weights").none(), nb::arg("fields").none(),
                  "Of a matrix of floats or doubles, in any order of memory.")
      .def_static("sparse", &make_sparse, nb::arg("begins"), nb::arg("indices"), nb::arg("values"),
                  nb::arg("columns"), nb::arg("labels").none(), nb::arg("weights").none(),
                  nb::arg("fields").none(), "Of a matrix in compressed sparse rows.")
      .def_static(
          "table", &make_table, nb::arg("columns"), nb::arg("unreadable"),
          "Of columns: name, numbers, the words that they number if there are any, and the bits that "
          "say which are "
          "present, if not all are; and what those are, by number, that are refused where they are used.")
      .def_static("arrow", &make_arrow, nb::arg("stream"), nb::arg("more"),
                  "Of an Arrow stream's capsule, and more columns of numbers.")
      .def("__len__", [](const Rows& self) { return self.rows->rows(); });
}

}  // namespace thalweg::python
