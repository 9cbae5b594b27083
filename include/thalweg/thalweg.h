/* Thalweg for C, and for languages that call C: groups of ranks that exchange vectors, and gradients that
 * they exchange while more are computed. The library is libthalweg_c; it exports what is declared here and
 * nothing else.
 *
 * Functions return THALWEG_OK or a code that says what to do; thalweg_message() then says what went wrong on
 * this thread. Nothing throws. Handles belong to the caller. One thread at a time uses a group; different
 * groups may be used by different threads. thalweg/group.h and thalweg/gradients.h say more about each call.
 */
#ifndef THALWEG_THALWEG_H
#define THALWEG_THALWEG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): this is C. */

#define THALWEG_ABI_VERSION 2
/* Of the library in use; a program that was built for another one should stop. */
uint32_t thalweg_abi_version(void);

typedef enum {
  THALWEG_OK = 0,
  THALWEG_USAGE = 1,     /* The call cannot be right: change it. */
  THALWEG_CONFIG = 2,    /* A variable of the environment is wrong. */
  THALWEG_IO = 4,        /* The operating system refused. */
  THALWEG_REFUSED = 5,   /* Another rank does something else. */
  THALWEG_RETRY = 6,     /* Too many at a time: end one first. Nothing was sent. */
  THALWEG_PEER_LOST = 8, /* A rank is gone; the message names it. Form another group without it. */
  THALWEG_TIMEOUT = 9,   /* A rank was waited for in vain; the message names it. */
  THALWEG_ABORTED = 12
} thalweg_code;

/* What went wrong in this thread's last call that failed; "" before one did. Valid until the next failure. */
const char* thalweg_message(void);

typedef enum {
  THALWEG_F32 = 0,
  THALWEG_F64 = 1,
  THALWEG_F16 = 2,
  THALWEG_BF16 = 3,
  THALWEG_I32 = 4,
  THALWEG_I64 = 5,
  THALWEG_U64 = 6
} thalweg_type;

typedef enum {
  THALWEG_SUM = 0,
  THALWEG_MEAN = 1,
  THALWEG_MIN = 2,
  THALWEG_MAX = 3,
  THALWEG_PRODUCT = 4,
  THALWEG_AND = 5,
  THALWEG_OR = 6,
  THALWEG_REPRODUCIBLE_SUM = 7 /* Bits that depend on the contributions alone. f32 and f64. */
} thalweg_reduction;

typedef enum {
  THALWEG_ALL_REDUCE = 0,
  THALWEG_REDUCE = 1,
  THALWEG_REDUCE_SCATTER = 2,
  THALWEG_ALL_GATHER = 3,
  THALWEG_BROADCAST = 4,
  THALWEG_GATHER = 5,
  THALWEG_SCATTER = 6,
  THALWEG_ALL_TO_ALL = 7,
  THALWEG_BARRIER = 8,
  THALWEG_POINT_TO_POINT = 9,
  THALWEG_NEIGHBOURS = 10
} thalweg_operation;

/* A reduction of your own: sets each of `count` elements of `into` to its combination with the one of `from`.
 * Associative; may be called from any thread. */
typedef struct {
  const char* name;
  size_t element_bytes;
  void (*combine)(void* into, const void* from, size_t count, void* context);
  void* context;
  int ordered; /* Not 0: it is not commutative, and combines in the order of ranks; see docs/exchange.md. */
} thalweg_monoid;

typedef struct thalweg_group thalweg_group;
typedef struct thalweg_work thalweg_work;

/* How a rank joins. Set all to zero, then `struct_bytes`, then what differs; or use thalweg_options_from().
 */
