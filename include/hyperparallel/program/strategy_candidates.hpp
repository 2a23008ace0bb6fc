// SPDX-License-Identifier: Apache-2.0
#pragma once
// The space that strategy search covers: meshes, options of the whole model, and candidates of each part.
//
//   axes, outer to inner   dp, ep, cp, x, tp   data, experts (and data), context, second and first tensor axis
//   options                sharding of parameters and states (ZeRO 0 to 3), how attention meets the cut sequence
//   candidates             what a part does with x and tp: one row a family, narrowed to the part
//
// A mesh's last axis lies on the innermost links, so tensor axes stay where links are fastest; in the full set experts
// or context may take that place. Degrees that do not divide batch, sequence or experts are not listed, nor are axes
// that the graph has no dim for. Law: each mesh and each candidate is listed once.

#include <hyperparallel/model/strategies.hpp>
#include <hyperparallel/program/part_rules.hpp>

namespace hyperparallel {

/// How attention meets keys and values of a sequence that is cut along cp.
enum class context_form : unsigned char { gathered, ring, all_to_all };

constexpr const char* name_of(context_form c) {
  constexpr const char* names[] = {"gathered", "ring", "all_to_all"};
  return names[static_cast<int>(c)];
}

/// Which axis lies innermost.
enum class axis_order : unsigned char { tensor_inside, experts_inside, context_inside };

struct plan_frame {
  int dp = 1, ep = 1, cp = 1, x = 1, tp = 1;
  int pipeline = 1;
  axis_order order = axis_order::tensor_inside;
  context_form context = context_form::gathered;
  int zero = 0;            ///< stage of sharding on dp, ep and cp
  bool zero_wide = false;  ///< on x and tp too, where a parameter is whole along them
  friend constexpr bool operator==(const plan_frame&, const plan_frame&) = default;
};

/// Limits of the enumeration.
struct search_limits {
  bool reduced = true;  ///< fewer candidates, options and orders
  int tensor = 16;      ///< x · tp
  int context = 8;
  int experts = 64;
  int pipeline = 16;
  bool named = true;  ///< strategies of named_strategies.hpp compete as they are
  friend constexpr bool operator==(const search_limits&, const search_limits&) = default;
};

struct tensor_family {
  const char* name;
  bool two_axes;  ///< speaks of x, which the others leave to themselves
  bool reduced;   ///< in the reduced set
  void (*add)(strategy_value&);
};

namespace detail {

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
    {"tensor, hidden", false, true,
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

/// The mesh of a frame: axes of degree 1 are left out, except for one where there is nothing else.
constexpr mesh_value mesh_of(const plan_frame& f) {
  const char* name[] = {"dp", "ep", "cp", "x", "tp"};
  int degree[] = {f.dp, f.ep, f.cp, f.x, f.tp};
  const int moved = f.order == axis_order::experts_inside ? 1 : f.order == axis_order::context_inside ? 2 : 4;
  for (int i = moved; i < 4; ++i) {
    const char* const n = name[i];
    const int d = degree[i];
    name[i] = name[i + 1];
    degree[i] = degree[i + 1];
    name[i + 1] = n;
    degree[i + 1] = d;
  }
  const char* kept_name[5] = {};
  int kept[5] = {}, count = 0;
  for (int i = 0; i < 5; ++i) {
    if (degree[i] == 1) continue;
    kept_name[count] = name[i];
    kept[count++] = degree[i];
  }
  if (count == 0) {
    kept_name[0] = "dp";
    kept[count++] = 1;
  }
  return make_mesh(kept_name, count, kept, count).mesh;
}

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
  if (list.empty()) list.push({"whole", {}});
  return suffices;
}

}  // namespace detail

/// The space of one frame. `parts` are those of `g`.
constexpr plan_space space_of(const graph& g, const model_parts& parts, const plan_frame& f, bool reduced) {
  plan_space s;
  s.frame = f;
  s.base.mesh = mesh_of(f);
  if (f.dp > 1) s.base.add(shard_dim_if_present("batch", "dp"));
  if (f.ep > 1) s.base.add(shard_dim_if_present("experts", "ep", "*.experts.*"));
  if (f.cp > 1 && f.context == context_form::all_to_all) add_heads(s.base, "cp", "*.attend");
  if (f.ep > 1) s.base.add(shard_dim_if_present("batch", "ep"));
  if (f.cp > 1) s.base.add(shard_dim_if_present("seq", "cp"));
  if (f.cp > 1 && f.context == context_form::ring) s.base.ring_axis = short_text("cp");
  s.base.reduce_at_once = f.zero != 1;
  constexpr rule_stage stages[] = {rule_stage::state, rule_stage::gradient, rule_stage::parameter};
  const char* const axes[] = {"dp", "ep", "cp", "x", "tp"};
  for (int z = 0; z < f.zero; ++z)
    for (int a = 0; a < (f.zero_wide ? 5 : 3); ++a)
      if (axis_index(s.base.mesh, axes[a]) >= 0) s.after.push(shard_stage(stages[z], axes[a]));
  s.parts = parts.part.size;
  for (int p = 0; p < parts.part.size; ++p)
    if (!detail::list_candidates(g, parts, p, f, reduced, s.candidate[p])) s.names_suffice = false;
  return s;
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

/// Calls `visit(frame)` for each frame of `devices` devices and `g`. O(frames).
template <class Visit>
constexpr void visit_frames(const graph& g, int devices, const search_limits& most, const Visit& visit) {
  const auto extent = [&](const char* name) {
    const int d = find_dim(g, name);
    return d < 0 ? extent_t{1} : g.dim[d].extent;
  };
  const extent_t batch = extent("batch"), sequence = extent("seq"), experts = extent("experts");
  extent_t layers = 0;
  for (const graph_segment& s : g.segment) layers += s.repeats;
  plan_frame f;
  const auto visit_options = [&] {
    const int data = f.dp * f.ep * f.cp;
    for (int context = 0; context < (f.cp > 1 && !most.reduced ? 3 : 1); ++context)
      for (int order = 0; order < (most.reduced ? 1 : 3); ++order) {
        if ((order == 1 && (f.ep == 1 || f.cp * f.x * f.tp == 1)) || (order == 2 && (f.cp == 1 || f.x * f.tp == 1)))
          continue;
        for (int zero = 0; zero <= 3; ++zero) {
          if ((zero > 0 && data == 1 && f.x * f.tp == 1) || (most.reduced && zero == 2)) continue;
          for (int wide = 0; wide < (zero > 0 && f.x * f.tp > 1 && !most.reduced ? 2 : 1); ++wide) {
            if (zero > 0 && data == 1 && wide == 0) continue;
            plan_frame now = f;
            now.context = static_cast<context_form>(context);
            now.order = static_cast<axis_order>(order);
            now.zero = zero;
            now.zero_wide = wide == 1;
            visit(now);
          }
        }
      }
  };
  for (f.pipeline = 1; f.pipeline <= most.pipeline && f.pipeline <= devices; ++f.pipeline) {
    if (devices % f.pipeline != 0 || (f.pipeline > 1 && f.pipeline > layers)) continue;
    const int stage = devices / f.pipeline;
    for (f.tp = 1; f.tp <= most.tensor; ++f.tp)
      for (f.x = 1; f.x * f.tp <= most.tensor; ++f.x) {
        if (stage % (f.tp * f.x) != 0 || (f.x > 1 && (f.tp == 1 || (most.reduced && f.x > f.tp)))) continue;
        for (f.cp = 1; f.cp <= most.context; ++f.cp) {
          if (stage % (f.tp * f.x * f.cp) != 0 || sequence % f.cp != 0) continue;
          for (f.ep = 1; f.ep <= most.experts; ++f.ep) {
            const int inner = f.tp * f.x * f.cp * f.ep;
            if (stage % inner != 0 || experts % f.ep != 0 || batch % (f.ep * (stage / inner)) != 0) continue;
            f.dp = stage / inner;
            visit_options();
          }
        }
      }
  }
}

}  // namespace hyperparallel
