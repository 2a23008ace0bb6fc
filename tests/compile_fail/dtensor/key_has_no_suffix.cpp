// SPDX-License-Identifier: Apache-2.0
// A plan for activations that are neither inputs nor outputs.
// expect: diag::sharding_plan_does_not_fit<
// expect: key_ends_neither_in_input_nor_output
// expect: alias<'f', 'f', 'n', '.', 'i', 'n'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using weight = hp::named_parameter<"up.weight", tensor>;
constexpr auto identity = [](const auto&, const auto& x) { return x; };
using ffn = hp::named_function<"ffn", decltype(identity)>;
using good = hp::sharding_plan<hp::plan_activations<"ffn.input", rows>>;
using bad = hp::sharding_plan<hp::plan_activations<"ffn.in", rows>>;

static_assert(hp::plans<good, weight, ffn>);
static_assert(!hp::plans<bad, weight, ffn>);

#ifdef NEGATIVE
using plan = bad;
#else
using plan = good;
#endif

auto set(const tensor& w) { return hp::named_set(hp::parameter<"up.weight">(w), hp::function<"ffn">(identity)); }
auto once(const tensor& w) { return hp::shard<plan>(set(w)); }
auto again(const tensor& w) { return hp::shard<plan>(set(w)).get<"up.weight">(); }
auto more(const tensor& w) { return hp::shard<plan>(set(w)).call<"ffn">(w); }
