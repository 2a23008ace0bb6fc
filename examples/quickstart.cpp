// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};  // 16 ranks
using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;                             // tensor map
using y = hp::layout<mesh, hp::none, "cp", "tp">;                                             // dp replicates
using activations = hp::tensor<hp::bf16, 8, 4096, 7168>;
using move = hp::redistribution<x, y, activations>;

static_assert(hp::slice<x>(activations::shape, /*rank=*/5) == hp::box{{0, 4}, {0, 4096}, {4480, 5376}});
static_assert(move::bytes_received == move::lower_bound && move::steps == 1);  // a proof, not a measurement

int main() {
  std::printf("x -> y is one %s: each rank receives %.1f MB, and no program can do with less\n",
              hp::name_of(move::kind), static_cast<double>(move::bytes_received) / 1e6);
}
