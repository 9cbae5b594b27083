// Columns of a table in memory, laid out as Apache Arrow lays them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace thalweg {

// How the cells of a column lie.
enum class CellType : std::uint8_t {
  kNull,
  kBool,  // A bit each.
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kText,       // Offsets of 32 bits into `text`.
  kLongText,   // Of 64 bits.
  kTextViews,  // Arrow's: 16 bytes that are the text, or say where in `buffers` it is.
  kCodes       // Places in `dictionary`, of type `codes`.
};

// What a cell holds. `text` points into the column.
struct Cell {
  enum class Kind : std::uint8_t { kMissing, kBool, kWhole, kUnsigned, kReal, kText } kind = Kind::kMissing;
  std::int64_t whole = 0;      // Also of kBool.
  std::uint64_t positive = 0;  // kUnsigned.
  double real = 0;
  bool single = false;  // `real` was a float, and has as few digits.
  std::string_view text = {};
};

// One column of some rows. What it points to outlives it.
struct CellColumn {
  CellType type = CellType::kNull;
  const std::uint8_t* present = nullptr;  // A bit each; null: none is missing.
  const void* values = nullptr;           // Numbers, bits, offsets, views or codes.
  const char* text = nullptr;
  const char* const* buffers = nullptr;
  std::size_t offset = 0;  // Of the first row in all of these.
  CellType codes = CellType::kI32;
  std::shared_ptr<const CellColumn> dictionary;
  std::size_t dictionary_size = 0;

  // Whether cells count as numbers unless somebody says otherwise.
  bool is_numeric() const { return type >= CellType::kI8 && type <= CellType::kF64; }
  // A number that is NaN, and a code that is none, is a missing cell.
  Cell at(std::size_t row) const;
  // Precondition: type == kCodes. Its place in the dictionary, or dictionary_size for none.
  std::size_t code(std::size_t row) const;

 private:
  bool is_present(std::size_t at) const {
    return present == nullptr || ((present[at >> 3] >> (at & 7)) & 1) != 0;
  }
};

// The double that the shortest digits of a float say, as a program that reads it in CSV has it.
double as_written(float value);

// The cell as programs write it into CSV: 17, 0.5, 3.0, True; a missing one is empty. `scratch` holds it
// where the column does not.
std::string_view cell_text(const Cell& cell, std::string& scratch);

}  // namespace thalweg
