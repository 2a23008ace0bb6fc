// SPDX-License-Identifier: Apache-2.0
// docs/reference/redistribution.md
#undef NDEBUG
#include <cassert>
#include <string>
#include <vector>

#include <hyperparallel/hardware.hpp>
#include <hyperparallel/redistribution/busiest_receiver.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/report/draw_layout.hpp>
#include <hyperparallel/report/explain_move.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 4}> {};
using by_row = hp::layout<mesh, "x", hp::none>;
using by_column = hp::layout<mesh, hp::none, hp::axes("y", "x")>;
using sums = hp::layout<mesh, hp::none, hp::none, hp::partial("x")>;

using move = hp::redistribution<by_row, by_column, hp::tensor<hp::f32, 64, 64>>;
static_assert(move::kind == hp::plan_kind::exchange && move::steps == 1);
static_assert(move::bytes_received == move::lower_bound && move::bytes_received == 1024);
static_assert(move::certificate.sent_maximum * 4 == 1024);  // certificates count elements

using reduction = hp::redistribution<sums, by_column, hp::tensor<hp::f32, 64, 64>>;
static_assert(reduction::certificate.received_total == reduction::certificate.least_total);
static_assert(!hp::redistributable<by_row, by_column, hp::tensor<hp::f32, 63, 64>>);

int main() {
  const hp::shape s{64, 64};
  const hp::move_plan plan = hp::plan_move(sums::value, by_column::value, s);
  assert(plan.code == hp::move_code::ok && plan.kind == hp::plan_kind::reduction && plan.reduced == 1);

  hp::extent_t received = 0;  // by rank 5, from others
  for (int i = 0; i < plan.step_count; ++i) {
    const hp::step_receiver r = hp::receiver_of(plan.step[i], s, 5);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(plan.step[i], r, k);
      if (t.sender != r.position) received += hp::volume(t.part);
    }
  }
  assert(received == 512);

  std::vector<hp::extent_t> tally(3 * 8);
  const hp::move_certificate c = hp::certify(plan, tally.data());
  assert(c.received_total == c.least_total && c.received_maximum == hp::most_received(plan));

  const hp::interconnect links = hp::on_topology(hp::matrix384::topology);
  std::vector<hp::extent_t> entries(hp::tally_size(links, 8));
  const hp::chosen_move fast =
      hp::choose_move(sums::value, by_column::value, s, {hp::objective::time, links, 4, 0}, entries.data());
  assert(fast.code == hp::choice_code::ok &&
         fast.figures.time.picoseconds <= fast.alternative[0].figures.time.picoseconds);

  const hp::tensor_side from{by_row::value, {64, 64}, {8, 0}}, to{by_column::value, {128, 32}, {8, 100}};
  const hp::relocation r = hp::plan_relocation(from, to);  // other ranks and another shape
  assert(r.code == hp::relocation_code::ok && r.form == hp::relocation_form::boxes);

  assert(fmt::format("{}", hp::named(plan, mesh::value)) == "reduction: 1 step, x reduced");
  const std::string text = fmt::format("{}", hp::explained(plan, mesh::value, 4));
  const std::string drawing = hp::report::draw_layout(by_row::value, mesh::value, s);
  assert(text.find("ratio                  1.0000") != std::string::npos &&
         drawing.find("| 0-3  |") != std::string::npos);
}
