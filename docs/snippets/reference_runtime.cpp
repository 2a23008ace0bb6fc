// SPDX-License-Identifier: Apache-2.0
// docs/reference/runtime.md
#undef NDEBUG
#include <cassert>
#include <numeric>
#include <span>

#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/shard.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/transfer/redistribute.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
using by_row = hp::layout<mesh, hp::axes("x", "y"), hp::none>;
using by_column = hp::layout<mesh, hp::none, hp::axes("x", "y")>;

// A product in two halves on AIC, then an activation of each half on AIV.
struct halves {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int product = hp::add_event(f, 0);
    for (int half = 0; half < 2; ++half) {
      hp::add_task(f, hp::resource::aic, 0, 10, 0, half);
      hp::add_signal(f, product);
    }
    for (int half = 0; half < 2; ++half) {
      hp::add_task(f, hp::resource::aiv, 0, 10, 1, half);
      hp::add_wait(f, product);
    }
  }
};
constexpr auto flow = hp::build_fixed<hp::measure(halves{})>(halves{});
constexpr auto schedule = hp::schedule_fixed<2>(flow, {1, {1, 1, 0, 0, 0}});
using plan = hp::constant_plan<flow, schedule>;
static_assert(plan::table.size.waits == 1);  // the second activation follows the first one, the first one its product

int main() {
  int data[2] = {};
  hp::executor run(plan{}, {.threads = 2});
  run.bind(0, [](const hp::kernel_call& call) { static_cast<int*>(call.user)[call.item] = call.item + 1; }, data);
  run.bind(1, [](const hp::kernel_call& call) { static_cast<int*>(call.user)[call.item] *= 10; }, data);
  assert(run.run() == hp::run_result::complete);
  assert(data[0] == 10 && data[1] == 20);

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
