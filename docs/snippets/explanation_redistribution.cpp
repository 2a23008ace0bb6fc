// SPDX-License-Identifier: Apache-2.0
// docs/explanation/redistribution.md
#include <hyperparallel/hardware.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}, hp::axis{"z", 2}> {};
using matrix = hp::tensor<hp::f32, 8, 8>;

using from = hp::layout<mesh, hp::axes("x", "y"), "z">;
using to = hp::layout<mesh, hp::none, hp::axes("z", "y")>;

constexpr hp::digit_table digits = hp::refine(from::value, to::value, matrix::shape);
static_assert(digits.refinable && digits.count == 4);
static_assert(hp::is_gathered(digits.digit[0]));  // dim 0, x: local in the target
static_assert(hp::is_gathered(digits.digit[1]));  // dim 0, y: local in the target
static_assert(hp::is_kept(digits.digit[2]));      // dim 1, z
static_assert(hp::is_sliced(digits.digit[3]));    // dim 1, y: local in the source

using move = hp::redistribution<from, to, matrix>;
static_assert(move::plan.target_elements == 16);       // |T| = 8 · 2
static_assert(move::plan.lower_bound == 16 - 16 / 4);  // g = 2 · 2 gathered, nothing moved
static_assert(move::plan.received_maximum == move::plan.lower_bound);
static_assert(move::plan.fan_in == 4 && move::messages == 3 && move::steps == 1);

struct six : hp::device_matrix<hp::axis{"a", 2}, hp::axis{"b", 3}> {};
using by_two = hp::layout<six, "a", hp::none>;
using by_three = hp::layout<six, "b", hp::none>;
using rows = hp::tensor<hp::f32, 6, 4>;
static_assert(!hp::refine(by_two::value, by_three::value, rows::shape).refinable);  // 2 and 3 do not divide each other
using crossing = hp::redistribution<by_two, by_three, rows>;
static_assert(!crossing::plan.refined && crossing::bytes_received == crossing::lower_bound);

struct eight : hp::device_matrix<hp::axis{"g", 4}, hp::axis{"r", 2}> {};  // terms along g, copies of them along r
using vector = hp::tensor<hp::f32, 64>;
using terms = hp::layout<eight, hp::none, hp::partial("g")>;
using whole = hp::layout<eight, hp::none>;

using summed = hp::redistribution<terms, whole, vector>;
static_assert(summed::kind == hp::plan_kind::all_reduce && summed::steps == 2);  // collect, spread
static_assert(summed::certificate.received_total == summed::certificate.least_total);
static_assert(summed::certificate.received_maximum == 64 * 5 / 4);  // 1.25 n; without r it were 2 · 3/4 n = 1.5 n

using scattered = hp::redistribution<terms, hp::layout<eight, hp::axes("r", "g")>, vector>;
static_assert(scattered::steps == 1);  // each value is wanted by one device, which reduces it
static_assert(scattered::certificate.received_maximum == 3 * 64 / 8);

using filled = hp::redistribution<hp::layout<eight, "g">, terms, vector>;
static_assert(filled::kind == hp::plan_kind::fill && filled::certificate.received_total == 0);
using copied = hp::redistribution<hp::layout<eight, "g">,
                                  hp::layout<eight, hp::none, hp::partial("g", hp::reduce_op::max)>, vector>;
static_assert(copied::certificate.received_maximum == 48);  // nothing is the identity of max: each device has it all

using beside = hp::redistribution<hp::layout<eight, "r", hp::partial("g")>, terms, vector>;
static_assert(beside::kind == hp::plan_kind::all_gather && beside::whole.kept == 1);  // g stays partial

struct four : hp::device_matrix<hp::axis{"t", 4}> {};
constexpr hp::tensor_side stage = {hp::layout<eight, hp::axes("g", "r")>::value, hp::shape{64}, {8, 0}};
constexpr hp::tensor_side next_stage = {hp::layout<four, "t">::value, hp::shape{64}, {4, 8}};  // ranks 8, 9, 10, 11
constexpr hp::relocation hop = hp::plan_relocation(stage, next_stage);
constexpr hp::relocation_certificate hop_costs = [] {
  hp::extent_t tally[hp::tally_size(hop)] = {};
  return hp::certify(hop, tally);
}();
static_assert(hop_costs.received_total == 64 && hop_costs.received_maximum == 16 && hop_costs.steps == 1);

constexpr hp::chosen_move fastest(hp::extent_t elements) {
  const hp::interconnect links = hp::on_topology(hp::matrix384::topology);
  hp::extent_t entries[hp::tally_size(hp::on_topology(hp::matrix384::topology), 8)] = {};
  return hp::choose_move(terms::value, whole::value, hp::shape{elements}, {hp::objective::time, links, 4, 0}, entries);
}
static_assert(fastest(64).candidate == hp::move_candidate::one_shot);       // 256 B: 3 messages instead of 10
static_assert(fastest(1 << 20).candidate == hp::move_candidate::sliced);    // 4 MiB: level by level
static_assert(fastest(1 << 26).candidate == hp::move_candidate::exchange);  // 256 MiB: fewest bytes, all links at once

int main() {}