typedef struct {
  size_t struct_bytes;     /* sizeof(thalweg_options) */
  uint32_t rank;           /* Below `size`. */
  uint32_t size;           /* Ranks of the group. */
  const char* master_host; /* Where rank 0 listens; null: 127.0.0.1. */
  uint16_t master_port;    /* 0: 29500. */
  const char* group;       /* A name that all ranks give alike; null: "default". */
  double timeout_seconds;  /* Of joining and of each operation; 0: 60. */
  const char* transport;   /* "auto", "shm", "tcp" or "ucx"; null: auto. */
  int insecure_no_auth;    /* Not 0 accepts that other machines can reach what listens; rank 0 warns of it. */
  const char* secret_file; /* The group's secret, 32 hexadecimal digits that only the file's owner can use,
                              the same for all ranks; null: this user's own, none with `insecure_no_auth`. */
  int listener;            /* Rank 0: a socket that listens there already; 0: rank 0 listens itself. */
  const char* costs_file;  /* What `thalweg topo bench --costs` wrote of this machine, by which routes are
                              chosen;  null: what one machine took. */
} thalweg_options;

/* Options as launchers (thalweg run, torchrun, mpirun, srun) put them into the environment. `variable` looks
 * one up and returns null when it is not set: pass getenv. What `options` points to lives as long as the
 * thread. */
thalweg_code thalweg_options_from(char* (*variable)(const char* name), thalweg_options* options);
/* Blocks until all ranks have joined. */
thalweg_code thalweg_join(const thalweg_options* options, thalweg_group** group);
/* Waits for what was started. Null is fine. */
void thalweg_leave(thalweg_group* group);
uint32_t thalweg_rank(const thalweg_group* group);
uint32_t thalweg_size(const thalweg_group* group);
/* THALWEG_OK, or why the group can no longer be used. */
thalweg_code thalweg_status(const thalweg_group* group);
/* The group of the ranks that give the same colour, ordered by `key` and then by rank; all ranks call it.
 * Null for a negative colour. At most 15 at a time of a rank: THALWEG_RETRY. To be left like any other. */
thalweg_code thalweg_split(thalweg_group* group, int32_t colour, int64_t key, thalweg_group** child);
/* After a failure: the whole group anew, without the ranks that are lost, have left or do not call this in
 * time. The old one serves no more but for its memory, and is still to be left. */
thalweg_code thalweg_regroup(thalweg_group* group, thalweg_group** anew);
/* The part of a vector of `count` elements that belongs to `rank`. */
void thalweg_part(const thalweg_group* group, size_t count, uint32_t rank, size_t* begin, size_t* part_count);

/* One operation on a vector of `count` elements. Set all to zero, then `struct_bytes`, then what is needed.
 */
typedef struct {
  size_t struct_bytes; /* sizeof(thalweg_call) */
  thalweg_operation operation;
  const void* in; /* What this rank contributes; null where it has nothing to. */
  /* Where the result goes. In place, as in NCCL: `in` == `out`; all-gather, gather: `in` is the rank's own
   * part of `out`; reduce-scatter, scatter: `out` is that part of `in`. Other overlaps are refused. */
  void* out;
  size_t count; /* Elements of the whole vector; all-to-all: of what this rank contributes. */
  thalweg_type type;
  thalweg_reduction reduction;
  const thalweg_monoid* monoid; /* Instead of type and reduction; null: those. */
  uint32_t root;                /* Point to point: who sends. */
  uint32_t peer;                /* Point to point: who receives. */
  const size_t* counts;         /* Elements of each rank's part, `size` numbers; null: nearly equal parts. */
  const size_t* counts_out;     /* All-to-all: of the part from each rank. */
  const char* route;            /* "ring", "tree:4", ...; null: the group chooses. All ranks alike.
                                   Servers of an all-reduce pass null for `in` and `out`. */
  double timeout_seconds;       /* 0: the group's. */
  size_t piece_bytes;           /* With a route: its blocks travel in pieces of this size; 0: whole. */
  uint32_t channels;            /* With a route: parts of the vector that travel side by side; 0: one. */
  const uint32_t* neighbours; /* Neighbours: with whom, who name this rank as well; `out` gets their vectors,
                                 one behind the other. Copied by the call. */
  size_t neighbour_count;     /* 0: this rank has nobody to talk to. */
} thalweg_call;

