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

int main() {}
