// SPDX-License-Identifier: Apache-2.0
// docs/explanation/redistribution-time.md
#include <hyperparallel/hardware.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

// A rack: each of 4 · 4 devices has a private link to the three others of its row and of its column.
struct rack : hp::device_matrix<hp::axis{"x", 4}, hp::axis{"y", 4}> {};
constexpr hp::link_level wire = {"wire", hp::unbounded_group, 25 * hp::gigabyte, 1 * hp::microsecond};
constexpr hp::link_level wires[] = {wire, wire};
constexpr hp::interconnect racked = hp::on_full_mesh(rack::value.shape, wires);

constexpr hp::chosen_move choose(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                                 const hp::move_request& request) {
  hp::extent_t entries[256] = {};  // at least tally_size(request.links, positions)
  return hp::choose_move(from, to, s, request, entries);
}
constexpr hp::time_cost time_of(const hp::chosen_move& c, hp::move_candidate candidate) {
  return c.alternative[static_cast<int>(candidate)].figures.time;
}

constexpr hp::layout_value parts = hp::layout<rack, hp::axes("x", "y")>::value;
constexpr hp::layout_value whole = hp::layout<rack, hp::none>::value;
constexpr hp::move_request fast_on_the_rack = {hp::objective::time, racked, 2};  // elements of two bytes
constexpr hp::chosen_move gathered = choose(parts, whole, hp::shape{1 << 20}, fast_on_the_rack);
static_assert(gathered.candidate == hp::move_candidate::both_orders && gathered.plan.count == 2);
static_assert(gathered.alternative[0].why_not == hp::candidate_code::links_do_not_carry_it);  // the exchange

constexpr hp::full_mesh_2d formulas = {4, 4, wire, wire};
static_assert(gathered.figures.time == hp::all_gather_two_orders(formulas, 2 << 20));
static_assert(time_of(gathered, hp::move_candidate::outer_first) == hp::all_gather_x_then_y(formulas, 2 << 20));

constexpr hp::layout_value upright = hp::layout<rack, "x", "y">::value;
constexpr hp::layout_value turned = hp::layout<rack, "y", "x">::value;
constexpr hp::chosen_move transposed = choose(upright, turned, hp::shape{1024, 1024}, fast_on_the_rack);
static_assert(transposed.candidate == hp::move_candidate::halves);
static_assert(transposed.alternative[static_cast<int>(hp::move_candidate::parked)].figures.steps == 3);

// Two hosts of four devices.
struct hosts : hp::device_matrix<hp::axis{"host", 2}, hp::axis{"device", 4}> {};
constexpr hp::topology_value make_two_levels() {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"inside", 4, 200 * hp::gigabyte, 1 * hp::microsecond};
  t.level[1] = {"between", hp::unbounded_group, 25 * hp::gigabyte, 10 * hp::microsecond};
  return t;
}
constexpr hp::interconnect two_levels = hp::on_topology(make_two_levels());

constexpr hp::layout_value terms = hp::layout<hosts, hp::none, hp::partial("host"), hp::partial("device")>::value;
constexpr hp::layout_value sum = hp::layout<hosts, hp::none>::value;
constexpr hp::chosen_move reduced = choose(terms, sum, hp::shape{1 << 20}, {hp::objective::time, two_levels, 4});
static_assert(reduced.candidate == hp::move_candidate::outer_first && reduced.figures.steps == 4);
static_assert(reduced.figures.time == hp::hierarchical_all_reduce_time(two_levels.topology.level[0], 4,
                                                                       two_levels.topology.level[1], 2, 4 << 20));
static_assert(!hp::folds_by_position(reduced.plan));
constexpr hp::chosen_move same_bits =
    choose(terms, sum, hp::shape{1 << 20}, {hp::objective::time, two_levels, 4, 0, true});
static_assert(same_bits.candidate == hp::move_candidate::exchange);

constexpr hp::layout_value rows = hp::layout<hosts, "device", hp::none>::value;
constexpr hp::layout_value columns = hp::layout<hosts, hp::none, "host">::value;
constexpr hp::chosen_move roomy = choose(rows, columns, hp::shape{64, 64}, {hp::objective::bytes, two_levels, 4});
static_assert(roomy.candidate == hp::move_candidate::exchange && roomy.figures.peak_elements == 1024 + 2048);
static_assert(roomy.smallest_peak == 2048 + 512);  // host slices first, then device is gathered
constexpr hp::chosen_move tight = choose(rows, columns, hp::shape{64, 64}, {hp::objective::bytes, two_levels, 4, 2560});
static_assert(tight.candidate == hp::move_candidate::normal_form);
static_assert(choose(rows, columns, hp::shape{64, 64}, {hp::objective::bytes, two_levels, 4, 2559}).code ==
              hp::choice_code::no_candidate_fits_the_memory);

int main() {}