thalweg_code thalweg_run(thalweg_group* group, const thalweg_call* call);
/* Begins it; 64 may be under way in a group, THALWEG_RETRY beyond. Buffers stay as they are until it has
 * ended. */
thalweg_code thalweg_start(thalweg_group* group, const thalweg_call* call, thalweg_work** work);
int thalweg_done(const thalweg_work* work);
/* Blocks until it has ended, says how, and frees `work`. */
thalweg_code thalweg_wait(thalweg_work* work);

/* The call, planned, checked and given its memory once, to be done as often as wanted on the same buffers: as
 * run or started, and matching ranks that do either without it. One at a time. To be freed before its group
 * is left; that waits for what was started, and null is fine. No reproducible sums. */
typedef struct thalweg_prepared thalweg_prepared;
thalweg_code thalweg_prepare(thalweg_group* group, const thalweg_call* call, thalweg_prepared** prepared);
thalweg_code thalweg_run_prepared(thalweg_prepared* prepared);
thalweg_code thalweg_start_prepared(thalweg_prepared* prepared, thalweg_work** work);
void thalweg_free_prepared(thalweg_prepared* prepared);

/* The most used ones, by all ranks with equal counts. */
thalweg_code thalweg_all_reduce(thalweg_group* group, const void* in, void* out, size_t count,
                                thalweg_type type, thalweg_reduction reduction);
thalweg_code thalweg_broadcast(thalweg_group* group, void* data, size_t count, thalweg_type type,
                               uint32_t root);
thalweg_code thalweg_barrier(thalweg_group* group);
thalweg_code thalweg_send(thalweg_group* group, const void* data, size_t count, thalweg_type type,
                          uint32_t to);
/* `in` goes to each neighbour, and theirs come into `out`, count elements each in the order of `neighbours`.
 * All ranks call it. */
thalweg_code thalweg_exchange_with(thalweg_group* group, const uint32_t* neighbours, size_t neighbour_count,
                                   const void* in, void* out, size_t count, thalweg_type type);
thalweg_code thalweg_receive(thalweg_group* group, void* data, size_t count, thalweg_type type,
                             uint32_t from);

/* out[i] = the sum over ranks of weight * in[i], divided by the sum of weights; f32 and f64.
   Weights are >= 0, and their sum is finite and above 0. */
thalweg_code thalweg_weighted_mean(thalweg_group* group, const void* in, void* out, size_t count,
                                   thalweg_type type, double weight);
/* out = the sum of all ranks' contributions, here `vectors` of them of `count` elements each, with bits that
 * depend on the set of contributions alone; f32 and f64. At most 65535 in all. */
thalweg_code thalweg_reproducible_sum(thalweg_group* group, const void* const* contributions, size_t vectors,
                                      void* out, size_t count, thalweg_type type);

/* The same, started; `contributions` may go, but not the vectors. */
thalweg_code thalweg_start_weighted_mean(thalweg_group* group, const void* in, void* out, size_t count,
                                         thalweg_type type, double weight, thalweg_work** work);
thalweg_code thalweg_start_reproducible_sum(thalweg_group* group, const void* const* contributions,
                                            size_t vectors, void* out, size_t count, thalweg_type type,
                                            thalweg_work** work);

/* Rows by key, added up over all ranks. Each brings `count` keys, strictly ascending, with `dim` floats for
 * each; all get the union of the keys, ascending, with their sums or means, and the same bits. Keys alone:
 * `dim` is 0.
 * `*sum` is null or that of an earlier call, whose memory is used again. */
