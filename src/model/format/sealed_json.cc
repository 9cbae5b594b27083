#include "model/format/sealed_json.h"

#include "model/format/file.h"

namespace thalweg {
namespace {

std::string checksum_tail(std::string_view body) {
  return ",\n  \"checksum\": \"" + hash_text(body) + "\"\n}\n";
}

}  // namespace

std::string sealed(std::string text) {
  text.resize(text.size() - 2);  // The closing "\n}" comes with the checksum.
  return text + checksum_tail(text);
}

bool is_sealed(std::string_view text) {
  const std::size_t tail = checksum_tail("").size();
  if (text.size() < tail) return false;
  const std::string_view body = text.substr(0, text.size() - tail);
  return text.substr(body.size()) == checksum_tail(body);
}

}  // namespace thalweg
