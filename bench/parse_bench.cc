// How fast one core reads and parses a file of rows: rows/s, median of five passes after a first one that
// warms the page cache. Usage: parse_bench FILE [ROWS_A_BATCH]; without a file a libsvm set of 300,000 rows
// is made for it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "data/synth.h"

namespace {

using thalweg::Batch;

struct Sums {
  std::uint64_t rows = 0, entries = 0, keys = 0;
};

bool read_all(thalweg::RowReader& reader, std::size_t batch_rows, Sums& sums) {
  Batch batch;
  for (;;) {
    const thalweg::Result<std::size_t> rows = reader.next(batch_rows, batch);
    if (!rows) {
      std::fprintf(stderr, "%s\n", rows.status().message().c_str());
      return false;
    }
    if (*rows == 0) return true;
    sums.rows += *rows;
    sums.entries += batch.entries();
    for (const thalweg::Key key : batch.keys) sums.keys += key;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool made = argc < 2;
  const std::string path =
      made ? (std::filesystem::temp_directory_path() / "thalweg_parse_bench.libsvm").string()
           : std::string(argv[1]);
  if (made) {
    std::ofstream file(path, std::ios::binary);
    const auto report = thalweg::synthesize({300'000, 1, "libsvm"}, file);
    if (!report) return std::fprintf(stderr, "%s\n", report.status().message().c_str()), 1;
  }
  const std::size_t batch_rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  thalweg::ReadOptions options;
  options.paths = {path};
  const auto data = thalweg::DataSet::open(options);
  if (!data) return std::fprintf(stderr, "%s\n", data.status().message().c_str()), 1;
  std::vector<double> rates, processor_rates;
  Sums sums;
  for (int pass = 0; pass < 6; ++pass) {
    const auto reader = (*data)->reader(thalweg::ShardId{0}, 1);
    if (!reader) return std::fprintf(stderr, "%s\n", reader.status().message().c_str()), 1;
    sums = {};
    const std::clock_t used = std::clock();
    const auto start = std::chrono::steady_clock::now();
    if (!read_all(**reader, batch_rows, sums)) return 1;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double processor_seconds = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
    if (pass == 0) continue;
    rates.push_back(static_cast<double>(sums.rows) / seconds);
    processor_rates.push_back(static_cast<double>(sums.rows) / processor_seconds);
  }
  std::sort(rates.begin(), rates.end());
  std::sort(processor_rates.begin(), processor_rates.end());
  std::printf("%s: %s, rows %llu, entries %llu, sum of keys %llu\n", path.c_str(),
              (*data)->description().c_str(), static_cast<unsigned long long>(sums.rows),
              static_cast<unsigned long long>(sums.entries), static_cast<unsigned long long>(sums.keys));
  std::printf("rows/s %.0f (%.0f to %.0f), per processor second %.0f (%.0f to %.0f), MB/s %.0f\n", rates[2],
              rates.front(), rates.back(), processor_rates[2], processor_rates.front(),
              processor_rates.back(),
              rates[2] / static_cast<double>(sums.rows) * static_cast<double>((*data)->total_bytes()) / 1e6);
  if (made) std::filesystem::remove(path);
  return 0;
}
