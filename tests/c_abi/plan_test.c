/* SPDX-License-Identifier: Apache-2.0
 *
 * hyperparallel_plan.h from C: plans are carried out on simulated ranks and compared with slices of the whole tensor,
 * which this file cuts by its own arithmetic. Every pair of layouts of a 2x2x2 mesh, of dims that divide and of padded
 * ones, other meshes and ranks, and every refusal.
 */
#include <hyperparallel_plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_axes = 3, most_dims = 3, most_ranks = 16, most_layouts = 128 };

static int failures = 0;

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                          \
    }                                                                      \
  } while (0)

/* A layout as this file understands it: the axes of each dim, outermost first, and its text. */
typedef struct {
  int count[most_dims];
  int axis[most_dims][most_axes];
  char text[128];
} layout;

typedef struct {
  int axes;
  int32_t size[most_axes];
  const char* name[most_axes];
  const int32_t* ranks;
} matrix;

static const char* const names[most_axes] = {"dp", "cp", "tp"};

static int positions_of(const matrix* m) {
  int n = 1;
  for (int a = 0; a < m->axes; ++a) n *= m->size[a];
  return n;
}

static hyperparallel_mesh mesh_of(const matrix* m) {
  hyperparallel_mesh mesh;
  mesh.struct_size = sizeof mesh;
  mesh.axis_count = m->axes;
  mesh.axis_names = m->name;
  mesh.axis_sizes = m->size;
  mesh.ranks = m->ranks;
  return mesh;
}

static int rank_of(const matrix* m, int position) { return m->ranks == NULL ? position : m->ranks[position]; }

static void write_text(layout* l, int dims, int padded) {
  l->text[0] = '\0';
  for (int d = 0; d < dims; ++d) {
    if (d > 0) strcat(l->text, ",");
    if (padded) strcat(l->text, "~");
    if (l->count[d] == 0) strcat(l->text, "None");
    if (l->count[d] > 1) strcat(l->text, "(");
    for (int i = 0; i < l->count[d]; ++i) {
      if (i > 0) strcat(l->text, ",");
      strcat(l->text, names[l->axis[d][i]]);
    }
    if (l->count[d] > 1) strcat(l->text, ")");
  }
}

/* All layouts: a dim is closed, or takes one of the axes that are left. */
static void enumerate(layout l, int dim, unsigned used, int dims, int padded, layout* all, int* count) {
  if (dim + 1 == dims) {
    all[*count] = l;
    write_text(&all[(*count)++], dims, padded);
  } else {
    enumerate(l, dim + 1, used, dims, padded, all, count);
  }
  for (int a = 0; a < most_axes; ++a) {
    if ((used >> a & 1u) != 0) continue;
    layout more = l;
    more.axis[dim][more.count[dim]++] = a;
    enumerate(more, dim, used | 1u << a, dims, padded, all, count);
  }
}

typedef struct {
  int64_t begin[most_dims];
  int64_t end[most_dims];
} slice;

static slice slice_of(const layout* l, const matrix* m, int dims, const int64_t* extents, int position) {
  slice s;
  for (int d = 0; d < dims; ++d) {
    int64_t piece = 0, pieces = 1;
    for (int i = 0; i < l->count[d]; ++i) {
      int below = 1;
      for (int a = l->axis[d][i] + 1; a < m->axes; ++a) below *= m->size[a];
      piece = piece * m->size[l->axis[d][i]] + position / below % m->size[l->axis[d][i]];
      pieces *= m->size[l->axis[d][i]];
    }
    const int64_t chunk = (extents[d] + pieces - 1) / pieces;
    s.begin[d] = piece * chunk < extents[d] ? piece * chunk : extents[d];
    s.end[d] = s.begin[d] + chunk < extents[d] ? s.begin[d] + chunk : extents[d];
  }
  return s;
}

static int64_t volume_of(const slice* s, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= s->end[d] - s->begin[d];
  return n;
}

/* The flat number, in the whole tensor, of element `k` of a slice. */
static int64_t number_of(const slice* s, int dims, const int64_t* extents, int64_t k) {
  int64_t number = 0, step = 1;
  for (int d = dims; d-- > 0;) {
    const int64_t n = s->end[d] - s->begin[d];
    number += (s->begin[d] + k % n) * step;
    k /= n;
    step *= extents[d];
  }
  return number;
}

