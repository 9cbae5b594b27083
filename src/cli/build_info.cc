#include "cli/build_info.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <toml++/toml.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

std::string instruction_sets() {
#if defined(__x86_64__)
  std::string sets = "x86-64";
#elif defined(__aarch64__)
  std::string sets = "aarch64";
#else
  std::string sets = "other";
#endif
#ifdef __AVX__
  sets += " avx";
#endif
#ifdef __AVX2__
  sets += " avx2";
#endif
#ifdef __AVX512F__
  sets += " avx512f";
#endif
  return sets;
}

}  // namespace

BuildInfo build_info() {
  BuildInfo info;
  info.version = THALWEG_VERSION;
  info.build_type = THALWEG_BUILD_TYPE;
  info.sanitizer = THALWEG_SANITIZE;
#ifdef __clang__
  info.compiler = fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  info.compiler = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  info.isa = instruction_sets();
  const std::string bzip2 = BZ2_bzlibVersion();
  info.libraries = {
      {"bzip2", bzip2.substr(0, bzip2.find(','))},  // Behind it stands a date.
      {"CLI11", CLI11_VERSION},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"liblzma", LZMA_VERSION_STRING},
      {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                    NLOHMANN_JSON_VERSION_PATCH)},
      {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
      {"xxhash", fmt::format("{}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE)},
      {"zlib", ZLIB_VERSION},
      {"zstd", ZSTD_VERSION_STRING},
  };
  return info;
}

}  // namespace thalweg
