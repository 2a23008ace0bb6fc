// SPDX-License-Identifier: Apache-2.0
// A model whose layers are in a container that may hold any number of them: they would not be trained.
// expect: diag::member_is_no_parameter_no_model_and_no_setting<
// expect: alias<'l', 'a', 'y', 'e', 'r', 's'>
#include <array>
#include <vector>

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/hana.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using weight = hp::dtensor<float, hp::extents<4, 4>, hp::layout<mesh, "dp", hp::none>>;
#ifdef NEGATIVE
using weights = std::vector<weight>;
#else
using weights = std::array<weight, 2>;
#endif
struct net {
  BOOST_HANA_DEFINE_STRUCT(net, (int, steps), (weights, layers), (weight, last));
};
static_assert(!hp::detail::model_setting<std::vector<weight>> && !hp::detail::model_setting<weight>);

auto once(const net& n) { return hp::parameters(n); }
void again(net& n) { hp::set_parameters(n, hp::parameters(n)); }
void more(const net& n) { (void)hp::parameters(n); }
