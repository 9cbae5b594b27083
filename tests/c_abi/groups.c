/* A rank in C: parts of groups, several kinds of sums, gradients, and a group after the loss of a rank. */
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

static thalweg_call call_of(thalweg_operation operation, const void* in, void* out, size_t count,
                            thalweg_type type) {
  thalweg_call call;
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  call.operation = operation;
  call.in = in;
  call.out = out;
  call.count = count;
  call.type = type;
  return call;
}

/* More than there may be at a time. */
static void split(thalweg_group* group, uint32_t rank) {
  int i;
  for (i = 0; i < 20; ++i) {
    thalweg_group* half;
    int64_t sum = rank;
    must(thalweg_split(group, (int32_t)(rank % 2), -(int64_t)rank, &half), "split");
    check(thalweg_size(half) == 2 && thalweg_rank(half) == (rank < 2 ? 1u : 0u), "the ranks of a half");
    must(thalweg_all_reduce(half, &sum, &sum, 1, THALWEG_I64, THALWEG_SUM), "all-reduce in a half");
    check(sum == (rank % 2 == 0 ? 2 : 4), "the sum of a half");
    thalweg_leave(half);
  }
  {
    thalweg_group* none;
    must(thalweg_split(group, -1, 0, &none), "split into nothing");
    check(none == NULL, "no group for a negative colour");
  }
}

static void gather_in_place(thalweg_group* group, uint32_t rank, uint32_t size) {
  int32_t all[10];
  size_t begin, count, i;
  uint32_t r;
  thalweg_call call;
  thalweg_part(group, 10, rank, &begin, &count);
  for (i = 0; i < count; ++i) all[begin + i] = (int32_t)rank;
  call = call_of(THALWEG_ALL_GATHER, all + begin, all, 10, THALWEG_I32);
  call.route = "ring";
  call.piece_bytes = 8;
  call.channels = 2;
  must(thalweg_run(group, &call), "all-gather in place");
  for (r = 0; r < size; ++r) {
    thalweg_part(group, 10, r, &begin, &count);
    for (i = 0; i < count; ++i) check(all[begin + i] == (int32_t)r, "a gathered part");
  }
  if (rank == 0) return;
  call.in = all; /* Not where this rank's part is. */
  check(thalweg_run(group, &call) == THALWEG_USAGE, "an overlap is refused");
  check(strstr(thalweg_message(), "in == out + ") != NULL, "its message");
  call.route = NULL;
  check(thalweg_run(group, &call) == THALWEG_USAGE, "tuning without a route is refused");
}

/* A ring of four, at once and as work; and what cannot be. */
static void exchange_with_neighbours(thalweg_group* group, uint32_t rank, uint32_t size) {
  const uint32_t beside[2] = {(rank + size - 1) % size, (rank + 1) % size};
  const float mine[2] = {(float)rank, (float)(10 * rank)};
  float theirs[4];
  thalweg_work* work;
  int k, round;
  thalweg_call call = call_of(THALWEG_NEIGHBOURS, mine, theirs, 2, THALWEG_F32);
  for (round = 0; round < 2; ++round) {
    memset(theirs, 0, sizeof theirs);
    if (round == 0) {
      must(thalweg_exchange_with(group, beside, 2, mine, theirs, 2, THALWEG_F32), "exchange");
    } else {
      call.neighbours = beside;
      call.neighbour_count = 2;
      must(thalweg_start(group, &call, &work), "start of an exchange");
      must(thalweg_wait(work), "wait for an exchange");
    }
    for (k = 0; k < 2; ++k)
      check(theirs[2 * k] == (float)beside[k] && theirs[2 * k + 1] == (float)(10 * beside[k]), "a neighbour's");
  }
  call.neighbours = NULL;
  check(thalweg_run(group, &call) == THALWEG_USAGE, "neighbours that are nowhere are refused");
  check(strstr(thalweg_message(), "call.neighbours is null") != NULL, "its message");
  call = call_of(THALWEG_ALL_REDUCE, mine, theirs, 2, THALWEG_F32);
  call.neighbours = beside;
  call.neighbour_count = 2;
  check(thalweg_run(group, &call) == THALWEG_USAGE, "neighbours of an all-reduce are refused");
}

/* x -> slope x + offset, first `into`, then `from`. */
static void compose(void* into, const void* from, size_t count, void* context) {
  int64_t* a = (int64_t*)into;
  const int64_t* b = (const int64_t*)from;
  size_t i;
  (void)context;
  for (i = 0; i < count; ++i) {
    a[2 * i] *= b[2 * i];
    a[2 * i + 1] = b[2 * i] * a[2 * i + 1] + b[2 * i + 1];
  }
}

