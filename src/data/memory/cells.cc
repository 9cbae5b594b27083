#include "data/memory/cells.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace thalweg {
namespace {

template <class T>
T element(const void* values, std::size_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(values) + at * sizeof(T), sizeof value);
  return value;
}

Cell cell_of_whole(std::int64_t value) { return {.kind = Cell::Kind::kWhole, .whole = value}; }
Cell cell_of_real(double value) {
  return {.kind = std::isnan(value) ? Cell::Kind::kMissing : Cell::Kind::kReal, .real = value};
}
Cell cell_of_single(float value) {
  Cell cell = cell_of_real(static_cast<double>(value));
  cell.single = true;
  return cell;
}
Cell cell_of_text(const char* text, std::size_t size) {
  return {.kind = Cell::Kind::kText, .text = std::string_view(text, size)};
}

template <class Offset>
Cell text_between(const CellColumn& cells, std::size_t at) {
  const auto begin = element<Offset>(cells.values, at), end = element<Offset>(cells.values, at + 1);
  return cell_of_text(cells.text + begin, static_cast<std::size_t>(end - begin));
}

// Arrow's columnar format, "Variable-size Binary View Layout".
Cell viewed_text(const CellColumn& cells, std::size_t at) {
  constexpr std::int32_t kInline = 12;
  struct View {
    std::int32_t size, prefix, buffer, offset;
  };
  const auto view = element<View>(cells.values, at);
  const char* const here = static_cast<const char*>(cells.values) + at * sizeof(View) + sizeof view.size;
  const auto size = static_cast<std::size_t>(view.size);
  if (view.size <= kInline) return cell_of_text(here, size);
  return cell_of_text(cells.buffers[view.buffer] + view.offset, size);
}

}  // namespace

Cell CellColumn::at(std::size_t row) const {
  const std::size_t place = offset + row;
  if (type == CellType::kNull || !is_present(place)) return {};
  switch (type) {
    case CellType::kNull:
      return {};
    case CellType::kBool:
      return {.kind = Cell::Kind::kBool,
              .whole = (element<std::uint8_t>(values, place >> 3) >> (place & 7)) & 1};
    case CellType::kI8:
      return cell_of_whole(element<std::int8_t>(values, place));
    case CellType::kI16:
      return cell_of_whole(element<std::int16_t>(values, place));
    case CellType::kI32:
      return cell_of_whole(element<std::int32_t>(values, place));
    case CellType::kI64:
      return cell_of_whole(element<std::int64_t>(values, place));
    case CellType::kU8:
      return cell_of_whole(element<std::uint8_t>(values, place));
    case CellType::kU16:
      return cell_of_whole(element<std::uint16_t>(values, place));
    case CellType::kU32:
      return cell_of_whole(element<std::uint32_t>(values, place));
    case CellType::kU64:
      return {.kind = Cell::Kind::kUnsigned, .positive = element<std::uint64_t>(values, place)};
    case CellType::kF32:
      return cell_of_single(element<float>(values, place));
    case CellType::kF64:
      return cell_of_real(element<double>(values, place));
    case CellType::kText:
      return text_between<std::int32_t>(*this, place);
    case CellType::kLongText:
      return text_between<std::int64_t>(*this, place);
    case CellType::kTextViews:
      return viewed_text(*this, place);
    case CellType::kCodes: {
      const std::size_t found = code(row);
      return found == dictionary_size ? Cell() : dictionary->at(found);
    }
  }
  return {};
}

std::size_t CellColumn::code(std::size_t row) const {
  if (!is_present(offset + row)) return dictionary_size;
  CellColumn plain;
  plain.type = codes;
  plain.values = values;
  plain.offset = offset;
  const Cell found = plain.at(row);
  const std::uint64_t at =
      found.kind == Cell::Kind::kUnsigned ? found.positive : static_cast<std::uint64_t>(found.whole);
  return at < dictionary_size ? static_cast<std::size_t>(at) : dictionary_size;
}

double as_written(float value) {
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  double read = 0;
  std::from_chars(digits, written.ptr, read);
  return read;
}

std::string_view cell_text(const Cell& cell, std::string& scratch) {
  switch (cell.kind) {
    case Cell::Kind::kMissing:
      return {};
    case Cell::Kind::kText:
      return cell.text;
    case Cell::Kind::kBool:
      return cell.whole != 0 ? "True" : "False";
    case Cell::Kind::kWhole:
      return scratch = fmt::format("{}", cell.whole);
    case Cell::Kind::kUnsigned:
      return scratch = fmt::format("{}", cell.positive);
    case Cell::Kind::kReal:
      scratch = cell.single ? fmt::format("{}", static_cast<float>(cell.real)) : fmt::format("{}", cell.real);
      if (scratch.find_first_not_of("-0123456789") == std::string::npos) scratch += ".0";
      return scratch;
  }
  return {};
}

}  // namespace thalweg
