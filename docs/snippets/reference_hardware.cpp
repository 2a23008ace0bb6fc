// SPDX-License-Identifier: Apache-2.0
// docs/reference/hardware.md
#include <hyperparallel/hardware.hpp>

namespace hp = hyperparallel;

constexpr const hp::device_value& die = hp::matrix384::device;
constexpr const hp::topology_value& supernode = hp::matrix384::topology;

static_assert(hp::level_between(supernode, 0, 1) == 0);   // two dies of one package
static_assert(hp::level_between(supernode, 0, 15) == 1);  // one UB switch
static_assert(hp::transfer_time(supernode.level[1], 196 * hp::megabyte).picoseconds ==
              1 * hp::millisecond + 930 * hp::nanosecond);
static_assert(hp::matmul_time(die, 256, 256, 7168, die.gmm_warm).ok());
static_assert(hp::matmul_time(die, 256, 256, 7168, die.gmm_warm, /*cores=*/25).code ==
              hp::cost_code::count_exceeds_the_device);

constexpr hp::collective_request gather{.kind = hp::collective::all_gather, .ranks = 16, .bytes = 448 * hp::MiB};
static_assert(hp::cheapest_algorithm(gather, supernode.level[1], /*mesh=*/false).algorithm ==
              hp::collective_algorithm::log_step);
static_assert(hp::collective_time(gather, supernode.level[1]).picoseconds >=
              hp::bandwidth_bound(gather.kind, 16, gather.bytes, supernode.level[1].bandwidth).picoseconds);

constexpr hp::full_mesh_value make_rack() {
  hp::full_mesh_value rack;  // 8 boards of 8 devices
  rack.level_count = 2;
  rack.level[0] = {"between_boards", 8, 25 * hp::gigabyte, hp::microsecond};
  rack.level[1] = {"on_a_board", 8, 25 * hp::gigabyte, hp::microsecond};
  return rack;
}
struct rack_of_dies : hp::ascend_910c_die {
  static constexpr hp::full_mesh_value topology = make_rack();
};
static_assert(hp::device_count(rack_of_dies::topology) == 64);
static_assert(hp::check_hardware(rack_of_dies::device, rack_of_dies::topology, 64).ok());

// How far apart in a sequence of touches the same bytes are used decides whether L2 still holds them.
constexpr hp::l2_cache cache = hp::l2_of(die);  // 192 MiB
static_assert(hp::missed_bytes(cache, hp::MiB, /*distance=*/192 * hp::MiB) == 0);
static_assert(hp::missed_bytes(cache, hp::MiB, /*distance=*/193 * hp::MiB) == hp::MiB);

// AIVs that send and AIVs that compute: 24 of 48 saturate the fabric, so no more are given to it.
constexpr hp::vector_load load{.sent = 411 * hp::megabyte, .moved = 403 * hp::megabyte};
static_assert(hp::choose_vector_split(die, 196 * hp::gigabyte, hp::matrix384::saturation, load).communication == 24);

int main() {}
