// SPDX-License-Identifier: Apache-2.0
#pragma once
// C[m×n] = or += A[m×k] · B[k×n] where operands lie in memory in any manner: the matrix product of all kernels.
//
// Law: element (i, j) is the sum of sums over 256 consecutive terms, blocks and terms left to right, every product and
// sum rounded by itself. Nothing in it depends on m, n or the place in a tile, so any cut of rows and columns gives the
// same bits, with any width of the vector unit: lanes are columns.
// Rows of A that are zero in such a block, and terms that are zero in all of a panel of B, are not multiplied where what they
// meet is finite: the bits are those of all products (skipped_zeros.hpp), in time of the rows and terms that are not zero.
// Panels of A (96 × 256) and B (256 × 2 KiB) are packed into memory of the thread, B in strips of 64 bytes of columns that
// a first-level cache holds while rows pass (Goto and van de Geijn, 2008); product_tile.hpp multiplies them. O(m·n·k),
// of it O(m·k + k·n) to find zeros.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/product_tile.hpp>
#include <hyperparallel/kernels/skipped_zeros.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/support/integer.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

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

inline constexpr extent_t panel_height = 96, panel_depth = 256;
/// Products that finding one row or term of zeros spares, at least: of fewer, looking would take more than a hundredth.
inline constexpr extent_t least_worth_seeking = 4096;
/// 512 KiB of B stay in a second-level cache while all of A passes.
template <class T>
inline constexpr extent_t panel_width = 2048 / static_cast<extent_t>(sizeof(T));

/// Whether indices [first, first + count) lie side by side.
template <class Steps>
bool side_by_side(const Steps& s, extent_t first, extent_t count) {
  for (extent_t i = 1; i < count; ++i)
    if (s(first + i) - s(first) != i) return false;
  return true;
}

/// Whether the rows of a tile are `pitch` apart.
inline bool rows_are_even(const extent_t* row, extent_t pitch) {
  for (extent_t i = 1; i < tile_rows; ++i)
    if (row[i] - row[0] != i * pitch) return false;
  return true;
}

template <extent_t Strip, class T, class X>
void load_strip(const X* from, T* to) {
  if constexpr (std::is_same_v<X, T>)
    std::memcpy(to, from, static_cast<std::size_t>(Strip) * sizeof(T));
  else
    for (extent_t s = 0; s < Strip; ++s) to[s] = static_cast<T>(load(from[s]));
}

/// to[term][row]: two rows at a time, 16 bytes of each.
template <extent_t Strip, class T>
void interleave_rows(const T* const (&row)[hyperparallel::detail::array_bound(Strip)], extent_t terms, T* to) {
  typedef T lanes __attribute__((vector_size(16)));
  constexpr extent_t per = 16 / static_cast<extent_t>(sizeof(T));
  constexpr std::size_t pair = 2 * sizeof(T);
  extent_t p = 0;
  for (; p + per <= terms; p += per)
    for (extent_t r = 0; r < Strip; r += 2) {
      lanes a, b;
      std::memcpy(&a, row[r] + p, sizeof a);
      std::memcpy(&b, row[r + 1] + p, sizeof b);
      T* const out = to + p * Strip + r;
      if constexpr (per == 4) {
        const lanes low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        std::memcpy(out, &low, pair);
        std::memcpy(out + Strip, reinterpret_cast<const char*>(&low) + pair, pair);
        std::memcpy(out + 2 * Strip, &high, pair);
        std::memcpy(out + 3 * Strip, reinterpret_cast<const char*>(&high) + pair, pair);
      } else {
        const lanes low = __builtin_shufflevector(a, b, 0, 2), high = __builtin_shufflevector(a, b, 1, 3);
        std::memcpy(out, &low, pair);
        std::memcpy(out + Strip, &high, pair);
      }
    }
  for (; p < terms; ++p)
    for (extent_t r = 0; r < Strip; ++r) to[p * Strip + r] = row[r][p];
}

/// Strips that are packed at a time where all lines lie side by side: memory is read by more than a cache line.
inline constexpr extent_t strips_together = 8;