static int holds(const slice* s, int dims, const int64_t* extents, int64_t number) {
  for (int d = dims; d-- > 0;) {
    const int64_t at = number % extents[d];
    number /= extents[d];
    if (at < s->begin[d] || at >= s->end[d]) return 0;
  }
  return 1;
}

static void check_block(const hyperparallel_block* b, const slice* s, int rank, int dims, int element_bytes) {
  CHECK(b->rank == rank && b->dims == dims && b->bytes == volume_of(s, dims) * element_bytes);
  for (int d = 0; d < dims; ++d) CHECK(b->begin[d] == s->begin[d] && b->extents[d] == s->end[d] - s->begin[d]);
}

static int position_holding(const matrix* m, int rank) {
  for (int p = 0; p < positions_of(m); ++p)
    if (rank_of(m, p) == rank) return p;
  return -1;
}

/* Carries one copy out between blocks of numbers; returns its elements. */
static int64_t carry_out(const hyperparallel_copy* c, const int32_t* source, int32_t* target) {
  int64_t n = 1;
  for (int d = 0; d < c->dims; ++d) n *= c->extents[d];
  for (int64_t k = 0; k < n; ++k) {
    int64_t rest = k, from = c->source_offset, to = c->target_offset;
    for (int d = c->dims; d-- > 0;) {
      from += rest % c->extents[d] * c->source_strides[d];
      to += rest % c->extents[d] * c->target_strides[d];
      rest /= c->extents[d];
    }
    CHECK(target[to] == -1); /* written once */
    target[to] = source[from];
  }
  return n;
}

/* Plans, carries out on blocks of numbers, compares. Returns the bytes that all ranks receive. */
static int64_t try_pair(const matrix* from, const layout* source, const matrix* to, const layout* target, int dims,
                        const int64_t* extents) {
  static int32_t before[most_ranks][1024], after[most_ranks][1024];
  const int element_bytes = 4;
  const hyperparallel_mesh source_mesh = mesh_of(from), target_mesh = mesh_of(to);
  hyperparallel_tensor tensor;
  tensor.struct_size = sizeof tensor;
  tensor.dims = dims;
  tensor.extents = extents;
  tensor.element_bytes = element_bytes;
  hyperparallel_plan* plan = NULL;
  char why[256];
  const hyperparallel_status status = hyperparallel_plan_make(
      &source_mesh, source->text, from == to ? NULL : &target_mesh, target->text, &tensor, &plan, why, sizeof why);
  if (status != HYPERPARALLEL_OK) {
    printf("%s -> %s: %s\n", source->text, target->text, why);
    ++failures;
    return 0;
  }
  hyperparallel_summary summary;
  summary.struct_size = sizeof summary;
  CHECK(hyperparallel_plan_summary(plan, &summary) == HYPERPARALLEL_OK);
  CHECK(summary.source_blocks == positions_of(from) && summary.target_blocks == positions_of(to));

  for (int p = 0; p < positions_of(from); ++p) {
    const slice s = slice_of(source, from, dims, extents, p);
    for (int64_t k = 0; k < volume_of(&s, dims); ++k) before[p][k] = (int32_t)number_of(&s, dims, extents, k);
    hyperparallel_block b;
    b.struct_size = sizeof b;
    CHECK(hyperparallel_plan_source_block(plan, p, &b) == HYPERPARALLEL_OK);
    check_block(&b, &s, rank_of(from, p), dims, element_bytes);
  }
  memset(after, -1, sizeof after);
  int64_t received[most_ranks] = {0}, all_least = 0, most_least = 0, all = 0;
  for (int64_t i = 0; i < summary.copies; ++i) {
    hyperparallel_copy c;
    c.struct_size = sizeof c;
    CHECK(hyperparallel_plan_copy(plan, i, &c) == HYPERPARALLEL_OK);
    const int p = position_holding(from, c.sender), q = position_holding(to, c.receiver);
    if (p < 0 || q < 0) {
      CHECK(p >= 0 && q >= 0);
      break;
    }
    const int64_t n = carry_out(&c, before[p], after[q]);
    if (c.sender != c.receiver) received[q] += n * element_bytes;
  }
  for (int q = 0; q < positions_of(to); ++q) {
    const slice s = slice_of(target, to, dims, extents, q);
    const int own = position_holding(from, rank_of(to, q));
    slice held = s;
    if (own >= 0) held = slice_of(source, from, dims, extents, own);
    int64_t least = 0;
    for (int64_t k = 0; k < volume_of(&s, dims); ++k) {
      const int64_t number = number_of(&s, dims, extents, k);
      CHECK(after[q][k] == number);
      if (own < 0 || !holds(&held, dims, extents, number)) least += element_bytes;
    }
    CHECK(after[q][volume_of(&s, dims)] == -1);
    hyperparallel_block b;
    b.struct_size = sizeof b;
    CHECK(hyperparallel_plan_target_block(plan, q, &b) == HYPERPARALLEL_OK);
    check_block(&b, &s, rank_of(to, q), dims, element_bytes);
    CHECK(received[q] == least && b.received_bytes == least && b.least_bytes == least);
    all += received[q];
    all_least += least;
    if (least > most_least) most_least = least;
  }
  CHECK(summary.received_bytes == all && summary.least_bytes == all_least && all == all_least);
  CHECK(summary.most_received_bytes == most_least && summary.most_least_bytes == most_least && summary.ratio == 1);
  hyperparallel_plan_free(plan);
  return all;
}

