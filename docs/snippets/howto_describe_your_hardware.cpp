// SPDX-License-Identifier: Apache-2.0
// docs/how-to/describe-your-hardware.md
#undef NDEBUG
#include <cassert>
#include <cstdio>

#include <hyperparallel/hardware.hpp>
#include <hyperparallel/train.hpp>

namespace hp = hyperparallel;

// docs/how-to/describe-your-hardware.md: the device
constexpr hp::device_value make_device() {
  using format = hp::number_format;
  hp::device_value d;
  d.aic = 64;  // matrix cores, and vector cores: what runs one task at a time
  d.aiv = 64;
  d.matrix_flops[static_cast<int>(format::bfloat16)] = 400 * hp::teraflops;  // dense peaks of the data sheet
  d.matrix_flops[static_cast<int>(format::float16)] = 400 * hp::teraflops;
  d.matrix_flops[static_cast<int>(format::float32)] = 50 * hp::teraflops;
  d.vector_flops = 25 * hp::teraflops;
  d.l2_bytes = 40 * hp::MiB;
  d.l2_bandwidth = 5 * hp::terabyte;
  d.tier_count = 2;  // fastest first
  d.tier[0] = {hp::hbm, 80 * hp::GiB, 2 * hp::terabyte, hp::per_mille(850), 0};
  d.tier[1] = {hp::dram, 256 * hp::GiB, 25 * hp::gigabyte, hp::per_mille(900), 5 * hp::microsecond};
  d.gmm_cold = hp::per_mille(600);  // measured: a large matrix product reaches 60 % of the peak
  d.gmm_warm = hp::per_mille(800);
  d.task_overhead = 4 * hp::microsecond;  // launching an operator
  d.synchronisation_latency = 2 * hp::microsecond;
  d.vector_synchronisation_latency = 2 * hp::microsecond;
  return d;
}

// docs/how-to/describe-your-hardware.md: the links
constexpr hp::topology_value make_links() {
  hp::topology_value t;
  t.level_count = 2;  // innermost first
  t.level[0] = {"node", 8, 300 * hp::gigabyte, 2 * hp::microsecond};
  t.level[1] = {"network", 64, 400 * hp::gigabit_per_second, 8 * hp::microsecond};
  return t;
}

struct cluster {
  static constexpr hp::device_value device = make_device();
  static constexpr hp::topology_value topology = make_links();
};
static_assert(hp::hardware_type<cluster>);
static_assert(hp::check_hardware(cluster::device, cluster::topology, /*devices=*/64).ok());

static_assert(hp::level_between(cluster::topology, 0, 7) == 0);  // one node
static_assert(hp::level_between(cluster::topology, 7, 8) == 1);  // neighbours in number, in two nodes

// docs/how-to/describe-your-hardware.md: what is refused
constexpr hp::device_value without_share() {
  hp::device_value d = cluster::device;
  d.tier[0].reached = {};  // 0, not the whole peak
  return d;
}
constexpr hp::hardware_status forgotten = hp::check_hardware(without_share(), cluster::topology, 8);
static_assert(forgotten.device.code == hp::device_code::tier_efficiency_is_not_in_0_to_1 && forgotten.device.at == 0);

constexpr hp::hardware_status too_many = hp::check_hardware(cluster::device, cluster::topology, 128);
static_assert(too_many.topology.code == hp::topology_code::ranks_are_not_joined);
static_assert(too_many.topology.given == 128 && too_many.topology.expected == 64);

// docs/how-to/describe-your-hardware.md: a variant
constexpr hp::topology_value make_faster_links() {
  hp::topology_value t = cluster::topology;
  t.level[1].bandwidth *= 2;
  return t;
}
struct faster_network : cluster {
  static constexpr hp::topology_value topology = make_faster_links();
};

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 64), seq = m.dim("seq", 128);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    int x = hp::token_embedding{.vocabulary = 512, .hidden = 256}(m, tokens);
    x = hp::residual_branch(m, "norm", "residual", 1e-6, x, hp::swiglu_layer{.width = 1024});
    hp::language_head{.vocabulary = 512}(m, x, labels);
  }
};

int main() {
  const hp::graph g = hp::training_graph<language_model>({}, {});
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("dp", 16).strategy);
  const hp::step_account slow = hp::account_on<cluster>(p), fast = hp::account_on<faster_network>(p);
  assert(slow.hardware.ok() && fast.times.total.picoseconds < slow.times.total.picoseconds);
  std::printf("a step takes %.3f ms, with a network twice as fast %.3f ms\n",
              static_cast<double>(slow.times.total.picoseconds) * 1e-9,
              static_cast<double>(fast.times.total.picoseconds) * 1e-9);
}
