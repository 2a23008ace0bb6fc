// SPDX-License-Identifier: Apache-2.0
// A parameter that the set does not have.
// expect: diag::name_is_unknown<
// expect: alias<'u', 'p'>
// expect: nearest_name<'u', 'p', '.', 'w', 'e', 'i', 'g', 'h', 't'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using weight = hp::named_parameter<"up.weight", tensor>;
constexpr auto identity = [](const auto&, const auto& x) { return x; };
using ffn = hp::named_function<"ffn", decltype(identity)>;

#ifdef NEGATIVE
constexpr hp::fixed_string<3> name("up");
#else
constexpr hp::fixed_string<10> name("up.weight");
#endif

auto set(const tensor& w) { return hp::named_set(hp::parameter<"up.weight">(w), hp::function<"ffn">(identity)); }
auto once(const tensor& w) { return set(w).get<name>(); }
auto again(const tensor& w) { return set(w).get<name>().full_tensor(); }
auto more(const tensor& w) { return set(w).get<name>().reduce_partial(); }
