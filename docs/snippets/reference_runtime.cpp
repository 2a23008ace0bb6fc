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

  const hp::strided_copy column = hp::flatten({2, 4, {4, 1}, {4, 4}, {0, 2}, {4, 1}, {0, 0}});  // column 2 of 4 × 4
  float matrix[16], third[4];
  std::iota(matrix, matrix + 16, 0.0F);
  const hp::copy_record record{column, std::as_bytes(std::span(matrix)).data(),
                               std::as_writable_bytes(std::span(third)).data()};
  hp::parallel_copy copy(hp::copy_schedule({&record, 1}), {.threads = 2});
  assert(copy.run() == hp::run_result::complete);
  assert(third[3] == 14.0F);
}
