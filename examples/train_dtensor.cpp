// SPDX-License-Identifier: Apache-2.0
// The tensor-parallel mlp of dtensor.cpp, trained: gradients come with their layouts and pending sums in their types.
#include <cstdio>
#include <type_traits>

#include <hyperparallel/dtensor.hpp>

#include "standard_output.hpp"

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <int Rows, int Columns, class Layout>
using matrix = hp::dtensor<float, hp::extents<Rows, Columns>, Layout>;
using tokens = matrix<16, 64, hp::layout<mesh, "dp", hp::none>>;
using wide = matrix<64, 256, hp::layout<mesh, hp::none, "tp">>;
using tall = matrix<256, 64, hp::layout<mesh, "tp", hp::none>>;

/// Written once: for tensors, and for variables of a gradient.
template <class X, class G, class U, class D>
auto mlp(const X& x, const G& gate, const U& up, const D& down) {
  return matmul(swiglu(matmul(x, gate), matmul(x, up)), down);
}

int main() {
  const hp::rank_group ranks(8);
  const auto x = hp::randn<tokens>(ranks, {.seed = 1});
  const auto minus_target = hp::randn<tokens>(ranks, {.seed = 2});
  auto gate = scale(hp::randn<wide>(ranks, {.seed = 3}), 0.1F);
  auto up = scale(hp::randn<wide>(ranks, {.seed = 4}), 0.1F);
  auto down = scale(hp::randn<tall>(ranks, {.seed = 5}), 0.05F);
  hp::adamw_state<wide> of_gate(ranks), of_up(ranks);
  hp::adamw_state<tall> of_down(ranks);

  const auto loss_of = [&](const auto& g, const auto& u, const auto& d) {
    const auto error = mlp(x, g, u, d).reduce_partial() + minus_target;
    return mean(error * error);
  };
  float first = 0, last = 0;
  for (int step = 1; step <= 50; ++step) {
    const auto [loss, gradients] = hp::value_and_gradient<0, 1, 2>(loss_of, gate, up, down);
    const auto& [d_gate, d_up, d_down] = gradients;  // each is a pending sum over dp
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(d_up)>::layout,
                                 hp::layout<mesh, hp::none, "tp", hp::partial("dp")>>);
    const auto g = d_gate.reduce_partial(), u = d_up.reduce_partial();
    const auto d = d_down.reduce_partial();
    const auto clip = hp::clip_factor(1.0, g, u, d);
    const hp::optimizer_value adamw{.rate = 3e-3};
    hp::adamw_update(adamw, step, gate, g, of_gate, clip);
    hp::adamw_update(adamw, step, up, u, of_up, clip);
    hp::adamw_update(adamw, step, down, d, of_down, clip);
    last = loss.full_tensor()[0];
    if (step == 1) first = last;
    if (step % 10 == 0) std::printf("step %2d  loss %.4f\n", step, static_cast<double>(last));
  }
  return finished("train_dtensor", last < 0.2F * first ? 0 : 1);
}