static void sums(thalweg_group* group, uint32_t rank) {
  double mean = 10.0 * rank;
  float one[4], other[4], sum[4];
  const void* both[2];
  int64_t map[2];
  size_t i;
  thalweg_monoid monoid = {"composition", 16, compose, NULL, 1};
  thalweg_call call = call_of(THALWEG_ALL_REDUCE, map, map, 1, THALWEG_I64);

  must(thalweg_weighted_mean(group, &mean, &mean, 1, THALWEG_F64, rank), "weighted mean");
  check(mean > 23.333333 && mean < 23.333334, "a weighted mean");
  check(thalweg_weighted_mean(group, &mean, &mean, 1, THALWEG_I64, 1) == THALWEG_USAGE, "a mean of integers");
  check(thalweg_weighted_mean(group, NULL, &mean, 1, THALWEG_F64, 1) == THALWEG_USAGE, "a mean of nothing");
  check(thalweg_weighted_mean(group, &mean, &mean, SIZE_MAX, THALWEG_F64, 1) == THALWEG_USAGE,
        "a mean of more than there is");

  for (i = 0; i < 4; ++i) one[i] = (float)rank, other[i] = (float)rank + 0.5f;
  both[0] = one;
  both[1] = other;
  must(thalweg_reproducible_sum(group, both, 2, sum, 4, THALWEG_F32), "reproducible sum");
  for (i = 0; i < 4; ++i) check(sum[i] == 14.0f, "a reproducible sum");
  check(thalweg_reproducible_sum(group, both, 2, NULL, 4, THALWEG_F32) == THALWEG_USAGE, "a sum for nobody");
  both[1] = NULL;
  check(thalweg_reproducible_sum(group, both, 2, sum, 4, THALWEG_F32) == THALWEG_USAGE, "a sum of nothing");

  map[0] = rank + 2;
  map[1] = rank;
  call.monoid = &monoid;
  must(thalweg_run(group, &call), "composition");
  check(map[0] == 2 * 3 * 4 * 5 && map[1] == ((0 * 3 + 1) * 4 + 2) * 5 + 3, "the order of ranks");
  call.route = "ring";
  check(thalweg_run(group, &call) == THALWEG_USAGE, "a route that does not keep it");
}

/* Operations of several calls, side by side. */
static void start_sums(thalweg_group* group, uint32_t rank, uint32_t size) {
  double mean = 10.0 * rank;
  float one[2], sum[2];
  const void* vectors[1];
  const uint64_t keys[2] = {rank, 100};
  const float rows[2] = {0.5f, 2.0f};
  thalweg_sparse_rows* sparse_sum = NULL;
  thalweg_work *first, *second, *third;
  one[0] = one[1] = (float)rank;
  vectors[0] = one;
  must(thalweg_start_weighted_mean(group, &mean, &mean, 1, THALWEG_F64, rank, &first), "start of a mean");
  must(thalweg_start_reproducible_sum(group, vectors, 1, sum, 2, THALWEG_F32, &second), "start of a sum");
  must(thalweg_start_all_reduce_sparse(group, keys, rows, 2, 1, THALWEG_SUM, &sparse_sum, &third),
       "start of a sparse sum");
  must(thalweg_wait(third), "wait for a sparse sum");
  must(thalweg_wait(second), "wait for a sum");
  must(thalweg_wait(first), "wait for a mean");
  check(mean > 23.333333 && mean < 23.333334, "a started mean");
  check(sum[0] == 6.0f && sum[1] == 6.0f, "a started sum");
  check(thalweg_sparse_count(sparse_sum) == size + 1, "the keys of a started sum");
  check(thalweg_sparse_values(sparse_sum)[size] == 2.0f * (float)size, "the row of a started sum");
  thalweg_sparse_free(sparse_sum);
}

/* The same sum three times, of other numbers. */
static void prepare(thalweg_group* group, uint32_t rank) {
  float data[3];
  thalweg_prepared* prepared;
  thalweg_work* work;
  int round;
  const thalweg_call call = call_of(THALWEG_ALL_REDUCE, data, data, 3, THALWEG_F32);
  must(thalweg_prepare(group, &call, &prepared), "prepare");
  for (round = 0; round < 3; ++round) {
    data[2] = (float)rank + (float)round;
    if (round < 2) {
      must(thalweg_run_prepared(prepared), "run of a prepared sum");
    } else {
      must(thalweg_start_prepared(prepared, &work), "start of a prepared sum");
      must(thalweg_wait(work), "wait for a prepared sum");
    }
    check(data[2] == 6.0f + 4.0f * (float)round, "a prepared sum");
  }
  thalweg_free_prepared(prepared);
}

