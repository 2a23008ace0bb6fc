// SPDX-License-Identifier: Apache-2.0
// docs/reference/tile-chains.md
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/mpmd.hpp>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

/// The up projection of a feed-forward layer on eight ranks: rows gathered, columns cut.
constexpr hp::collective_matmul up(bool serialized) {
  hp::collective_matmul p;
  p.form = hp::collective_matmul_form::gather_multiply;
  p.rows = 8192;
  p.depth = 8192;
  p.columns = 28672 / 8;
  p.devices = 8;
  p.serialized = serialized;
  const hp::device_value& device = hp::matrix384::device;
  p.time = hp::price_collective_matmul(p, device, 24, device.gmm_warm, hp::matrix384::topology.level[1]);
  return p;
}

constexpr hp::machine_shape die{1, {24, 24, 1, 0, 0}};
constexpr hp::schedule_options hop{hp::priority::upward_rank, 2 * hp::microsecond};
using fused = hp::static_taskflow<hp::builder_of<hp::collective_matmul_builder{up(false)}>, die, hop>;
using operators = hp::static_taskflow<hp::builder_of<hp::collective_matmul_builder{up(true)}>, die, hop>;

static_assert(fused::safety.code == hp::verify_code::ok && fused::certificate.ratio() <= 10220);
static_assert(fused::timeline.communication.masked_share() > 9500);
static_assert(operators::timeline.communication.masked_share() == 0);
static_assert(operators::makespan * 100 > fused::makespan * 135);

/// Two stages over four blocks of two groups: a product of each block, and a sum of each group in the order of blocks.
constexpr hp::tile_chain products_and_sums() {
  hp::tile_chain c;
  const int space = hp::add_space(c, 4, 2);
  const int rows = hp::add_tensor(c, space, hp::grain::item, 4096);
  const int product = hp::add_tensor(c, space, hp::grain::item, 4096);
  const int total = hp::add_tensor(c, space, hp::grain::group, 4096);
  hp::tile_stage& multiply = hp::add_stage(c, 0, space, hp::grain::item, {hp::resource::aic, 3, 10}, 0);
  hp::add_read(multiply, rows);
  hp::add_write(multiply, product);
  hp::tile_stage& add = hp::add_stage(c, 1, space, hp::grain::item, {hp::resource::aiv, 2, 4}, 1);
  add.folds = true;
  hp::add_read(add, product);
  hp::add_read(add, total, hp::grain::tile);
  hp::add_write(add, total);
  return c;
}
static_assert(hp::check(products_and_sums()).code == hp::chain_code::ok);
static_assert(hp::measure(hp::chain_builder{products_and_sums()}).tasks == 4 * 3 + 4 * 2);

/// The sum stands a block in front of the product that it reads.
constexpr hp::tile_chain too_early() {
  hp::tile_chain c = products_and_sums();
  c.stage[0].lag = 2;
  return c;
}
static_assert(hp::check(too_early()) == hp::chain_status{hp::chain_code::result_is_read_too_early, 1, 1});

int main() {}
