#include "data/reader/row_format.h"

#include <fmt/format.h>

#include "base/word_list.h"

// A new format is a file that defines it, and its line here.
#define THALWEG_ROW_FORMATS(FORMAT) \
  FORMAT(kLibsvmFormat)             \
  FORMAT(kLibffmFormat)             \
  FORMAT(kCriteoFormat)             \
  FORMAT(kVwFormat)                 \
  FORMAT(kJsonLinesFormat)          \
  FORMAT(kCsvFormat)

namespace thalweg {

#define THALWEG_DECLARE_FORMAT(name) extern const RowFormat name;
THALWEG_ROW_FORMATS(THALWEG_DECLARE_FORMAT)
#undef THALWEG_DECLARE_FORMAT

RowFormats row_formats(const RowFormats& more) {
#define THALWEG_LIST_FORMAT(name) &name,
  RowFormats formats = {THALWEG_ROW_FORMATS(THALWEG_LIST_FORMAT)};
#undef THALWEG_LIST_FORMAT
  formats.insert(formats.end(), more.begin(), more.end());
  return formats;
}

Result<const RowFormat*> find_format(std::string_view name, const RowFormats& more) {
  if (name == "auto") return static_cast<const RowFormat*>(nullptr);
  const RowFormat* found = nullptr;
  std::vector<std::string_view> names = {"auto"};
  for (const RowFormat* format : row_formats(more)) {
    if (format->name == name && found != nullptr && found != format) {
      return Status(
          Code::kUsage,
          fmt::format("two formats are called '{}'; expected another name for the application's own", name));
    }
    if (format->name == name) found = format;
    names.push_back(format->name);
  }
  if (found != nullptr) return found;
  return Status(Code::kUsage, fmt::format("--format '{}'; expected {}", name, any_of_words(names)));
}

}  // namespace thalweg
