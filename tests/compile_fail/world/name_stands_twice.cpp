// SPDX-License-Identifier: Apache-2.0
// Two values of one name.
// expect: diag::name_stands_twice<
// expect: alias<'r', 'a', 't', 'e'>
#include <hyperparallel/hana.hpp>

namespace hp = hyperparallel;
using namespace hp::literals;

template <class... Named>
concept distinct = hp::detail::names_are_distinct<Named...>();
using rate = hp::named_value<"rate", double>;
using steps = hp::named_value<"steps", int>;
static_assert(distinct<rate, steps> && !distinct<rate, steps, rate>);

#ifdef NEGATIVE
void once() { hp::values("rate"_n = 0.5, "steps"_n = 3, "rate"_n = 0.25); }
void again() { hp::values("rate"_n = 0.5, "steps"_n = 4, "rate"_n = 0.5); }
#else
auto once() { return hp::values("rate"_n = 0.5, "steps"_n = 3); }
#endif
