// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/shard.hpp>
#include <hyperparallel/support/version.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, hp::axes("dp", "tp"), hp::none>;
using columns = hp::layout<mesh, hp::none, hp::axes("dp", "tp")>;
using move = hp::redistribution<rows, columns, hp::tensor<hp::bf16, 64, 64>>;

static_assert(hp::version.major_number == HYPERPARALLEL_VERSION_MAJOR);

int main() { return move::bytes_received == move::lower_bound ? 0 : 1; }
