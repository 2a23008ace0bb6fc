// SPDX-License-Identifier: Apache-2.0
// A user's operator without the text of its factor rule.
// expect: diag::operator_has_no_name_or_no_rule<
// expect: mine
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mine {
  static constexpr const char* name = "mine";
#ifndef NEGATIVE
  static constexpr const char* text = "*->*";
#endif
};

using list = hp::operators<hp::builtin, mine>;
constexpr hp::operator_list listed = list::list;
constexpr int operators = listed.count;
