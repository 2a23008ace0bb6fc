// SPDX-License-Identifier: Apache-2.0
// A user's operator has the name of a built-in one.
// expect: diag::operator_stands_twice_in_the_list<
// expect: silu
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mine {
  static constexpr const char *name = "mine", *text = "*->*";
};
struct silu {
  static constexpr const char *name = "silu", *text = "*->*";
};

#ifdef NEGATIVE
using list = hp::operators<hp::builtin, mine, silu>;
#else
using list = hp::operators<hp::builtin, mine>;
#endif

constexpr hp::operator_list listed = list::list;
constexpr bool has_one = listed.has(static_cast<hp::operator_id>(hp::builtin_operator_count));