/// Strips of `Strip` lines: to[line strip][term][line]; lines beyond `lines` are zero. Elements are loaded into T.
template <extent_t Strip, class T, class X, class Steps>
void pack_strips(const X* data, const Steps& line, extent_t first_line, extent_t lines, const table_steps& term,
                 extent_t terms, T* to) {
  const bool in_line = side_by_side(line, first_line, lines);
  const bool rows_of_terms = std::is_same_v<X, T> && side_by_side(term, 0, terms);
  for (extent_t j = 0; j < lines; j += Strip, to += Strip * terms) {
    const extent_t count = lines - j < Strip ? lines - j : Strip;
    if constexpr (std::is_same_v<X, T>)
      if (rows_of_terms && count == Strip && line(first_line + 1) - line(first_line) != 1) {
        const T* row[hyperparallel::detail::array_bound(Strip)];
        for (extent_t r = 0; r < Strip; ++r) row[r] = data + line(first_line + j + r) + term(0);
        interleave_rows<Strip>(row, terms, to);
        continue;
      }
    const extent_t base = line(first_line + j);
    if (count < Strip) std::memset(to, 0, static_cast<std::size_t>(Strip * terms) * sizeof(T));
    if (in_line || side_by_side(line, first_line + j, count)) {
      if (count == Strip) {
        const extent_t strips = in_line ? smaller((lines - j) / Strip, strips_together) : 1;
        for (extent_t p = 0; p < terms; ++p) {
          const X* const from = data + base + term(p);
          for (extent_t s = 0; s < strips; ++s) load_strip<Strip>(from + s * Strip, to + (s * terms + p) * Strip);
        }
        j += (strips - 1) * Strip;
        to += (strips - 1) * Strip * terms;
        continue;
      }
      for (extent_t p = 0; p < terms; ++p)
        for (extent_t s = 0; s < count; ++s) to[p * Strip + s] = static_cast<T>(load(data[base + term(p) + s]));
      continue;
    }
    for (extent_t x = 0; x < count; ++x) {
      const X* const from = data + line(first_line + j + x);
      for (extent_t p = 0; p < terms; ++p) to[p * Strip + x] = static_cast<T>(load(from[term(p)]));
    }
  }
}

/// Memory of this thread for packed panels, aligned to a vector.
template <class T>
struct product_panels {
  std::vector<T> memory;
  std::vector<unsigned char> row_is_zero;
  T* left;
  T* right;
  product_panels() : memory(static_cast<std::size_t>(panel_depth * (panel_height + panel_width<T>)+strip_columns<T>)) {
    T* const start = memory.data();
    const std::size_t past = reinterpret_cast<std::uintptr_t>(start) % 64;
    left = past == 0 ? start : start + (64 - past) / sizeof(T);
    right = left + panel_depth * panel_height;
  }
  product_panels(const product_panels&) = delete;
  product_panels& operator=(const product_panels&) = delete;
};

