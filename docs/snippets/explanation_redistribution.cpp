// SPDX-License-Identifier: Apache-2.0
// docs/explanation/redistribution.md
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

int main() {}
