// SPDX-License-Identifier: Apache-2.0
#pragma once
// C[m×n] = or += A[m×k] · B[k×n] where operands lie in memory in any manner: the matrix product of all kernels.
//
// Law: element (i, j) is the sum of sums over 256 consecutive terms, blocks and terms left to right, every product and
// sum rounded by itself; or, `in_order`, the sum of all terms left to right, so that any cut of k into accumulating parts
// gives the same bits. Nothing in it depends on m, n or the place in a tile, so any cut of rows and columns gives the
// same bits, with any width of the vector unit: lanes are columns.
// Panels of A (96 × 256) and B (256 × 2 KiB) are packed into memory of the thread; tiles of 6 rows by 128 bytes of columns
// stay in registers (Goto and van de Geijn, 2008). O(m·n·k).

#include <cstring>
#include <type_traits>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/support/integer.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

/// Index i lies `step` elements from index i - 1.
struct even_steps {
  extent_t step = 1;
  extent_t operator()(extent_t i) const { return i * step; }
};

/// Index i lies where a table says.
struct table_steps {
  const extent_t* at = nullptr;
  extent_t operator()(extent_t i) const { return at[i]; }
};

/// Element (r, c) is data[row(r) + column(c)].
template <class T, class Steps>
struct matrix_in_memory {
  T* data;
  Steps row, column;
};

template <class T>
using even_matrix = matrix_in_memory<T, even_steps>;