static void try_every_pair(int dims, const int64_t* extents, int padded) {
  static layout all[most_layouts];
  const matrix m = {3, {2, 2, 2}, {"dp", "cp", "tp"}, NULL};
  layout none;
  memset(&none, 0, sizeof none);
  int count = 0, before = failures;
  int64_t bytes = 0;
  enumerate(none, 0, 0, dims, padded, all, &count);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count && failures < before + 20; ++j)
      bytes += try_pair(&m, &all[i], &m, &all[j], dims, extents);
  printf("%d dims%s: %d layouts, %d pairs, %lld bytes received, %d failures\n", dims, padded ? ", padded" : "", count,
         count * count, (long long)bytes, failures - before);
}

static void try_other_meshes(void) {
  static const int32_t turned[8] = {3, 1, 0, 2, 7, 6, 5, 4}, apart[4] = {8, 9, 2, 3};
  const matrix cube = {3, {2, 2, 2}, {"dp", "cp", "tp"}, NULL}, table = {2, {4, 2, 1}, {"dp", "cp", NULL}, NULL},
               shuffled = {2, {4, 2, 1}, {"dp", "cp", NULL}, turned}, few = {1, {4, 1, 1}, {"dp", NULL, NULL}, apart};
  const int64_t extents[2] = {8, 16};
  const layout by_row = {{1, 0, 0}, {{0}}, "dp,None"}, by_column = {{0, 1, 0}, {{0}, {0}}, "None,dp"},
               in_tiles = {{1, 1, 0}, {{0}, {1}}, "dp, cp"};
  CHECK(try_pair(&cube, &by_row, &table, &in_tiles, 2, extents) == 0); /* 4x2 ranks: a tile of its own row */
  CHECK(try_pair(&cube, &by_column, &table, &in_tiles, 2, extents) > 0);
  CHECK(try_pair(&table, &in_tiles, &shuffled, &in_tiles, 2, extents) > 0);
  CHECK(try_pair(&cube, &in_tiles, &few, &by_column, 2, extents) > 0);
  CHECK(try_pair(&few, &by_row, &shuffled, &by_column, 2, extents) > 0);
  CHECK(try_pair(&shuffled, &in_tiles, &shuffled, &in_tiles, 2, extents) == 0);
  const int64_t nothing[2] = {0, 8};
  CHECK(try_pair(&cube, &by_row, &cube, &by_column, 2, nothing) == 0);
  const layout scalar = {{0, 0, 0}, {{0}}, "()"};
  CHECK(try_pair(&cube, &scalar, &few, &scalar, 0, NULL) > 0); /* ranks 8 and 9 have none */
}

