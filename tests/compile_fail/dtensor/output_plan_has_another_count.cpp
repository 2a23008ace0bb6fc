// SPDX-License-Identifier: Apache-2.0
// An output plan of two slots for a function of one result.
// expect: diag::result_count_differs_from_outputs<
// expect: results<1>
// expect: slots<2>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using weight = hp::named_parameter<"up.weight", tensor>;
constexpr auto identity = [](const auto&, const auto& x) { return x; };
using ffn = hp::named_function<"ffn", decltype(identity)>;

#ifdef NEGATIVE
using plan = hp::sharding_plan<hp::plan_activations<"ffn.output", rows, rows>>;
#else
using plan = hp::sharding_plan<hp::plan_activations<"ffn.output", rows>>;
#endif

auto set(const tensor& w) { return hp::named_set(hp::parameter<"up.weight">(w), hp::function<"ffn">(identity)); }
auto once(const tensor& w) { return hp::shard<plan>(set(w)).call<"ffn">(w); }
auto again(const tensor& w) { return hp::shard<plan>(set(w)).call<"ffn">(w).full_tensor(); }
auto more(const tensor& w) { return hp::shard<plan>(set(w)).call<"ffn">(w).reduce_partial(); }
