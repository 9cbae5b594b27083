// A model in formats that other programs read. Optimizer state stays behind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/format/model_dir.h"
#include "model/format/vw_readable.h"
#include "thalweg/status.h"

namespace thalweg {

// kSafetensors, kNpz: one file with the arrays TABLE.keys (U64 [n], sparse tables only, in file order) and
// TABLE.rows (F32 [n, dim]), of a dense model its tensors by their own names and shapes, which the component
// of dense models tells (kUsage without it); safetensors also has model.json's text as metadata "thalweg".
// kText: a directory with TABLE.tsv for each table: lines of a key, then its floats, parted by tabs, keys
// ascending; a float is the shortest decimal that reads back the same. Sorting holds one table at a time in
// memory. kVw: what Vowpal Wabbit 9 writes by --readable_model, of a linear model of one score: a head, then
// lines index:weight, ascending, none for a weight of 0; the bias is a line Constant:index:weight, as
// --invert_hash writes it, since no key here stands for it.
enum class ExportFormat : std::uint8_t { kSafetensors, kText, kNpz, kVw };

Result<ExportFormat> parse_export_format(std::string_view name);  // safetensors | text | npz | vw-readable

// The destination appears whole or not at all. A regular file is replaced; for text, a directory that is not
// empty is refused. `scales`: what became of values of these features in training; kVw, whose readers take
// values as they are, has weights and a bias for these.
Status export_model(const ModelReader& model, ExportFormat format, Disk& disk, const std::string& destination,
                    const FeatureScales& scales = {});

}  // namespace thalweg