namespace detail {

inline constexpr extent_t tile_rows = 6;
template <class T>
inline constexpr extent_t tile_columns = 128 / static_cast<extent_t>(sizeof(T));
inline constexpr extent_t panel_height = 96, panel_depth = 256;
/// 512 KiB of B stay in a second-level cache while all of A passes.
template <class T>
inline constexpr extent_t panel_width = 2048 / static_cast<extent_t>(sizeof(T));

template <class T, int Bytes>
struct product_lanes {
  typedef T type __attribute__((vector_size(Bytes)));
};

#define HYPERPARALLEL_EACH_ROW(Do) Do(0) Do(1) Do(2) Do(3) Do(4) Do(5)
#define HYPERPARALLEL_START_ROW(i)                      \
  lanes a##i, b##i;                                     \
  std::memcpy(&a##i, out + (i) * columns, sizeof a##i); \
  std::memcpy(&b##i, out + (i) * columns + per, sizeof b##i);
#define HYPERPARALLEL_ADD_TO_ROW(i) \
  a##i += x * l[i];                 \
  b##i += y * l[i];
#define HYPERPARALLEL_STORE_ROW(i)                      \
  std::memcpy(out + (i) * columns, &a##i, sizeof a##i); \
  std::memcpy(out + (i) * columns + per, &b##i, sizeof b##i);

// One tile from packed strips: to[6 × columns] += left[terms × 6]ᵀ · right[terms × columns], two vectors of `Bytes` of
// columns at a time: twelve sums in registers hide the latency of an addition.
#define HYPERPARALLEL_PRODUCT_TILE(Bytes)                                                                     \
  HYPERPARALLEL_EXACT_BODY                                                                                    \
  using lanes = typename product_lanes<T, Bytes>::type;                                                       \
  constexpr extent_t columns = tile_columns<T>, width = columns * static_cast<extent_t>(sizeof(T)) / (Bytes); \
  constexpr extent_t per = columns / width;                                                                   \
  for (extent_t v = 0; v < width; v += 2) {                                                                   \
    T* const out = to + v * per;                                                                              \
    HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_START_ROW)                                                           \
    const T* l = left;                                                                                        \
    const T* r = right + v * per;                                                                             \
    for (extent_t p = 0; p < terms; ++p, l += tile_rows, r += columns) {                                      \
      lanes x, y;                                                                                             \
      std::memcpy(&x, r, sizeof x);                                                                           \
      std::memcpy(&y, r + per, sizeof y);                                                                     \
      HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_ADD_TO_ROW)                                                        \
    }                                                                                                         \
    HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_STORE_ROW)                                                           \
  }

template <class T>
HYPERPARALLEL_EXACT void product_tile(extent_t terms, const T* left, const T* right, T* to) {
  HYPERPARALLEL_PRODUCT_TILE(16)
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2")]] HYPERPARALLEL_EXACT void wide_product_tile(extent_t terms, const T* left, const T* right,
                                                                   T* to) {
  HYPERPARALLEL_PRODUCT_TILE(32)
}
template <class T>
[[gnu::target("avx512f")]] HYPERPARALLEL_EXACT void widest_product_tile(extent_t terms, const T* left, const T* right,
                                                                        T* to) {
  HYPERPARALLEL_PRODUCT_TILE(64)
}

template <class T>
auto choose_product_tile() {
  static const auto chosen = __builtin_cpu_supports("avx512f") != 0 ? widest_product_tile<T>
                             : __builtin_cpu_supports("avx2") != 0  ? wide_product_tile<T>
                                                                    : product_tile<T>;
  return chosen;
}
#else
template <class T>
auto choose_product_tile() {
  return product_tile<T>;
}
#endif
#undef HYPERPARALLEL_PRODUCT_TILE
#undef HYPERPARALLEL_STORE_ROW
#undef HYPERPARALLEL_ADD_TO_ROW
#undef HYPERPARALLEL_START_ROW
#undef HYPERPARALLEL_EACH_ROW

/// Whether indices [first, first + count) lie side by side.
template <class Steps>
bool side_by_side(const Steps& s, extent_t first, extent_t count) {
  for (extent_t i = 1; i < count; ++i)
    if (s(first + i) - s(first) != i) return false;
  return true;
}

template <extent_t Strip, class T, class X>
void load_strip(const X* from, T* to) {
  if constexpr (std::is_same_v<X, T>)
    std::memcpy(to, from, static_cast<std::size_t>(Strip) * sizeof(T));
  else
    for (extent_t s = 0; s < Strip; ++s) to[s] = static_cast<T>(load(from[s]));
}

/// Strips of `Strip` lines: to[line strip][term][line]; lines beyond `lines` are zero. Elements are loaded into T.
template <extent_t Strip, class T, class X, class Steps>
void pack_strips(const X* data, const Steps& line, const Steps& term, extent_t first_line, extent_t lines,
                 extent_t first_term, extent_t terms, T* to) {
  for (extent_t j = 0; j < lines; j += Strip, to += Strip * terms) {
    const extent_t count = lines - j < Strip ? lines - j : Strip;
    const extent_t base = line(first_line + j);
    if (count < Strip) std::memset(to, 0, static_cast<std::size_t>(Strip * terms) * sizeof(T));
    if (side_by_side(line, first_line + j, count)) {
      if (count == Strip) {
        for (extent_t p = 0; p < terms; ++p) load_strip<Strip>(data + base + term(first_term + p), to + p * Strip);
        continue;
      }
      for (extent_t p = 0; p < terms; ++p)
        for (extent_t s = 0; s < count; ++s)
          to[p * Strip + s] = static_cast<T>(load(data[base + term(first_term + p) + s]));
      continue;
    }
    for (extent_t s = 0; s < count; ++s) {
      const X* const from = data + line(first_line + j + s);
      for (extent_t p = 0; p < terms; ++p) to[p * Strip + s] = static_cast<T>(load(from[term(first_term + p)]));
    }
  }
}

/// Memory of this thread for packed panels, aligned to a vector.
template <class T>
struct product_panels {
  std::vector<T> memory;
  T* left;
  T* right;
  product_panels() : memory(static_cast<std::size_t>(panel_depth * (panel_height + panel_width<T>)+tile_columns<T>)) {
    T* const start = memory.data();
    const std::size_t past = reinterpret_cast<std::uintptr_t>(start) % 64;
    left = past == 0 ? start : start + (64 - past) / sizeof(T);
    right = left + panel_depth * panel_height;
  }
  product_panels(const product_panels&) = delete;
  product_panels& operator=(const product_panels&) = delete;
};

}  // namespace detail

enum class product_mode { overwrite, accumulate };
enum class product_law { in_blocks, in_order };

/// Operands may be stored in narrower types than T, in which all is computed. Domain: m, n ≥ 0, k ≥ 1; C overlaps
/// neither A nor B.
template <class T, product_law Law = product_law::in_blocks, class A, class B, class Steps, class OutSteps>
void blocked_product(extent_t m, extent_t n, extent_t k, const matrix_in_memory<const A, Steps>& a,
                     const matrix_in_memory<const B, Steps>& b, const matrix_in_memory<T, OutSteps>& c,
                     product_mode mode = product_mode::overwrite) {
  using namespace detail;
  constexpr extent_t columns = tile_columns<T>;
  static thread_local product_panels<T> panels;
  const auto tile = choose_product_tile<T>();
  alignas(64) T block[array_bound(tile_rows * columns)];
  for (extent_t j = 0; j < n; j += panel_width<T>) {
    const extent_t width = n - j < panel_width<T> ? n - j : panel_width<T>;
    for (extent_t p = 0; p < k; p += panel_depth) {
      const extent_t terms = k - p < panel_depth ? k - p : panel_depth;
      const bool add = p > 0 || mode == product_mode::accumulate;
      pack_strips<columns>(b.data, b.column, b.row, j, width, p, terms, panels.right);
      for (extent_t i = 0; i < m; i += panel_height) {
        const extent_t height = m - i < panel_height ? m - i : panel_height;
        pack_strips<tile_rows>(a.data, a.row, a.column, i, height, p, terms, panels.left);
        for (extent_t s = 0; s < width; s += columns) {
          const extent_t across = width - s < columns ? width - s : columns;
          const bool even = side_by_side(c.column, j + s, across);
          for (extent_t r = 0; r < height; r += tile_rows) {
            const extent_t down = height - r < tile_rows ? height - r : tile_rows;
            const auto each_row = [&](const auto& body) {
              for (extent_t x = 0; x < down; ++x)
                body(block + x * columns, c.data + c.row(i + r + x) + (even ? c.column(j + s) : 0));
            };
            const auto place = [&](T* row, extent_t y) { return even ? row + y : row + c.column(j + s + y); };
            std::memset(block, 0, sizeof block);
            constexpr bool goes_on = Law == product_law::in_order;
            if (goes_on && add)
              each_row([&](T* sum, T* out) {
                for (extent_t y = 0; y < across; ++y) sum[y] = *place(out, y);
              });
            tile(terms, panels.left + r * terms, panels.right + s * terms, block);
            each_row([&](const T* sum, T* out) {
              const bool full_row = even && across == columns;
              if (add && !goes_on && full_row)
                for (extent_t y = 0; y < columns; ++y) out[y] += sum[y];
              else if (add && !goes_on)
                for (extent_t y = 0; y < across; ++y) *place(out, y) += sum[y];
              else if (full_row)
                std::memcpy(out, sum, sizeof(T) * static_cast<std::size_t>(columns));
              else
                for (extent_t y = 0; y < across; ++y) *place(out, y) = sum[y];
            });
          }
        }
      }
    }
  }
}

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
