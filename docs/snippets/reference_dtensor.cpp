// SPDX-License-Identifier: Apache-2.0
// docs/reference/dtensor.md
#include <cassert>
#include <concepts>
#include <memory>
#include <type_traits>

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/dtensor/keep_in_session.hpp>
#include <hyperparallel/hana.hpp>
#include <hyperparallel/hardware.hpp>

namespace hp = hyperparallel;
using namespace hp::literals;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using by_token = hp::layout<mesh, "dp", hp::none>;
using by_column = hp::layout<mesh, hp::none, "tp">;
using by_row = hp::layout<mesh, "tp", hp::none>;

/// A user's operator: the rule tells how it is sharded, the kernel what it does on one device.
struct square_plus_one {
  constexpr hp::rule_result rule(const hp::shape* x, int) const {
    return hp::rules::same_shape("square_plus_one", x[0].rank, 1, hp::refuse_partials(), 2);
  }
  template <std::floating_point T>
  void run(const hp::local_operation&, hp::const_view<T> x, hp::tensor_view<T> out) const {
    for (hp::extent_t i = 0; i < hp::volume(x); ++i) out.data[i] = x.data[i] * x.data[i] + 1;
  }
};

void dtensors(const hp::rank_group& ranks) {
  using tokens = hp::dtensor<float, hp::extents<8, 64>, by_token>;
  using weight = hp::dtensor<float, hp::extents<64, 32>, by_column>;

  const tokens x = hp::randn<tokens>(ranks, {.seed = 1});  // the same numbers under every layout
  const auto h = matmul(x, hp::ones<weight>(ranks));
  static_assert(std::is_same_v<decltype(h)::layout, hp::layout<mesh, "dp", "tp">>);

  const auto rows = hp::sum<-1>(h);  // partial over tp, in the type
  static_assert(std::is_same_v<decltype(rows)::layout, hp::layout<mesh, "dp", hp::partial("tp")>>);
  const auto all = rows.redistribute<hp::layout<mesh, hp::none>>();
  assert(all.to_local(3).size() == 8 && all.full_tensor() == rows.full_tensor());

  static_assert(!hp::applies<hp::operations::softmax{}, std::remove_const_t<decltype(h)>>);  // its rows are cut
  const auto p = softmax(h.redistribute<by_token>());
  assert(p.local_shape(0) == hp::shape(4, 32));

  const auto q = hp::apply<square_plus_one{}>(x);  // and the run-time twin of the same operator:
  const hp::dynamic_dtensor twin = hp::apply(square_plus_one{}, x.dynamic());
  assert(hp::full_tensor<float>(twin) == q.full_tensor());
}

void gradients(const hp::rank_group& ranks) {
  using tokens = hp::dtensor<float, hp::extents<8, 64>, by_token>;
  using weight = hp::dtensor<float, hp::extents<64, 32>, by_column>;
  const auto x = hp::randn<tokens>(ranks, {.seed = 1});
  auto waves = hp::randn<weight>(ranks, {.seed = 2});
  hp::adamw_state<weight> state(ranks);

  const auto loss_of = [&](const auto& w) { return mean(matmul(x, w)); };
  const auto [loss, gradients] = hp::value_and_gradient(loss_of, waves);
  const auto& d_waves = std::get<0>(gradients);  // it waits for its sum over dp, and says so
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(d_waves)>::layout,
                               hp::layout<mesh, hp::none, "tp", hp::partial("dp")>>);
  const auto clip = hp::clip_factor(1.0, d_waves.reduce_partial());
  hp::adamw_update({.rate = 1e-2}, /*step=*/1, waves, d_waves.reduce_partial(), state, clip);
  assert(loss.full_tensor().size() == 1);

  const auto before = hp::value_and_gradient(loss_of, waves);
  hp::offload_session session({{"hbm", 64 * hp::KiB}, {"dram", hp::MiB}});
  const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
  const hp::keep_in_session scope(session);
  const auto again = hp::value_and_gradient(loss_of, waves);
  assert(again.value.full_tensor() == before.value.full_tensor());
}

using weight = hp::dtensor<float, hp::extents<64, 32>, by_column>;
using row_weight = hp::dtensor<float, hp::extents<32, 64>, by_row>;
struct mlp {
  BOOST_HANA_DEFINE_STRUCT(mlp, (weight, up), (row_weight, down));
};

void named(const hp::rank_group& ranks) {
  const auto x = hp::randn<hp::dtensor<float, hp::extents<8, 64>, by_token>>(ranks, {.seed = 1});
  mlp model{hp::randn<weight>(ranks, {.seed = 2}), hp::randn<row_weight>(ranks, {.seed = 3})};
  auto weights = hp::parameters(model);  // "up", "down"; of nested structs "block.up", of arrays "layers.0.up"
  auto states = hp::adamw_states(weights);
  const auto loss_of = [](const auto& w, const auto& in) {
    return mean(matmul(silu(matmul(in, w["up"_n])), w["down"_n]).reduce_partial());
  };
  for (int step = 1; step <= 3; ++step) {
    const auto [loss, d] = hp::value_and_gradient(loss_of, weights, x);
    hp::adamw_update({.rate = 1e-2}, step, weights, d, states);  // each reduced to where its parameter lies
  }
  hp::set_parameters(model, weights);
  assert(model.up.full_tensor() == weights["up"_n].full_tensor());
}

void manual(const hp::rank_group& ranks) {
  using tokens = hp::dtensor<float, hp::extents<8, 64>, by_token>;
  const auto doubled = hp::custom_shard<hp::inputs<by_column, hp::unplaced>, hp::outputs<by_column>>(
      [](hp::const_view<float> mine, float by) {
        hp::local_tensor<float> out(mine.extents);
        for (hp::extent_t i = 0; i < hp::volume(mine); ++i) out.data()[i] = by * mine.data[i];
        return out;
      });
  const auto y = doubled(hp::ones<tokens>(ranks), 2.0F);  // redistributed by token → by column on the way in
  assert(y.local_shape(0) == hp::shape(8, 32) && y.full_tensor()[9] == 2.0F);
}

void shard(const hp::rank_group& ranks) {
  using whole = hp::layout<mesh, hp::none, hp::none>;
  using matrix = hp::dtensor<float, hp::extents<16, 16>, whole>;
  const auto mlp = hp::named_set(
      hp::parameter<"up.weight">(hp::ones<matrix>(ranks)), hp::parameter<"down.weight">(hp::ones<matrix>(ranks)),
      hp::function<"ffn">([](const auto& set, const auto& x) {
        return matmul(relu(matmul(x, set.template get<"up.weight">())), set.template get<"down.weight">());
      }));
  using plan =
      hp::sharding_plan<hp::plan_parameter<"*.weight", by_column>, hp::plan_parameter<"down.*", by_row>,
                        hp::plan_activations<"ffn.input", by_token>, hp::plan_activations<"ffn.output", by_token>>;
  const auto sharded = hp::shard<plan>(mlp);
  const auto y = sharded.call<"ffn">(hp::ones<matrix>(ranks));
  static_assert(std::is_same_v<decltype(y)::layout, by_token>);
  assert(y.full_tensor()[0] == 256.0F);
}

int main() {
  const hp::rank_group ranks(4);
  dtensors(ranks);
  gradients(ranks);
  named(ranks);
  manual(ranks);
  shard(ranks);
}
