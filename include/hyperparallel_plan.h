/* SPDX-License-Identifier: Apache-2.0
 *
 * Redistributions for other languages: a mesh, a tensor and two layouts in, the list of copies and its bound out. C99.
 *
 *   const char *axes[] = {"dp", "tp"};
 *   const int32_t sizes[] = {2, 4};
 *   const int64_t extents[] = {64, 64};
 *   hyperparallel_mesh mesh = {sizeof mesh, 2, axes, sizes, NULL};
 *   hyperparallel_tensor tensor = {sizeof tensor, 2, extents, 4};
 *   hyperparallel_plan *plan;
 *   char why[256];
 *   if (hyperparallel_plan_make(&mesh, "dp,None", NULL, "None,(tp,dp)", &tensor, &plan, why, sizeof why) != 0)
 *     fprintf(stderr, "%s\n", why);
 *
 * Each rank's blocks are its slices, row-major without gaps. A layout has an entry for each dim: None, an axis, or
 * several in brackets, the first the outermost; ~ before an entry pads the dim, () is that of a scalar. The list is the
 * library's own plan: every rank receives exactly the elements of its target block that it does not hold, which is the
 * least. Partial layouts are refused: a list of copies adds nothing up.
 *
 * What fails returns a status and, where a buffer is given, one line that names argument, axis, dim and sizes; it is cut
 * to the buffer and always ends. No exception, no signal and no output crosses this border. Plans do not change: any
 * number of threads may read one. Offsets and strides are elements; what is called bytes is bytes.
 *
 * Each struct begins with its size as the caller knows it, so that a later library may append members and still serve
 * a program that was built before: it reads and writes no more than that. A size below the one of this header is
 * refused.
 */
#ifndef HYPERPARALLEL_PLAN_H
#define HYPERPARALLEL_PLAN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(HYPERPARALLEL_PLAN_BUILDS)
#define HYPERPARALLEL_PLAN_API __declspec(dllexport)
#else
#define HYPERPARALLEL_PLAN_API __declspec(dllimport)
#endif
#else
#define HYPERPARALLEL_PLAN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes where a program that was built for another one does not run. Compare with hyperparallel_plan_abi(). */
#define HYPERPARALLEL_PLAN_ABI 1

#define HYPERPARALLEL_PLAN_DIMS 8

typedef enum hyperparallel_status {
  HYPERPARALLEL_OK = 0,
  HYPERPARALLEL_BAD_ARGUMENT = 1, /* a pointer that is NULL, a size, an extent, an index */
  HYPERPARALLEL_BAD_MESH = 2,     /* names, sizes or ranks of axes */
  HYPERPARALLEL_BAD_LAYOUT = 3,   /* cannot be read, or the tensor does not divide */
  HYPERPARALLEL_IS_PARTIAL = 4,   /* a layout whose terms wait */
  HYPERPARALLEL_TOO_LARGE = 5,    /* bytes leave 64 bits, or more copies than are listed */
  HYPERPARALLEL_NO_MEMORY = 6,
  HYPERPARALLEL_FAILED = 7 /* anything else; the message says what */
} hyperparallel_status;

/* Positions are row-major over the axes, the last one the fastest. */
typedef struct hyperparallel_mesh {
  size_t struct_size;
  int32_t axis_count;
  const char* const* axis_names;
  const int32_t* axis_sizes;
  const int32_t* ranks; /* the rank of each position; NULL: 0, 1, ... */
} hyperparallel_mesh;

typedef struct hyperparallel_tensor {
  size_t struct_size;
  int32_t dims;
  const int64_t* extents; /* of the whole tensor */
  int64_t element_bytes;
} hyperparallel_tensor;

/* A box from one block into another, and where it lies in either. Strides count elements. */
typedef struct hyperparallel_copy {
  size_t struct_size;
  int32_t sender;
  int32_t receiver; /* the sender itself where nothing is sent */
  int32_t dims;
  int64_t begin[HYPERPARALLEL_PLAN_DIMS]; /* in the whole tensor */
  int64_t extents[HYPERPARALLEL_PLAN_DIMS];
  int64_t source_offset; /* in the sender's source block */
  int64_t source_strides[HYPERPARALLEL_PLAN_DIMS];
  int64_t target_offset; /* in the receiver's target block */
  int64_t target_strides[HYPERPARALLEL_PLAN_DIMS];
} hyperparallel_copy;

typedef struct hyperparallel_block {
  size_t struct_size;
  int32_t rank;
  int32_t dims;
  int64_t begin[HYPERPARALLEL_PLAN_DIMS]; /* in the whole tensor */
  int64_t extents[HYPERPARALLEL_PLAN_DIMS];
  int64_t bytes;          /* of the block */
  int64_t received_bytes; /* of a target block: what others send */
  int64_t least_bytes;    /* what any program has to send it */
} hyperparallel_block;

typedef struct hyperparallel_summary {
  size_t struct_size;
  const char* kind; /* "all-gather", "exchange", ...; lives as long as the library is loaded */
  int64_t copies;
  int32_t source_blocks;
  int32_t target_blocks;
  int64_t received_bytes;      /* by all ranks */
  int64_t least_bytes;         /* by all ranks, in any program */
  int64_t most_received_bytes; /* by one rank */
  int64_t most_least_bytes;
  double ratio; /* received_bytes / least_bytes; 1 where nothing has to move */
} hyperparallel_summary;

typedef struct hyperparallel_plan hyperparallel_plan;

/* The ABI of the library that is loaded. */
HYPERPARALLEL_PLAN_API int32_t hyperparallel_plan_abi(void);

/* Plans the move. target_mesh NULL: that of the source. Writes the plan, or NULL where it fails; `why` may be NULL. */
HYPERPARALLEL_PLAN_API hyperparallel_status
hyperparallel_plan_make(const hyperparallel_mesh* source_mesh, const char* source_layout,
                        const hyperparallel_mesh* target_mesh, const char* target_layout,
                        const hyperparallel_tensor* tensor, hyperparallel_plan** plan, char* why, size_t why_size);

/* Of NULL nothing. */
HYPERPARALLEL_PLAN_API void hyperparallel_plan_free(hyperparallel_plan* plan);

/* The caller sets struct_size before each of these. */
HYPERPARALLEL_PLAN_API hyperparallel_status hyperparallel_plan_summary(const hyperparallel_plan* plan,
                                                                       hyperparallel_summary* summary);

/* 0 <= index < summary.copies, receiver by receiver in the order of the target's positions. */
HYPERPARALLEL_PLAN_API hyperparallel_status hyperparallel_plan_copy(const hyperparallel_plan* plan, int64_t index,
                                                                    hyperparallel_copy* copy);

/* What the position has before and after. */
HYPERPARALLEL_PLAN_API hyperparallel_status hyperparallel_plan_source_block(const hyperparallel_plan* plan,
                                                                            int32_t position,
                                                                            hyperparallel_block* block);
HYPERPARALLEL_PLAN_API hyperparallel_status hyperparallel_plan_target_block(const hyperparallel_plan* plan,
                                                                            int32_t position,
                                                                            hyperparallel_block* block);

#ifdef __cplusplus
}
#endif

#endif
