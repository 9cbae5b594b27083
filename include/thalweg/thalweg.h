/* Thalweg for C, and for languages that call C: groups of ranks that exchange vectors. The library is
 * libthalweg_c; it exports what is declared here and nothing else.
 *
 * Functions return THALWEG_OK or a code that says what to do; thalweg_message() then says what went wrong on
 * this thread. Nothing throws. Handles belong to the caller. One thread at a time uses a group; different
 * groups may be used by different threads. thalweg/group.h says more about each operation. */
#ifndef THALWEG_THALWEG_H
#define THALWEG_THALWEG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THALWEG_ABI_VERSION 1
/* Of the library in use; a program that was built for another one should stop. */
uint32_t thalweg_abi_version(void);

typedef enum {
  THALWEG_OK = 0,
  THALWEG_USAGE = 1,     /* The call cannot be right: change it. */
  THALWEG_CONFIG = 2,    /* A variable of the environment is wrong. */
  THALWEG_IO = 4,        /* The operating system refused. */
  THALWEG_REFUSED = 5,   /* Another rank does something else. */
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
  THALWEG_POINT_TO_POINT = 9
} thalweg_operation;

/* A reduction of your own: sets each of `count` elements of `into` to its combination with the one of `from`.
 * Commutative and associative; may be called from any thread. */
typedef struct {
  const char* name;
  size_t element_bytes;
  void (*combine)(void* into, const void* from, size_t count, void* context);
  void* context;
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

/* One operation on a vector of `count` elements. Set all to zero, then `struct_bytes`, then what is needed.
 */
typedef struct {
  size_t struct_bytes; /* sizeof(thalweg_call) */
  thalweg_operation operation;
  const void* in; /* What this rank contributes; null where it has nothing to. */
  void* out;      /* Where the result goes; may be `in`. */
  size_t count;   /* Elements of the whole vector; all-to-all: of what this rank contributes. */
  thalweg_type type;
  thalweg_reduction reduction;
  const thalweg_monoid* monoid; /* Instead of type and reduction; null: those. */
  uint32_t root;                /* Point to point: who sends. */
  uint32_t peer;                /* Point to point: who receives. */
  const size_t* counts;         /* Elements of each rank's part, `size` numbers; null: nearly equal parts. */
  const size_t* counts_out;     /* All-to-all: of the part from each rank. */
  const char* route;            /* "ring", "tree:4", ...; null: the group chooses. All ranks alike. */
  double timeout_seconds;       /* 0: the group's. */
} thalweg_call;

thalweg_code thalweg_run(thalweg_group* group, const thalweg_call* call);
/* Begins it; several may be under way. Buffers stay as they are until it has ended. */
thalweg_code thalweg_start(thalweg_group* group, const thalweg_call* call, thalweg_work** work);
int thalweg_done(const thalweg_work* work);
/* Blocks until it has ended, says how, and frees `work`. */
thalweg_code thalweg_wait(thalweg_work* work);

/* The most used ones, by all ranks with equal counts. */
thalweg_code thalweg_all_reduce(thalweg_group* group, const void* in, void* out, size_t count,
                                thalweg_type type, thalweg_reduction reduction);
thalweg_code thalweg_broadcast(thalweg_group* group, void* data, size_t count, thalweg_type type,
                               uint32_t root);
thalweg_code thalweg_barrier(thalweg_group* group);
thalweg_code thalweg_send(thalweg_group* group, const void* data, size_t count, thalweg_type type,
                          uint32_t to);
thalweg_code thalweg_receive(thalweg_group* group, void* data, size_t count, thalweg_type type,
                             uint32_t from);

/* Memory that the ranks of one machine share, so that large operations on it copy less: 64-byte aligned,
 * zeroed. Freed with the group at the latest. Null: see thalweg_message(). */
void* thalweg_allocate(thalweg_group* group, size_t bytes);
void thalweg_free(thalweg_group* group, void* memory);

#ifdef __cplusplus
}
#endif

#endif
