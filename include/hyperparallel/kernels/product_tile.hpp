// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile of a matrix product: 6 rows by two vectors of sums that stay in registers, from packed strips.
//
// Law: each sum has its terms left to right, every product and sum rounded by itself; lanes are columns, so vectors of any
// width give the same bits. Twelve sums hide the latency of an addition. Without fused multiply-add a tile does at best
// one product and one sum a cycle and unit; which width of vectors does it fastest is tried out once.

#include <cstdint>
#include <cstring>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

inline constexpr extent_t tile_rows = 6;
/// Columns of a packed strip of B: a cache line.
template <class T>
inline constexpr extent_t strip_columns = 64 / static_cast<extent_t>(sizeof(T));
template <class T, int Bytes>
struct product_lanes {
  typedef T type __attribute__((vector_size(Bytes)));
};

/// Multiplies packed strips: to[6 × columns] = or, with `add`, += left[terms × 6]ᵀ · right[terms × columns]. Rows of `to`
/// are `pitch` apart.
template <class T>
using product_tile_function = void (*)(extent_t terms, const T* left, const T* right, T* to, extent_t pitch, bool add);
template <class T>
struct product_tile {
  product_tile_function<T> run;
  extent_t strips;  ///< of `strip_columns`, which follow each other in `right`
};

#define HYPERPARALLEL_EACH_ROW(Do) Do(0) Do(1) Do(2) Do(3) Do(4) Do(5)
#define HYPERPARALLEL_START_ROW(i) \
  lanes a##i{}, b##i{};            \
  __builtin_prefetch(out + (i) * pitch, 1);
#define HYPERPARALLEL_ADD_TO_ROW(i) \
  a##i += x * l[i];                 \
  b##i += y * l[i];
#define HYPERPARALLEL_STORE_ROW(i)                      \
  if (add) {                                            \
    lanes x, y;                                         \
    std::memcpy(&x, out + (i) * pitch, sizeof x);       \
    std::memcpy(&y, out + (i) * pitch + per, sizeof y); \
    a##i = x + a##i;                                    \
    b##i = y + b##i;                                    \
  }                                                     \
  std::memcpy(out + (i) * pitch, &a##i, sizeof a##i);   \
  std::memcpy(out + (i) * pitch + per, &b##i, sizeof b##i);

// Two vectors of `Bytes` of columns at a time: twelve sums in registers hide the latency of an addition. The second is
// of the next strip where one vector is as wide as a strip.
#define HYPERPARALLEL_PRODUCT_TILE(Bytes)                                \
  HYPERPARALLEL_EXACT_BODY                                               \
  using lanes = typename product_lanes<T, Bytes>::type;                  \
  constexpr extent_t columns = strip_columns<T>, vectors = 64 / (Bytes); \
  constexpr extent_t per = columns / vectors;                            \
  const extent_t second = vectors == 1 ? terms * columns : per;          \
  for (extent_t v = 0; v < vectors; v += 2) {                            \
    T* const out = to + v * per;                                         \
    HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_START_ROW)                      \
    const T* l = left;                                                   \
    const T* r = right + v * per;                                        \
    for (extent_t p = 0; p < terms; ++p, l += tile_rows, r += columns) { \
      lanes x, y;                                                        \
      std::memcpy(&x, r, sizeof x);                                      \
      std::memcpy(&y, r + second, sizeof y);                             \
      HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_ADD_TO_ROW)                   \
    }                                                                    \
    HYPERPARALLEL_EACH_ROW(HYPERPARALLEL_STORE_ROW)                      \
  }

template <class T>
HYPERPARALLEL_EXACT void narrow_product_tile(extent_t terms, const T* left, const T* right, T* to, extent_t pitch,
                                             bool add) {
  HYPERPARALLEL_PRODUCT_TILE(16)
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2")]] HYPERPARALLEL_EXACT void wide_product_tile(extent_t terms, const T* left, const T* right, T* to,
                                                                   extent_t pitch, bool add) {
  HYPERPARALLEL_PRODUCT_TILE(32)
}
template <class T>
[[gnu::target("avx512f")]] HYPERPARALLEL_EXACT void widest_product_tile(extent_t terms, const T* left, const T* right,
                                                                        T* to, extent_t pitch, bool add) {
  HYPERPARALLEL_PRODUCT_TILE(64)
}

/// Whether `a` is faster than `b` a column: the least times of rounds that take turns, on strips of ones.
template <class T>
bool is_faster_tile(const product_tile<T>& a, const product_tile<T>& b) {
  constexpr extent_t terms = 64;
  alignas(64) T strip[hyperparallel::detail::array_bound((tile_rows + 2 * strip_columns<T>)*terms)];
  alignas(64) T out[hyperparallel::detail::array_bound(2 * tile_rows * strip_columns<T>)];
  for (T& x : strip) x = T(1);
  std::int64_t least[2] = {};
  for (int round = 0; round < 32; ++round)
    for (int which = 0; which < 2; ++which) {
      const std::int64_t start = hyperparallel::detail::steady_nanoseconds();
      for (int i = 0; i < 16; ++i)
        (which == 0 ? a : b).run(terms, strip, strip + tile_rows * terms, out, 2 * strip_columns<T>, false);
      const std::int64_t took = hyperparallel::detail::steady_nanoseconds() - start;
      if (round == 0 || took < least[which]) least[which] = took;
    }
  return least[0] * b.strips < least[1] * a.strips;
}

/// The fastest that the processor runs: some do 64 bytes as fast as two times 32, others slower.
template <class T>
product_tile<T> choose_product_tile() {
  static const product_tile<T> chosen = [] {
    const product_tile<T> by_16{narrow_product_tile<T>, 1}, by_32{wide_product_tile<T>, 1};
    const product_tile<T> by_64{widest_product_tile<T>, 2};
    if (__builtin_cpu_supports("avx2") == 0) return by_16;
    if (__builtin_cpu_supports("avx512f") == 0) return by_32;
    return is_faster_tile(by_64, by_32) ? by_64 : by_32;
  }();
  return chosen;
}
#else
template <class T>
product_tile<T> choose_product_tile() {
  return {narrow_product_tile<T>, 1};
}
#endif
#undef HYPERPARALLEL_PRODUCT_TILE
#undef HYPERPARALLEL_STORE_ROW
#undef HYPERPARALLEL_ADD_TO_ROW
#undef HYPERPARALLEL_START_ROW
#undef HYPERPARALLEL_EACH_ROW

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