/// A row of sums without terms: +0, or what is there plus +0, which differs from −0.
template <class T, class Steps>
void start_row(T* row, const Steps& column, extent_t first, extent_t count, bool side_by_side, bool add) {
  if (side_by_side && !add) {
    std::memset(row + column(first), 0, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  for (extent_t y = first; y < first + count; ++y) {
    T& at = row[column(y)];
    at = add ? at + T(0) : T(0);
  }
}

/// Adds to C, or starts in it, the products of packed rows, which lie in C where `c_row` says, and of packed columns from
/// `j` on: tile by tile, those at an edge or in uneven places by way of `block`.
template <class T, class OutSteps>
void multiply_panels(const product_tile<T>& tile, const T* packed_rows, const T* packed_columns, extent_t terms,
                     const extent_t* c_row, extent_t height, extent_t j, extent_t width,
                     const matrix_in_memory<T, OutSteps>& c, bool add) {
  const extent_t columns = tile.strips * strip_columns<T>;
  alignas(64) T block[hyperparallel::detail::array_bound(2 * tile_rows * strip_columns<T>)];
  for (extent_t s = 0; s < width; s += columns) {
    const extent_t across = width - s < columns ? width - s : columns;
    const bool even = across == columns && side_by_side(c.column, j + s, across);
    for (extent_t r = 0; r < height; r += tile_rows) {
      const extent_t down = height - r < tile_rows ? height - r : tile_rows;
      const T *const left = packed_rows + r * terms, *const right = packed_columns + s * terms;
      T* const out = c.data + c.column(j + s);
      const extent_t pitch = down > 1 ? c_row[r + 1] - c_row[r] : columns;
      if (even && down == tile_rows && rows_are_even(c_row + r, pitch)) {
        tile.run(terms, left, right, out + c_row[r], pitch, add);
        continue;
      }
      const auto each = [&](const auto& row, const auto& element) {
        for (extent_t x = 0; x < down; ++x)
          if (even)
            row(block + x * columns, out + c_row[r + x]);
          else
            for (extent_t y = 0; y < across; ++y)
              element(block[x * columns + y], c.data[c_row[r + x] + c.column(j + s + y)]);
      };
      const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(T);
      if (add) each([&](T* sums, const T* at) { std::memcpy(sums, at, bytes); }, [](T& sum, const T& at) { sum = at; });
      tile.run(terms, left, right, block, columns, add);
      each([&](const T* sums, T* at) { std::memcpy(at, sums, bytes); }, [](const T& sum, T& at) { at = sum; });
    }
  }
}

}  // namespace detail

enum class product_mode { overwrite, accumulate };

namespace detail {

/// Operands may be stored in narrower types than T, in which all is computed. Domain: m, n ≥ 0, k ≥ 1; C overlaps
/// neither A nor B.
template <class T, class A, class B, class Steps, class OutSteps>
void blocked_product(extent_t m, extent_t n, extent_t k, const matrix_in_memory<const A, Steps>& a,
                     const matrix_in_memory<const B, Steps>& b, const matrix_in_memory<T, OutSteps>& c,
                     product_mode mode = product_mode::overwrite) {
  using namespace detail;
  static thread_local product_panels<T> panels;
  const product_tile<T> tile = choose_product_tile<T>();
  extent_t a_term[hyperparallel::detail::array_bound(panel_depth)],
      b_term[hyperparallel::detail::array_bound(panel_depth)];  // offsets of what is multiplied
  extent_t a_row[hyperparallel::detail::array_bound(panel_height)],
      c_row[hyperparallel::detail::array_bound(panel_height)];
  const extent_t widest = n < panel_width<T> ? n : panel_width<T>, deepest = k < panel_depth ? k : panel_depth;
  const bool seek_terms = m * widest >= least_worth_seeking;
  const bool seek_rows = m > tile_rows && deepest * widest >= least_worth_seeking;
  const bool rows_in_line = seek_terms && side_by_side(a.row, 0, m);
  if (seek_rows) panels.row_is_zero.resize(static_cast<std::size_t>(m * ((k - 1) / panel_depth + 1)));
  for (extent_t j = 0; j < n; j += panel_width<T>) {
    const extent_t width = n - j < panel_width<T> ? n - j : panel_width<T>;
    const bool in_line = seek_terms && side_by_side(b.column, j, width), out_in_line = side_by_side(c.column, j, width);
    unsigned char* row_is_zero =
        panels.row_is_zero.data();  // of each block of terms and row; found with the first panel
    for (extent_t p = 0; p < k; p += panel_depth) {
      const bool add = p > 0 || mode == product_mode::accumulate;
      const extent_t depth = k - p < panel_depth ? k - p : panel_depth;
      extent_t terms = 0;
      for (extent_t q = p; q < p + depth; ++q) {
        a_term[terms] = a.column(q);
        b_term[terms] = b.row(q);
        const bool skips = seek_terms && are_zeros(operand_run{b.data + b_term[terms], b.column, j, width, in_line}) &&
                           are_finite(operand_run{a.data + a_term[terms], a.row, 0, m, rows_in_line});
        if (!skips) ++terms;
      }
      pack_strips<strip_columns<T>>(b.data, b.column, j, width, table_steps{b_term}, terms, panels.right);
      const extent_t packed = (width + strip_columns<T> - 1) / strip_columns<T> * strip_columns<T> * terms;
      bool may_skip = seek_rows, is_finite = false;  // rows of zeros; the panel of B
      const bool terms_in_line = j == 0 && seek_rows && side_by_side(a.column, p, depth);
      for (extent_t i = 0; i < m;) {
        extent_t height = 0;
        for (; i < m && height < panel_height; ++i) {
          if (j == 0 && seek_rows)
            row_is_zero[i] = are_zeros(operand_run{a.data + a.row(i), a.column, p, depth, terms_in_line}) ? 1 : 0;
          if (may_skip && row_is_zero[i] != 0) {
            is_finite = is_finite || are_finite(operand_run{panels.right, even_steps{}, 0, packed, true});
            may_skip = is_finite;
          }
          if (may_skip && row_is_zero[i] != 0) {
            if (p == 0) start_row(c.data + c.row(i), c.column, j, width, out_in_line, add);
            continue;
          }
          a_row[height] = a.row(i);
          c_row[height++] = c.row(i);
        }
        pack_strips<tile_rows>(a.data, table_steps{a_row}, 0, height, table_steps{a_term}, terms, panels.left);
        multiply_panels(tile, panels.left, panels.right, terms, c_row, height, j, width, c, add);
      }
      row_is_zero += seek_rows ? m : 0;
    }
  }
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
