// SPDX-License-Identifier: Apache-2.0
#pragma once
// The space that strategy search covers in one frame: what each part of a model may do with the tensor axes.
//
// A family is a row of rules on x and tp, as in strategy/strategies.hpp; each part takes one of those that fit the frame,
// narrowed to the part, equal ones once. Rules of data, experts, context and sharded states are the frame's.
// Law: where all parts take one family, the strategy decides what the family's rules decide by themselves.

#include <hyperparallel/lowering/part_rules.hpp>
#include <hyperparallel/price/plan_frame.hpp>
#include <hyperparallel/strategy/strategies.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

struct tensor_family {
  const char* name;
  bool two_axes;  ///< speaks of x, which the others leave to themselves
  bool reduced;   ///< in the reduced set
  void (*add)(strategy_value&);
};

constexpr void add_tensor_experts(strategy_value& s) {
  add_replicated_expert_parallel(s, "tp");
  add_tensor_parallel(s, "tp");
}

inline constexpr tensor_family tensor_family_table[] = {
    {"tensor", false, true, [](strategy_value& s) { add_tensor_parallel(s, "tp"); }},
    {"tensor, sequence", false, true,
     [](strategy_value& s) {
       add_tensor_parallel(s, "tp");
       add_sequence_parallel(s, "tp");
     }},
    {"tensor, hidden", false, false,
     [](strategy_value& s) {
       add_tensor_parallel(s, "tp");
       s.add(shard_dim_if_divisible("hidden", "tp"));
     }},
    {"tensor, experts", false, false, [](strategy_value& s) { add_tensor_experts(s); }},
    {"tensor, experts, sequence", false, true,
     [](strategy_value& s) {
       add_tensor_experts(s);
       add_sequence_parallel(s, "tp");
     }},
    {"data", false, false, [](strategy_value& s) { s.add(shard_dim_if_divisible("batch", "tp")); }},
    {"sequence", false, false, [](strategy_value& s) { add_gathered_context(s, "tp"); }},
    {"all-to-all", false, false, [](strategy_value& s) { add_ulysses(s, "tp"); }},
    {"2d", true, true, [](strategy_value& s) { add_tensor_2d(s, "x", "tp"); }},
    {"tensor twice", true, false,
     [](strategy_value& s) {
       add_tensor_parallel(s, "tp");
       add_tensor_parallel(s, "x");
     }},
    {"tensor twice, sequence", true, true,
     [](strategy_value& s) {
       add_tensor_parallel(s, "tp");
       add_tensor_parallel(s, "x");
       add_sequence_parallel(s, "x");
       add_sequence_parallel(s, "tp");
     }},
    {"summa", true, false, [](strategy_value& s) { add_summa(s, "x", "tp"); }},
    {"tensor in all-to-all", true, false,
     [](strategy_value& s) {
       add_ulysses(s, "x");
       add_tensor_parallel(s, "tp");
       add_sequence_parallel(s, "tp");
     }},
};
inline constexpr int tensor_family_count =
    static_cast<int>(sizeof(tensor_family_table) / sizeof(tensor_family_table[0]));

}  // namespace detail

/// What one part may do: the family's name and its rules, narrowed to the part.
struct part_candidate {
  short_text name;
  growing_array<strategy_rule> rule;
};

/// Everything that may be chosen on one mesh under one set of options.
struct plan_space {
  plan_frame frame{};
  strategy_value base{};               ///< mesh and flags; rules that come before those of the parts
  growing_array<strategy_rule> after;  ///< and those that come behind
  int parts = 0;
  growing_array<part_candidate> candidate[max_model_parts];  ///< of each part
  bool names_suffice = true;
};

namespace detail {

/// Adds a candidate unless one with the same rules is listed.
constexpr void list_once(growing_array<part_candidate>& list, const part_candidate& c) {
  for (const part_candidate& known : list)
    if (known.rule == c.rule) return;
  list.push(c);
}

constexpr bool fits_frame(const tensor_family& f, const plan_frame& frame, bool reduced) {
  if (frame.tp == 1 || f.two_axes != (frame.x > 1)) return false;
  return f.reduced || !reduced;
}

/// What part `p` may do; false where names do not suffice.
constexpr bool list_candidates(const graph& g, const model_parts& parts, int p, const plan_frame& frame, bool reduced,
                               growing_array<part_candidate>& list) {
  bool suffices = true;
  for (int i = 0; i < tensor_family_count; ++i) {
    if (!fits_frame(tensor_family_table[i], frame, reduced)) continue;
    strategy_value family;
    tensor_family_table[i].add(family);
    part_candidate c;
    c.name = short_text(tensor_family_table[i].name);
    suffices = narrow_rules(g, parts, p, family, c.rule) && suffices;
    list_once(list, c);
  }
  if (!list.empty()) return suffices;
  part_candidate whole;
  whole.name = short_text("whole");
  list.push(whole);
  return suffices;
}

/// Fills an empty space with what one frame offers. `parts` are those of `g`.
constexpr void fill_space(plan_space& s, const graph& g, const model_parts& parts, const plan_frame& f, bool reduced) {
  s.frame = f;
  s.base.mesh = mesh_of(f);
  if (f.dp > 1) s.base.add(shard_dim_if_present("batch", "dp"));
  if (f.ep > 1) s.base.add(shard_dim_if_present("experts", "ep", "*.experts.*"));
  if (f.cp > 1 && f.context == context_form::all_to_all) add_heads(s.base, "cp", "*.attend");
  if (f.ep > 1) s.base.add(shard_dim_if_present("batch", "ep"));
  if (f.cp > 1) {
    s.base.add(shard_dim_if_present("seq", "cp"));
    add_expert_slots(s.base, "cp");
  }
  if (f.cp > 1 && f.context == context_form::ring) s.base.ring_axis = short_text("cp");
  s.base.reduce_at_once = f.zero != 1;
  s.base.reshard_after_forward = f.zero != zero_gathered_once;
  constexpr rule_stage stages[] = {rule_stage::state, rule_stage::gradient, rule_stage::parameter};
  const char* const axes[] = {"dp", "ep", "cp", "x", "tp"};
  for (int z = 0; z < f.zero && z < 3; ++z)
    for (int a = 0; a < (f.zero_wide ? 5 : 3); ++a)
      if (axis_index(s.base.mesh, axes[a]) >= 0) s.after.push(shard_stage(stages[z], axes[a]));
  s.parts = parts.part.size;
  for (int p = 0; p < parts.part.size; ++p)
    if (!detail::list_candidates(g, parts, p, f, reduced, s.candidate[p])) s.names_suffice = false;
}

/// The strategy in which part p takes candidate choice[p]. False where there are more rules than a strategy holds.
constexpr bool compose(const plan_space& s, const int* choice, strategy_value& made) {
  made = s.base;
  bool fits = true;
  for (int p = 0; p < s.parts; ++p)
    for (const strategy_rule& r : s.candidate[p][choice[p]].rule) {
      bool known = false;
      for (int i = 0; i < made.rule.size && !known; ++i) known = made.rule.item[i] == r;
      if (!known) fits = made.rule.push(r) && fits;
    }
  for (const strategy_rule& r : s.after) fits = made.rule.push(r) && fits;
  return fits;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
