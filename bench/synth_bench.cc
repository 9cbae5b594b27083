// How fast the Criteo-shaped set is made. Usage: synth_bench FILE [ROWS] [SEED] [libsvm|libffm|criteo].
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "data/synth.h"

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: synth_bench FILE [ROWS] [SEED] [FORMAT]\n"), 2;
  thalweg::SynthOptions options;
  options.rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  options.seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  options.format = argc > 4 ? argv[4] : "libsvm";
  std::ofstream file(argv[1], std::ios::binary);
  const auto start = std::chrono::steady_clock::now();
  const auto report = thalweg::synthesize(options, file);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!report) return std::fprintf(stderr, "%s\n", report.status().message().c_str()), 1;
  std::printf("rows %llu, positive %.4f, bytes %llu, ids %llu, oracle AUC %.5f, logloss %.5f, rows/s %.0f\n",
              static_cast<unsigned long long>(report->rows),
              static_cast<double>(report->positives) / static_cast<double>(report->rows),
              static_cast<unsigned long long>(report->bytes), static_cast<unsigned long long>(report->ids),
              report->oracle_auc, report->oracle_logloss, static_cast<double>(report->rows) / seconds);
  return 0;
}