/* Every rank has a key of its own and one that all have. */
static void sparse(thalweg_group* group, uint32_t rank, uint32_t size) {
  uint64_t keys[2];
  const float rows[4] = {1.0f, (float)rank, 0.5f, 0.25f};
  thalweg_sparse_rows* sum = NULL;
  uint32_t r;
  int round;
  keys[0] = 5 + rank;
  keys[1] = (uint64_t)1 << 40;
  for (round = 0; round < 2; ++round) {
    must(thalweg_all_reduce_sparse(group, keys, rows, 2, 2, round == 0 ? THALWEG_SUM : THALWEG_MEAN, &sum),
         "sparse");
    check(thalweg_sparse_count(sum) == size + 1, "the union of the keys");
    for (r = 0; r < size; ++r) {
      const float share = round == 0 ? 1.0f : 1.0f / (float)size;
      check(thalweg_sparse_keys(sum)[r] == 5 + r, "a key of one rank");
      check(thalweg_sparse_values(sum)[2 * r + 1] == share * (float)r, "a row of one rank");
    }
    check(thalweg_sparse_values(sum)[2 * size] == (round == 0 ? 2.0f : 0.5f), "a row of all");
  }
  thalweg_sparse_free(sum);
  keys[1] = keys[0];
  sum = NULL;
  check(thalweg_all_reduce_sparse(group, keys, rows, 2, 2, THALWEG_SUM, &sum) == THALWEG_USAGE,
        "a key twice");
  check(sum == NULL && strstr(thalweg_message(), "key 1 is") != NULL, "its message");
}

static void gradients(thalweg_group* group, uint32_t rank) {
  const thalweg_tensor tensors[3] = {{"embedding", 5}, {"hidden", 7}, {"out", 3}};
  thalweg_gradient_options options;
  thalweg_gradient_stats stats;
  thalweg_gradients* all;
  size_t t, i;
  must(thalweg_gradient_defaults(THALWEG_THRESHOLD, &options), "defaults");
  check(options.bucket_bytes == (uint64_t)64 << 20, "the threshold's bytes");
  options.reduction = THALWEG_SUM;
  must(thalweg_gradients_create(group, tensors, 3, &options, &all), "gradients");
  for (t = 3; t-- > 0;) {
    float* tensor = (float*)thalweg_gradients_tensor(all, t);
    check(tensor != NULL, "a tensor");
    for (i = 0; i < tensors[t].elements; ++i) tensor[i] = (float)(rank + t);
    must(thalweg_gradients_announce(all, t), "announce");
  }
  must(thalweg_gradients_wait(all, 0), "wait");
  must(thalweg_gradients_wait_all(all), "wait for all");
  for (t = 0; t < 3; ++t) {
    const float* tensor = (const float*)thalweg_gradients_tensor(all, t);
    for (i = 0; i < tensors[t].elements; ++i) check(tensor[i] == (float)(6 + 4 * t), "a summed gradient");
  }
  thalweg_gradients_stats(all, &stats);
  check(stats.pieces > 0, "pieces");
  check(thalweg_gradients_tensor(all, 3) == NULL, "a tensor that is not there");
  thalweg_gradients_destroy(all);
}

/* After the last rank has left. */
static void go_on(thalweg_group* group, uint32_t rank, uint32_t size) {
  thalweg_group* anew;
  int64_t sum = 1;
  check(thalweg_barrier(group) == THALWEG_PEER_LOST, "a lost rank");
  check(thalweg_status(group) == THALWEG_PEER_LOST, "the group's status");
  must(thalweg_regroup(group, &anew), "regroup");
  check(thalweg_size(anew) == size - 1 && thalweg_rank(anew) == rank, "the group anew");
  must(thalweg_all_reduce(anew, &sum, &sum, 1, THALWEG_I64, THALWEG_SUM), "all-reduce anew");
  check(sum == (int64_t)size - 1, "the sum anew");
  thalweg_leave(anew);
}

int main(void) {
  thalweg_options options;
  thalweg_group* group;
  uint32_t rank, size;
  must(thalweg_options_from(getenv, &options), "options");
  must(thalweg_join(&options, &group), "join");
  rank = thalweg_rank(group);
  size = thalweg_size(group);
  check(size == 4, "four ranks");
  must(thalweg_status(group), "status");
  split(group, rank);
  gather_in_place(group, rank, size);
  exchange_with_neighbours(group, rank, size);
  sums(group, rank);
  prepare(group, rank);
  sparse(group, rank, size);
  start_sums(group, rank, size);
  gradients(group, rank);
  if (rank + 1 < size) go_on(group, rank, size);
  thalweg_leave(group);
  printf("rank %u of %u: fine\n", rank, size);
  return 0;
}
