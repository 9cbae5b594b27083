#include "cli/work/checkpoint_options.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/option_table.h"
#include "cli/options/option_value.h"
#include "data/unpack/shell_word.h"

namespace thalweg {
namespace {

constexpr std::string_view kSteps = "-steps";
constexpr std::uint32_t kKeptMax = 1'000'000;
constexpr double kSecondsOfYear = 3600.0 * 24 * 365;
constexpr OptionRow kTime = {.name = "checkpoint-every",
                             .type = OptionType::kDuration,
                             .group = "",
                             .help = "",
                             .example = "5min",
                             .low = 0.1,
                             .high = kSecondsOfYear};

Status set_interval(std::string_view text, CheckpointOptions& out) {
  if (text.ends_with(kSteps)) {
    const char* const end = text.data() + text.size() - kSteps.size();
    const auto [at, error] = std::from_chars(text.data(), end, out.every_steps);
    if (error == std::errc() && at == end && out.every_steps > 0) return ok_status();
  } else if (const auto value = parse_value(kTime, text); value) {
    out.every = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::get<double>(*value)));
    return ok_status();
  }
  return {Code::kUsage,
          fmt::format("--checkpoint-every {}: expected a number of steps, as in 500-steps, or a time from "
                      "100ms on, as in 5min",
                      text)};
}

// As a shell takes it, bare where that says the same.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  return quoted_for_shell(word);
}

// This process's own command line, but that it goes on from the newest checkpoint.
std::string resume_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  std::string out;
  const auto add = [&](const std::string& word) {
    if (!out.empty()) out += ' ';
    out += shell_word(word);
  };
  bool options = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (options && words[i] == "--resume") {
      ++i;
      continue;
    }
    if (options && words[i].starts_with("--resume=")) continue;
    if (options && words[i] == "--") {
      options = false;
      add("--resume");
      add("auto");
    }
    add(words[i]);
  }
  return options && !out.empty() ? out + " --resume auto" : out;
}

}  // namespace

Status set_kept(const Options& options, TrainerOptions& out) {
  out.keep_bad = options.flag("keep-bad");
  out.drop_zeros = options.flag("drop-zeros");
  out.patience = static_cast<std::uint32_t>(options.maybe_integer("patience").value_or(0));
  const std::string text = options.maybe_text("keep-what").value_or("");
  const std::size_t comma = text.find(',');
  const std::string what = text.substr(0, comma);
  const bool is_what = what == "best" || what == "last";
  if (is_what) out.keep_best = what == "best";
  if (text.empty() || (is_what && comma == text.npos)) return ok_status();
  const std::string count = is_what ? text.substr(comma + 1) : text;
  const char* const end = count.data() + count.size();
  const auto read = std::from_chars(count.data(), end, out.checkpoint.keep);
  if (read.ec != std::errc() || read.ptr != end || out.checkpoint.keep == 0 ||
      out.checkpoint.keep > kKeptMax) {
    return {Code::kUsage,
            fmt::format("--keep {}; expected best, last, a number of checkpoints from 1 to {}, or both as "
                        "best,3",
                        text, kKeptMax)};
  }
  if (out.checkpoint.directory.empty())
    return {Code::kUsage, "--keep K means nothing without --checkpoint DIR; expected best or last"};
  return ok_status();
}

Result<CheckpointOptions> checkpoint_options(const Options& options) {
  CheckpointOptions out;
  out.directory = options.maybe_text("checkpoint").value_or("");
  out.resume = options.maybe_text("resume").value_or("");
  if (Status status = set_interval(options.text("checkpoint-every"), out); !status.ok()) return status;
  out.whole_every = static_cast<std::uint32_t>(options.integer("checkpoint-whole-every"));
  if (out.directory.empty()) {
    for (const char* const name : {"checkpoint-every", "checkpoint-whole-every"}) {
      if (options.origin(name) == Origin::kFlag)
        return Status(Code::kUsage, fmt::format("--{} means nothing without --checkpoint DIR", name));
    }
  } else {
    out.resume_command = resume_command();
  }
  return out;
}

}  // namespace thalweg
