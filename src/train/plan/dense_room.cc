#include "train/plan/dense_room.h"

#include <fmt/format.h>

#include <string>

#include "model/model_kind.h"
#include "table/dense_table.h"
#include "train/plan/algorithm_plan.h"
#include "train/step_memory.h"

namespace thalweg {
namespace {

std::uint64_t bytes_of(const std::vector<TableSpec>& tables) {
  std::uint64_t bytes = 0;
  for (const TableSpec& table : tables) {
    if (table.kind == TableSpec::Kind::kDense) bytes += dense_bytes(table);
  }
  return bytes;
}

std::uint64_t floats_of(const std::vector<TableSpec>& tables) {
  std::uint64_t floats = 0;
  for (const TableSpec& table : tables) {
    if (table.kind == TableSpec::Kind::kDense) floats += table.rows * table.dim;
  }
  return floats;
}

// What makes a model of the kind smaller.
const char* smaller_by(const ModelSpec& model) {
  const auto kind = find_kind(model);
  if (!kind.ok()) return "take a smaller model";
  if (takes_hidden(**kind)) return "lower --hidden";
  const bool of_text = (*kind)->dense != nullptr && (*kind)->dense->text != nullptr;
  return of_text ? "lower --width or --layers" : "take a smaller model";
}

}  // namespace

Status check_dense_room(const TrainSpec& spec, const std::vector<TableSpec>& tables, std::uint64_t memory) {
  if (memory == 0) return ok_status();
  const std::uint64_t floats = floats_of(tables), at_servers = bytes_of(server_tables(spec, tables));
  const std::uint64_t replicas = has_own_state(spec) ? spec.shards * bytes_of(tables) : 0;
  const std::uint64_t gradients = spec.shards * floats * sizeof(float);
  const auto refuse = [&](const std::string& what, const std::string& most, bool by_shards) {
    return Status(Code::kData,
                  fmt::format("model {} has {} numbers in dense tables: {}, where {}\nhint: {}{}, or allow "
                              "more by --memory, which unset is three quarters of the machine's",
                              spec.model.name, floats, what, most, smaller_by(spec.model),
                              by_shards && spec.shards > 1 ? " or --data-shards" : ""));
  };
  if (at_servers > memory || replicas > memory - at_servers) {
    std::string what = fmt::format("with optimizer state they take {} bytes", at_servers);
    if (replicas != 0)
      what += fmt::format(", and {} bytes more as replicas of {} data shards", replicas, spec.shards);
    return refuse(what, fmt::format("tables may take {} bytes", memory), replicas != 0);
  }
  if (gradients <= memory_for_steps(memory)) return ok_status();
  return refuse(
      fmt::format("gradients of {} data shards take {} bytes", spec.shards, gradients),
      fmt::format("steps under way may take {} bytes, a third of what tables may", memory_for_steps(memory)),
      true);
}

}  // namespace thalweg
