#include "cli/score/row_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash/hash.h"

namespace thalweg {
namespace {

constexpr std::string_view kQuery = "qid";

std::string_view query_of(std::string_view line) {
  line = line.substr(0, std::min(line.find('#'), line.size()));
  for (const std::string_view mark : {" qid:", "\tqid:"}) {
    if (const std::size_t at = line.find(mark); at != line.npos) {
      const std::string_view rest = line.substr(at + mark.size());
      return rest.substr(0, std::min(rest.find_first_of(" \t\r\n"), rest.size()));
    }
  }
  return {};
}

}  // namespace

Result<RowGroups> RowGroups::find(const DataSet& data, const std::string& by) {
  RowGroups out;
  if (data.format().columns || data.format().members) {
    Result<LineCells> cells = LineCells::find(data, {by}, "--by");
    if (!cells) return cells.status();
    out.cells_ = *std::move(cells);
    return out;
  }
  if (data.format().name == "libsvm" && by == kQuery) return out;
  return Status(
      Code::kUsage,
      fmt::format(
          "--by {}: the input is {}, expected CSV or JSON lines with such a column, or libsvm and --by {}",
          by, data.format().title, kQuery));
}

std::uint64_t RowGroups::of(std::string_view line) {
  const std::string_view name = cells_ ? category_text(cells_->of(line).front()) : query_of(line);
  has_query_ = has_query_ || !name.empty();
  return hash64(name.data(), name.size());
}

Status RowGroups::check() const {
  if (cells_) return cells_->check_members();
  if (has_query_) return ok_status();
  return {Code::kUsage,
          fmt::format("--by {0}: no row has one; expected {0}:N between label and features", kQuery)};
}

nlohmann::ordered_json tell_of_grouping(const Options& options, const GroupRows::Measures& measures,
                                        Output& out) {
  out.human(fmt::format("{:<18} {}\n", "groups", measures.groups));
  if (measures.part < 1) {
    out.note(fmt::format("groups are a sample, 1 of {:g}, since there are more than {} rows",
                         1 / measures.part, kGroupRowsMax));
  }
  return {{"by", options.text("by")},
          {"at", options.integer("at")},
          {"groups", measures.groups},
          {"rows", measures.rows},
          {"part", measures.part}};
}

}  // namespace thalweg
