// SPDX-License-Identifier: Apache-2.0
#pragma once
// C[m×n] = or += A[m×k] · B[k×n] where operands lie in memory in any manner: the matrix product of all kernels.
//
// Law: element (i, j) is the sum of sums over 256 consecutive terms, blocks and terms left to right, every product and
// sum rounded by itself. Nothing in it depends on m, n or the place in a tile, so any cut of rows and columns gives the
// same bits, with any width of the vector unit: lanes are columns.
// Panels of A (64 × 256) and B (256 × 128) are packed into memory of the thread; tiles of 4 rows by 64 bytes of columns
// stay in registers (Goto and van de Geijn, 2008). O(m·n·k).

#include <cstring>
#include <type_traits>
#include <vector>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/tensor_view.hpp>
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

inline constexpr extent_t tile_rows = 4;
template <class T>
inline constexpr extent_t tile_columns = 64 / static_cast<extent_t>(sizeof(T));
inline constexpr extent_t panel_height = 64, panel_depth = 256, panel_width = 128;

template <class T, int Bytes>
struct product_lanes {
  typedef T type __attribute__((vector_size(Bytes)));
};

// One tile from packed strips: to[4 × columns] = left[terms × 4]ᵀ · right[terms × columns], in vectors of `Bytes`.
#define HYPERPARALLEL_PRODUCT_TILE(Bytes)                                                                     \
  HYPERPARALLEL_EXACT_BODY                                                                                    \
  using lanes = typename product_lanes<T, Bytes>::type;                                                       \
  constexpr extent_t columns = tile_columns<T>, width = columns * static_cast<extent_t>(sizeof(T)) / (Bytes); \
  constexpr extent_t per = columns / width;                                                                   \
  for (extent_t v = 0; v < width; v += 2) {                                                                   \
    lanes a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {}, b3 = {};                             \
    const T* l = left;                                                                                        \
    const T* r = right + v * per;                                                                             \
    for (extent_t p = 0; p < terms; ++p, l += tile_rows, r += columns) {                                      \
      lanes x, y;                                                                                             \
      std::memcpy(&x, r, sizeof x);                                                                           \
      std::memcpy(&y, r + per, sizeof y);                                                                     \
      a0 += x * l[0];                                                                                         \
      b0 += y * l[0];                                                                                         \
      a1 += x * l[1];                                                                                         \
      b1 += y * l[1];                                                                                         \
      a2 += x * l[2];                                                                                         \
      b2 += y * l[2];                                                                                         \
      a3 += x * l[3];                                                                                         \
      b3 += y * l[3];                                                                                         \
    }                                                                                                         \
    T* const out = to + v * per;                                                                              \
    std::memcpy(out, &a0, sizeof a0);                                                                         \
    std::memcpy(out + per, &b0, sizeof b0);                                                                   \
    std::memcpy(out + columns, &a1, sizeof a1);                                                               \
    std::memcpy(out + columns + per, &b1, sizeof b1);                                                         \
    std::memcpy(out + 2 * columns, &a2, sizeof a2);                                                           \
    std::memcpy(out + 2 * columns + per, &b2, sizeof b2);                                                     \
    std::memcpy(out + 3 * columns, &a3, sizeof a3);                                                           \
    std::memcpy(out + 3 * columns + per, &b3, sizeof b3);                                                     \
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

inline bool has_wide_lanes() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

template <class T>
auto choose_product_tile() {
  return has_wide_lanes() ? wide_product_tile<T> : product_tile<T>;
}
#else
template <class T>
auto choose_product_tile() {
  return product_tile<T>;
}
#endif
#undef HYPERPARALLEL_PRODUCT_TILE

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
  product_panels() : memory(static_cast<std::size_t>(panel_depth * (panel_height + panel_width) + tile_columns<T>)) {
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

/// Operands may be stored in narrower types than T, in which all is computed. Domain: m, n ≥ 0, k ≥ 1; C overlaps
/// neither A nor B.
template <class T, class A, class B, class Steps, class OutSteps>
void blocked_product(extent_t m, extent_t n, extent_t k, const matrix_in_memory<const A, Steps>& a,
                     const matrix_in_memory<const B, Steps>& b, const matrix_in_memory<T, OutSteps>& c,
                     product_mode mode = product_mode::overwrite) {
  using namespace detail;
  constexpr extent_t columns = tile_columns<T>;
  static thread_local product_panels<T> panels;
  const auto tile = choose_product_tile<T>();
  alignas(64) T block[array_bound(tile_rows * columns)];
  for (extent_t j = 0; j < n; j += panel_width) {
    const extent_t width = n - j < panel_width ? n - j : panel_width;
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
            tile(terms, panels.left + r * terms, panels.right + s * terms, block);
            const extent_t down = height - r < tile_rows ? height - r : tile_rows;
            for (extent_t x = 0; x < down; ++x) {
              T* const out = c.data + c.row(i + r + x) + (even ? c.column(j + s) : 0);
              const T* const from = block + x * columns;
              if (even && across == columns) {
                if (add)
                  for (extent_t y = 0; y < columns; ++y) out[y] += from[y];
                else
                  std::memcpy(out, from, sizeof(T) * static_cast<std::size_t>(columns));
              } else {
                for (extent_t y = 0; y < across; ++y) {
                  T& element = even ? out[y] : out[c.column(j + s + y)];
                  element = add ? element + from[y] : from[y];
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
