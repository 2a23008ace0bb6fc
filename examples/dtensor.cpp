// SPDX-License-Identifier: Apache-2.0
// A tensor-parallel MLP on eight simulated ranks: the compiler derives every layout, and refuses what cannot work.
#include <cmath>
#include <cstdio>
#include <type_traits>

#include <hyperparallel/dtensor.hpp>

#include "standard_output.hpp"

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using by_token = hp::layout<mesh, "dp", hp::none>;
using whole = hp::layout<mesh, hp::none, hp::none>;

template <int Rows, int Columns, class Layout>
using matrix = hp::dtensor<float, hp::extents<Rows, Columns>, Layout>;
using tokens = matrix<16, 64, by_token>;
using wide = matrix<64, 256, hp::layout<mesh, hp::none, "tp">>;
using tall = matrix<256, 64, hp::layout<mesh, "tp", hp::none>>;

/// Written once, for one device or many.
template <class X, class G, class U, class D>
auto mlp(const X& x, const G& gate, const U& up, const D& down) {
  return matmul(swiglu(matmul(x, gate), matmul(x, up)), down);
}

int main() {
  const hp::rank_group ranks(8);
  const auto x = hp::randn<tokens>(ranks, {.seed = 1});
  const auto gate = hp::randn<wide>(ranks, {.seed = 2});
  const auto up = hp::randn<wide>(ranks, {.seed = 3});
  const auto down = hp::randn<tall>(ranks, {.seed = 4});

  const auto y = mlp(x, gate, up, down);  // a partial sum over tp: it says so in its type
  static_assert(std::is_same_v<decltype(y)::layout, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
  const auto r = y.redistribute<hp::layout<mesh, "dp", "tp">>();  // reduce-scatter

  // The same numbers, created whole on every rank, through the same function.
  const auto one =
      mlp(hp::randn<matrix<16, 64, whole>>(ranks, {.seed = 1}), hp::randn<matrix<64, 256, whole>>(ranks, {.seed = 2}),
          hp::randn<matrix<64, 256, whole>>(ranks, {.seed = 3}), hp::randn<matrix<256, 64, whole>>(ranks, {.seed = 4}));
  float worst = 0, largest = 0;
  const auto a = r.full_tensor(), b = one.full_tensor();
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::fmax(worst, std::fabs(a[i] - b[i]));
    largest = std::fmax(largest, std::fabs(b[i]));
  }
  std::printf("rank 5 holds %d x %d of 16 x 64; sharded and whole differ by %.1e of the largest, from rounding\n",
              static_cast<int>(r.local_shape(5).extent[0]), static_cast<int>(r.local_shape(5).extent[1]),
              static_cast<double>(worst / largest));
  return finished("dtensor", worst <= 1e-5F * largest ? 0 : 1);
}
