// Tables through the Arrow C data and stream interfaces, whose structures arrow.apache.org/docs/format says.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "rows.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// Released when it goes.
template <class T>
struct Released {
  Released() = default;
  Released(Released&& other) noexcept : of(std::exchange(other.of, T{})) {}
  Released& operator=(Released&&) = delete;
  ~Released() {
    if (of.release != nullptr) of.release(&of);
  }
  T of{};
};

struct ArrowOwner {
  Released<ArrowSchema> schema;
  std::vector<Released<ArrowArray>> arrays;
};

std::optional<CellType> type_of_format(const ArrowSchema& schema) {
  constexpr std::array<std::pair<std::string_view, CellType>, 15> kFormats = {{{"n", CellType::kNull},
                                                                               {"b", CellType::kBool},
                                                                               {"c", CellType::kI8},
                                                                               {"s", CellType::kI16},
                                                                               {"i", CellType::kI32},
                                                                               {"l", CellType::kI64},
                                                                               {"C", CellType::kU8},
                                                                               {"S", CellType::kU16},
                                                                               {"I", CellType::kU32},
                                                                               {"L", CellType::kU64},
                                                                               {"f", CellType::kF32},
                                                                               {"g", CellType::kF64},
                                                                               {"u", CellType::kText},
                                                                               {"U", CellType::kLongText},
                                                                               {"vu", CellType::kTextViews}}};
  for (const auto& [format, type] : kFormats) {
    if (format == schema.format) return type;
  }
  return std::nullopt;
}

bool is_readable(const ArrowSchema& schema) {
  return type_of_format(schema) && (schema.dictionary == nullptr || is_readable(*schema.dictionary));
}

// Those that are not, by number.
std::map<std::size_t, std::string> unreadable_of(const ArrowSchema& schema) {
  std::map<std::size_t, std::string> out;
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    const ArrowSchema& column = *schema.children[c];
    if (is_readable(column)) continue;
    const ArrowSchema& wrong =
        column.dictionary != nullptr && type_of_format(column) ? *column.dictionary : column;
    out.emplace(
        static_cast<std::size_t>(c),
        fmt::format("is of Arrow's format \"{}\", expected numbers, booleans, strings or dictionaries "
                    "of these; cast it, to strings for instance",
                    wrong.format));
  }
  return out;
}

CellColumn column_of(const ArrowSchema& schema, const ArrowArray& array) {
  CellColumn cells;
  if (!is_readable(schema)) return cells;  // Nothing, which nobody asks for.
  cells.type = *type_of_format(schema);
  cells.offset = static_cast<std::size_t>(array.offset);
  if (cells.type == CellType::kNull) return cells;
  cells.present = static_cast<const std::uint8_t*>(array.buffers[0]);
  cells.values = array.buffers[1];
  if (cells.type == CellType::kText || cells.type == CellType::kLongText) {
    cells.text = static_cast<const char*>(array.buffers[2]);
  } else if (cells.type == CellType::kTextViews) {
    cells.buffers = reinterpret_cast<const char* const*>(array.buffers + 2);
  }
  if (schema.dictionary == nullptr) return cells;
  cells.codes = std::exchange(cells.type, CellType::kCodes);
  cells.dictionary = std::make_shared<const CellColumn>(column_of(*schema.dictionary, *array.dictionary));
  cells.dictionary_size = static_cast<std::size_t>(array.dictionary->length);
  return cells;
}

TableChunk chunk_of(const ArrowSchema& schema, const ArrowArray& array) {
  TableChunk chunk;
  chunk.rows = static_cast<std::uint64_t>(array.length);
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    chunk.columns.push_back(column_of(*schema.children[c], *array.children[c]));
    chunk.columns.back().offset += static_cast<std::size_t>(array.offset);
  }
  return chunk;
}

void check_stream(ArrowArrayStream& stream, int error) {
  if (error == 0) return;
  const char* const text = stream.get_last_error(&stream);
  raise(
      {Code::kUsage, fmt::format("an Arrow stream failed: {}", text == nullptr ? "no reason given" : text)});
}

}  // namespace

Table table_of_arrow(const nb::object& capsule) {
  void* const pointer = PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream");
  if (pointer == nullptr) throw nb::python_error();
  ArrowArrayStream& stream = *static_cast<ArrowArrayStream*>(pointer);
  ArrowOwner owner;
  check_stream(stream, stream.get_schema(&stream, &owner.schema.of));
  const ArrowSchema& schema = owner.schema.of;
  if (std::string_view(schema.format) != "+s")
    raise({Code::kUsage, "an Arrow stream of one array, expected a table"});
  Table table;
  table.unreadable = unreadable_of(schema);
  for (std::int64_t c = 0; c < schema.n_children; ++c) table.names.emplace_back(schema.children[c]->name);
  for (;;) {
    Released<ArrowArray> array;
    check_stream(stream, stream.get_next(&stream, &array.of));
    if (array.of.release == nullptr) break;
    table.chunks.push_back(chunk_of(schema, array.of));
    owner.arrays.push_back(std::move(array));
  }
  table.owner = kept(std::move(owner));
  return table;
}

}  // namespace thalweg::python
