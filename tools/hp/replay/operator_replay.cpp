// SPDX-License-Identifier: Apache-2.0
// The kinds of hp replay that say how operators shard: a unit of its own, for half of the core is theirs.

#include "operator_kinds.hpp"
#include "rule_kinds.hpp"

namespace replay {

verdict replay_any_operator(const json& v) { return replay_operator(v); }
verdict replay_any_rule(const json& v) { return replay_rule(v); }

}  // namespace replay
