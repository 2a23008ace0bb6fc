// SPDX-License-Identifier: Apache-2.0
// docs/reference/runtime.md
#undef NDEBUG
#include <cassert>
#include <numeric>
#include <span>

#include <hyperparallel/runtime/redistribute.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
using by_row = hp::layout<mesh, hp::axes("x", "y"), hp::none>;
using by_column = hp::layout<mesh, hp::none, hp::axes("x", "y")>;

int main() {
  hp::arena_redistribution move(by_row::value, by_column::value, hp::shape{4, 4}, sizeof(float));
  for (int rank = 0; rank < move.ranks(); ++rank) {
    const std::span<float> row = move.source<float>(rank);  // rank r holds row r: 4r, 4r + 1, …
    std::iota(row.begin(), row.end(), 4.0F * static_cast<float>(rank));
  }
  assert(move.run() == hp::run_result::complete);
  assert(move.target<float>(1)[2] == 9.0F);       // column 1, row 2
  assert(move.received(1) == 3 * sizeof(float));  // all but its own element, which is the bound
}