/* Of the plan dp,None -> None,tp on dp=2,tp=4 of 8x64 floats, with one thing changed. */
typedef struct {
  hyperparallel_mesh mesh;
  const char *source, *target;
  hyperparallel_tensor tensor;
} request;

static const char* const two_axes[] = {"dp", "tp"};
static const int32_t two_sizes[] = {2, 4};
static const int64_t two_extents[] = {8, 64};

static request plain_request(void) {
  request r = {{sizeof(hyperparallel_mesh), 2, two_axes, two_sizes, NULL},
               "dp,None",
               "None,tp",
               {sizeof(hyperparallel_tensor), 2, two_extents, 4}};
  return r;
}

static void expect(const request* r, hyperparallel_status status, const char* line) {
  hyperparallel_plan* plan = (hyperparallel_plan*)(void*)&failures; /* must be overwritten */
  char why[512];
  const hyperparallel_status got =
      hyperparallel_plan_make(&r->mesh, r->source, NULL, r->target, &r->tensor, &plan, why, sizeof why);
  if (got != status || strcmp(why, line) != 0) {
    printf("status %d, expected %d\n  %s\nexpected\n  %s\n", (int)got, (int)status, why, line);
    ++failures;
  }
  CHECK((plan != NULL) == (status == HYPERPARALLEL_OK));
  hyperparallel_plan_free(plan);
}

static void try_meshes_that_are_none(void) {
  static const char *const twice[] = {"tp", "tp"}, *const reserved[] = {"dp", "None"}, *const absent[] = {"dp", NULL};
  static const int32_t zero[] = {2, 0}, one_rank_twice[] = {0, 1, 2, 3, 4, 5, 6, 6};
  request r = plain_request();
  r.mesh.struct_size = 8;
  char line[128];
  sprintf(line, "source mesh: struct_size is 8; expected %u or more", (unsigned)sizeof(hyperparallel_mesh));
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, line);
  r = plain_request();
  r.mesh.axis_count = 9;
  expect(&r, HYPERPARALLEL_BAD_MESH, "source mesh: 9 axes; expected 0 to 8");
  r = plain_request();
  r.mesh.axis_names = twice;
  expect(&r, HYPERPARALLEL_BAD_MESH, "source mesh: an axis name is used twice (axis 'tp' of size 4)");
  r.mesh.axis_names = reserved;
  expect(&r, HYPERPARALLEL_BAD_MESH,
         "source mesh: an axis name is None or holds a character other than letters, digits, _ - . / (axis 'None' of "
         "size 4)");
  r.mesh.axis_names = absent;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "source mesh: axis_names[1] is NULL");
  r.mesh.axis_names = NULL;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "source mesh: axis_names is NULL");
  r = plain_request();
  r.mesh.axis_sizes = zero;
  expect(&r, HYPERPARALLEL_BAD_MESH, "source mesh: an axis size is not positive (axis 'tp' of size 0)");
  r = plain_request();
  r.mesh.ranks = one_rank_twice;
  expect(&r, HYPERPARALLEL_BAD_MESH, "source mesh: ranks: a rank is listed twice (position 7)");
}

static void try_layouts_that_are_none(void) {
  static const int64_t odd[] = {9, 64};
  request r = plain_request();
  r.source = "ep,None";
  expect(&r, HYPERPARALLEL_BAD_LAYOUT,
         "source layout 'ep,None': 'ep' is no axis of the mesh; expected None or an axis: dp, tp");
  r = plain_request();
  r.target = "tp,(dp,tp)";
  expect(&r, HYPERPARALLEL_BAD_LAYOUT,
         "target layout 'tp,(dp,tp)': axis tp is used twice (dim 1, place 1); expected each axis at one place");
  r = plain_request();
  r.target = "None,None,tp";
  expect(&r, HYPERPARALLEL_BAD_LAYOUT,
         "target layout 'None,None,tp': 3 entries for the shape (8, 64); expected one for each dim");
  r = plain_request();
  r.tensor.extents = odd;
  expect(&r, HYPERPARALLEL_BAD_LAYOUT,
         "source layout 'dp,None': dim 0 of extent 9 does not divide by its 2 shards; expected a multiple of 2, or ~ "
         "before the entry to pad the dim");
  r = plain_request();
  r.source = "dp,None partial(tp: sum)";
  expect(&r, HYPERPARALLEL_IS_PARTIAL,
         "source layout 'dp,None partial(tp: sum)': it is partial, and a list of copies adds nothing up; expected a "
         "layout whose terms have been reduced");
  r = plain_request();
  r.source = NULL;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "source layout is NULL");
}

