// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of factor rules (shardy_op_rules.jsonl): rules of the core, extents, laws of propagation, and the rules that
// the library has for the operators that a vector is enough to know.

#include <string>

#include "rule_guess.hpp"
#include "rule_laws.hpp"

namespace replay {

inline verdict replay_rule(const json& v) {
  const read_rule r = rule_of(v);
  const hp::rule_status s = hp::check_rule(r.rule);
  if (s.code != hp::rule_code::ok)
    return fail("the rule is refused with code " + std::to_string(static_cast<int>(s.code)));
  if (const verdict e = hold_extents(r); e.outcome != outcome::passed) return e;
  long accepted = 0;
  if (const verdict l = hold_laws(r, accepted); l.outcome != outcome::passed) return l;
  if (accepted == 0 && !r.operand.empty()) return fail("no layouts of the operands are accepted");
  const guess_outcome g = compare_with_ours(v, r);
  if (!g.equal && g.confidence == confidence::certain) return fail("our rule of " + g.with + " is another");
  verdict passed;
  passed.note = "held as a rule";
  if (g.equal) passed.note += ", equal to ours of " + g.with;
  if (!g.equal && g.confidence == confidence::likely) passed.note += ", unlike ours of " + g.with;
  return passed;
}

}  // namespace replay