typedef struct thalweg_sparse_rows thalweg_sparse_rows;
thalweg_code thalweg_all_reduce_sparse(thalweg_group* group, const uint64_t* keys, const float* rows,
                                       size_t count, size_t dim, thalweg_reduction reduction,
                                       thalweg_sparse_rows** sum);
/* The same, started: `*sum` is made, if need be, and is not to be looked at before the end. */
thalweg_code thalweg_start_all_reduce_sparse(thalweg_group* group, const uint64_t* keys, const float* rows,
                                             size_t count, size_t dim, thalweg_reduction reduction,
                                             thalweg_sparse_rows** sum, thalweg_work** work);
size_t thalweg_sparse_count(const thalweg_sparse_rows* sum);
const uint64_t* thalweg_sparse_keys(const thalweg_sparse_rows* sum);
const float* thalweg_sparse_values(const thalweg_sparse_rows* sum);
/* Null is fine. */
void thalweg_sparse_free(thalweg_sparse_rows* sum);

/* Memory that the ranks of one machine share, so that large operations on it copy less: 64-byte aligned,
 * zeroed. Freed with the group at the latest. Null: see thalweg_message(). */
void* thalweg_allocate(thalweg_group* group, size_t bytes);
void thalweg_free(thalweg_group* group, void* memory);

/* Gradients that travel while the backward pass still computes; docs/gradients.md. */
typedef struct thalweg_gradients thalweg_gradients;
typedef struct {
  const char* name;
  uint64_t elements;
} thalweg_tensor;
typedef enum {
  THALWEG_BUCKETS = 0,  /* Fixed buckets, filled in reverse order of registration. */
  THALWEG_THRESHOLD = 1 /* Neighbours that happen to be ready everywhere at once. */
} thalweg_fusion;
typedef struct {
  size_t struct_bytes; /* sizeof(thalweg_gradient_options) */
  thalweg_fusion fusion;
  uint64_t bucket_bytes; /* Most bytes fused; 0: every tensor travels alone. */
  uint64_t piece_bytes;  /* Of what travels between two that may go ahead; 0: whole. */
  uint64_t credit_bytes; /* Most under way at once; 0: no limit. */
  double stall_seconds;  /* A tensor that some ranks have announced for so long, and others not, ends the
                            exchange. */
  thalweg_type type;
  thalweg_reduction reduction;
  const char* codec; /* "top-k:0.01", ...; null: none. */
} thalweg_gradient_options;
typedef struct {
  uint64_t buckets, units, pieces, in_flight_bytes_max;
} thalweg_gradient_stats;

/* The defaults of one way of fusion, to be changed. */
thalweg_code thalweg_gradient_defaults(thalweg_fusion fusion, thalweg_gradient_options* options);
/* Tensors in the order of the forward pass, the same on all ranks. `options`: null for those of buckets. */
thalweg_code thalweg_gradients_create(thalweg_group* group, const thalweg_tensor* tensors, size_t count,
                                      const thalweg_gradient_options* options, thalweg_gradients** gradients);
/* Before its group is left. Null is fine. */
void thalweg_gradients_destroy(thalweg_gradients* gradients);
/* A tensor's elements, in memory of the group, zero at first; null: no such tensor. */
void* thalweg_gradients_tensor(thalweg_gradients* gradients, size_t number);
/* The tensor holds this rank's contribution, and nobody touches it until it was waited for. Never blocks. */
thalweg_code thalweg_gradients_announce(thalweg_gradients* gradients, size_t number);
thalweg_code thalweg_gradients_announce_all(thalweg_gradients* gradients);
/* Returns when the tensor holds the combination of all ranks' contributions. */
thalweg_code thalweg_gradients_wait(thalweg_gradients* gradients, size_t number);
thalweg_code thalweg_gradients_wait_all(thalweg_gradients* gradients);
/* While none is under way. */
void thalweg_gradients_stats(const thalweg_gradients* gradients, thalweg_gradient_stats* stats);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */
#ifdef __cplusplus
}
#endif

#endif
