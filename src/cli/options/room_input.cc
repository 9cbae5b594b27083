#include "cli/options/room_input.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "topology/presets.h"
#include "topology/room_file.h"

namespace thalweg {
namespace {

Result<std::string> read_text(const std::string& path) {
  const auto refuse = [&](const char* what) {
    return Status(Code::kConfig, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return refuse("cannot open");
  std::string text(kRoomBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return refuse("cannot read");
  return text;
}

}  // namespace

Result<Topology> open_room(const std::string& name, std::uint32_t ranks) {
  std::error_code error;
  if (is_preset(name) || !std::filesystem::exists(name, error)) {
    Result<Topology> room = preset(name, ranks);
    if (!room && !is_preset(name)) {
      return Status(Code::kUsage,
                    fmt::format("{}, and there is no file of that name", room.status().message()));
    }
    return room;
  }
  const Result<std::string> text = read_text(name);
  if (!text) return text.status();
  Result<Topology> room = parse_room(*text, name);
  if (room && ranks != 0 && ranks != room->rank_count()) {
    return Status(Code::kUsage,
                  fmt::format("{} has {} ranks, and --ranks asks for {}; expected the same number, or a "
                              "preset",
                              name, room->rank_count(), ranks));
  }
  return room;
}

}  // namespace thalweg
