/* A rank in C, by what a launcher put into the environment: every kind of call once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thalweg/thalweg.h"

static void must(thalweg_code code, const char* what) {
  if (code == THALWEG_OK) return;
  fprintf(stderr, "%s: code %d: %s\n", what, (int)code, thalweg_message());
  exit(1);
}
static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "wrong result: %s\n", what);
  exit(1);
}

static void longest(void* into, const void* from, size_t count, void* context) {
  char(*a)[8] = (char(*)[8])into;
  const char(*b)[8] = (const char(*)[8])from;
  size_t i;
  ++*(int*)context;
  for (i = 0; i < count; ++i) {
    if (strlen(b[i]) > strlen(a[i])) memcpy(a[i], b[i], sizeof a[i]);
  }
}

static char* launcher(const char* name) {
  static char transport[] = "tcp", costs[] = "costs.toml";
  if (strcmp(name, "THALWEG_TRANSPORT") == 0) return transport;
  return strcmp(name, "THALWEG_COSTS_FILE") == 0 ? costs : NULL;
}

int main(void) {
  thalweg_options options;
  thalweg_group* group;
  thalweg_work* work;
  thalweg_call call;
  thalweg_monoid monoid = {"longest word", 8, longest, NULL, 0};
  uint32_t rank, size;
  int calls = 0;
  float* numbers;
  double mean;
  char word[8] = "";
  size_t i;

  check(thalweg_abi_version() == THALWEG_ABI_VERSION, "the library's version");
  must(thalweg_options_from(launcher, &options), "a launcher's options");
  check(strcmp(options.transport, "tcp") == 0, "the transport of a launcher");
  check(strcmp(options.costs_file, "costs.toml") == 0, "the costs file of a launcher");
  must(thalweg_options_from(getenv, &options), "options");
  must(thalweg_join(&options, &group), "join");
  rank = thalweg_rank(group);
  size = thalweg_size(group);

  numbers = (float*)thalweg_allocate(group, 100000 * sizeof *numbers);
  check(numbers != NULL, "allocated memory");
  for (i = 0; i < 100000; ++i) numbers[i] = (float)(rank + 1);
  must(thalweg_all_reduce(group, numbers, numbers, 100000, THALWEG_F32, THALWEG_SUM), "all-reduce");
  for (i = 0; i < 100000; ++i) check(numbers[i] == (float)(size * (size + 1) / 2), "a sum");

  mean = (double)rank;
  must(thalweg_all_reduce(group, &mean, &mean, 1, THALWEG_F64, THALWEG_MEAN), "mean");
  check(mean == (double)(size - 1) / 2, "a mean");

  for (i = 0; i <= rank; ++i) word[i] = (char)('a' + rank);
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  call.operation = THALWEG_ALL_REDUCE;
  call.in = word;
  call.out = word;
  call.count = 1;
  monoid.context = &calls;
  call.monoid = &monoid;
  call.route = "ring";
  must(thalweg_start(group, &call, &work), "start");
  must(thalweg_wait(work), "wait");
  check(strlen(word) == size, "the longest word");

  must(thalweg_barrier(group), "barrier");
  call.struct_bytes = 1;
  check(thalweg_run(group, &call) == THALWEG_USAGE, "a refused call");
  check(strstr(thalweg_message(), "struct_bytes") != NULL, "its message");
  thalweg_free(group, numbers);
  thalweg_leave(group);
  printf("rank %u of %u: fine\n", rank, size);
  return 0;
}
