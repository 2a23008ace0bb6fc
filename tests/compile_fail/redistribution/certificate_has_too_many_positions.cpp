// SPDX-License-Identifier: Apache-2.0
// The certificate of a move is counted position by position: on a mesh of 2^30 it is asked for at run time, if at all.
// expect: diag::certificate_of_a_move_has_too_many_positions<
// expect: positions<1073741824>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct large : hp::device_matrix<hp::axis{"a", 32768}, hp::axis{"b", 32768}> {};
struct small : hp::device_matrix<hp::axis{"a", 4}, hp::axis{"b", 2}> {};
template <class Mesh>
using move =
    hp::redistribution<hp::layout<Mesh, "a", "b">, hp::layout<Mesh, "b", "a">, hp::tensor<hp::f32, 1048576, 1048576>>;

static_assert(move<large>::bytes_received == move<large>::lower_bound);  // the plan itself needs no count

#ifdef NEGATIVE
using counted = move<large>;
#else
using counted = move<small>;
#endif

constexpr hp::extent_t total = counted::certificate.received_total;
constexpr hp::extent_t least = counted::certificate.least_total;
constexpr int steps = counted::certificate.steps;