static void try_tensors_that_are_none(void) {
  static const int64_t negative[] = {8, -64}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 18};
  request r = plain_request();
  r.tensor.element_bytes = 0;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "tensor: element_bytes is 0; expected 1 or more");
  r = plain_request();
  r.tensor.dims = 9;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "tensor: 9 dims; expected 0 to 8");
  r = plain_request();
  r.tensor.extents = NULL;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "tensor: extents is NULL");
  r.tensor.extents = negative;
  expect(&r, HYPERPARALLEL_BAD_ARGUMENT, "tensor: extent -64 of dim 1 is negative");
  r.tensor.extents = huge;
  expect(&r, HYPERPARALLEL_TOO_LARGE,
         "tensor (1099511627776, 262144) of 4 bytes an element on 8 ranks: the bytes leave 64 bits");
}

static void try_questions(void) {
  const request r = plain_request();
  expect(&r, HYPERPARALLEL_OK, "");
  hyperparallel_plan* plan = NULL;
  char brief[12];
  CHECK(hyperparallel_plan_make(&r.mesh, "ep,None", NULL, r.target, &r.tensor, &plan, brief, sizeof brief) ==
        HYPERPARALLEL_BAD_LAYOUT);
  CHECK(plan == NULL && strcmp(brief, "source layo") == 0);
  CHECK(hyperparallel_plan_make(&r.mesh, r.source, NULL, r.target, &r.tensor, NULL, NULL, 0) ==
        HYPERPARALLEL_BAD_ARGUMENT);
  CHECK(hyperparallel_plan_make(&r.mesh, r.source, NULL, r.target, &r.tensor, &plan, NULL, 0) == HYPERPARALLEL_OK);
  struct {
    hyperparallel_summary known;
    int64_t later;
  } longer;
  longer.known.struct_size = sizeof longer;
  longer.later = 7;
  CHECK(hyperparallel_plan_summary(plan, &longer.known) == HYPERPARALLEL_OK);
  CHECK(longer.known.struct_size == sizeof longer && longer.later == 7 && longer.known.source_blocks == 8);
  CHECK(strcmp(longer.known.kind, "exchange") == 0);
  hyperparallel_copy c;
  c.struct_size = sizeof c;
  CHECK(hyperparallel_plan_copy(plan, longer.known.copies, &c) == HYPERPARALLEL_BAD_ARGUMENT);
  CHECK(hyperparallel_plan_copy(plan, -1, &c) == HYPERPARALLEL_BAD_ARGUMENT);
  CHECK(hyperparallel_plan_copy(NULL, 0, &c) == HYPERPARALLEL_BAD_ARGUMENT);
  c.struct_size = 8;
  CHECK(hyperparallel_plan_copy(plan, 0, &c) == HYPERPARALLEL_BAD_ARGUMENT);
  hyperparallel_block b;
  b.struct_size = sizeof b;
  CHECK(hyperparallel_plan_source_block(plan, 8, &b) == HYPERPARALLEL_BAD_ARGUMENT);
  CHECK(hyperparallel_plan_target_block(plan, -1, &b) == HYPERPARALLEL_BAD_ARGUMENT);
  hyperparallel_plan_free(plan);
  hyperparallel_plan_free(NULL);
}

int main(void) {
  static const int64_t two[] = {8, 16}, three[] = {8, 8, 8}, odd_two[] = {5, 3}, odd_three[] = {3, 9, 2};
  CHECK(hyperparallel_plan_abi() == HYPERPARALLEL_PLAN_ABI);
  try_every_pair(2, two, 0);
  try_every_pair(3, three, 0);
  try_every_pair(2, odd_two, 1);
  try_every_pair(3, odd_three, 1);
  try_other_meshes();
  try_meshes_that_are_none();
  try_layouts_that_are_none();
  try_tensors_that_are_none();
  try_questions();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
