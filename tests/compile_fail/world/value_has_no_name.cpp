// SPDX-License-Identifier: Apache-2.0
// Values that are given without names.
// expect: diag::value_has_no_name<
// expect: double
#include <hyperparallel/hana.hpp>

namespace hp = hyperparallel;
using namespace hp::literals;

template <class... Value>
concept are_named = (requires { Value::name; } && ...);
static_assert(are_named<hp::named_value<"rate", double>> && !are_named<double>);

#ifdef NEGATIVE
void once() { hp::values(0.5); }
void again() { hp::values(0.25); }
void more() { hp::values(0.125); }
#else
auto once() { return hp::values("rate"_n = 0.5); }
#endif
