// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a strategy's rules say of a graph: the placement of each operator, the layouts of parameters by stage.
//
// Laws: backward and recomputed operators have the placement of their forward operator; a stage only adds cuts, inside
// those that computing needs, so gathering a cut that divides never crosses a computing axis. Where no dim divides, one
// is cut into flat ceil chunks, if possible one that computing leaves whole: every tensor of more than one element is cut
// along every axis of a stage that computing has not given to it. The keys' sequence in a ring is the ring's alone to cut.

#include <hyperparallel/strategy/ring_attention.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Rules of one graph and strategy, with names looked up once.
class strategy_layouts {
 public:
  constexpr strategy_layouts() = default;
  /// The strategy has to outlive it.
  constexpr strategy_layouts(const graph& g, const strategy_value& s) : strategy_(&s), status_(s.refused) {
    if (s.mesh.shape.axis_count < 1) fail({strategy_code::mesh_is_not_valid});
    for (int a = 0; a < s.mesh.shape.axis_count; ++a)
      if (s.mesh.shape.size[a] < 1) fail({strategy_code::mesh_is_not_valid, -1, a, -1, -1, -1, s.mesh.shape.size[a]});
    for (int r = 0; r < s.rule.size; ++r) {
      const strategy_rule& rule = s.rule.item[r];
      axis_[r] = axis_index(s.mesh, rule.axis.text);
      any_dim_[r] = detail::same_text(rule.dim.text, "*");
      everywhere_[r] = detail::same_text(rule.where.text, "*");
      dim_[r] = dim_of_rule(g, rule.dim.text);
      if (axis_[r] < 0) fail({strategy_code::axis_is_not_in_the_mesh, r});
    }
  }

  /// The first mistake so far.
  constexpr const strategy_status& status() const { return status_; }

  /// The placement that compute rules give to an operator of the graph. Axes on one loop stand in the order of their
  /// rules. O(rules · loops).
  constexpr operator_placement place(const graph& g, int op) {
    const graph_operator& o = g.op[op];
    const mesh_shape& m = strategy_->mesh.shape;
    operator_placement p;
    const factor_rule& rule = g.rule_of(o);
    const int travels = o.rotation >= 0 ? detail::ring_loops_of(g, o).keys : -1;
    strategy_status passed[max_axes];  // of each axis: the first dim that a rule passed over
    for (int r = 0; r < strategy_->rule.size; ++r) {
      const int a = axis_[r];
      if (a < 0 || dim_[r] == no_dim || m.size[a] == 1 || p.loop[a] >= 0) continue;
      if (strategy_->rule.item[r].stage != rule_stage::compute) continue;
      if (!everywhere_[r] && !detail::name_matches(strategy_->rule.item[r].where.text, g.name_of_op(op))) continue;
      for (int l = 0; l < o.loop_count; ++l) {
        if (l == travels || detail::is_whole(rule, l) || !speaks_of(g, o, rule, l, dim_[r])) continue;
        const extent_t pieces = detail::pieces_of_loop(p, m, l) * m.size[a];
        if (o.loop[l].extent % pieces != 0) {
          refuse_dim({strategy_code::dim_does_not_divide, r, a, op, -1, o.loop[l].dim, o.loop[l].extent, pieces},
                     passed[a]);
          continue;
        }
        p.add(a, l);
        used_[r] = true;
        break;
      }
    }
    return p;
  }

  /// `base`, the layout that computing wants, with the further cuts of `stage` along dims of `may_cut`, by bits.
  /// O(rules · dims).
  constexpr layout_value refine(const graph& g, int parameter, const layout_value& base, rule_stage stage,
                                unsigned may_cut = ~0u) {
    const graph_tensor& t = g.tensor.item[parameter];
    const mesh_shape& m = strategy_->mesh.shape;
    layout_value l = base;
    for (int r = 0; r < strategy_->rule.size; ++r) {
      const strategy_rule& rule = strategy_->rule.item[r];
      const int a = axis_[r];
      if (rule.stage != stage || a < 0 || m.size[a] == 1) continue;
      if (!everywhere_[r] && !detail::name_matches(rule.where.text, g.name_of_tensor(parameter))) continue;
      used_[r] = true;
      if (uses_axis(l, a)) continue;
      int chosen = -1;
      unsigned dims = 0;  // those that the rule speaks of
      for (int d = 0; d < t.shape.rank && chosen < 0; ++d) {
        if ((may_cut >> d & 1u) == 0 || (!any_dim_[r] && t.dim[d] != dim_[r])) continue;
        dims |= 1u << d;
        const extent_t shards = shards_of(l, d) * m.size[a];
        if (t.shape.extent[d] % shards == 0)
          chosen = d;
        else if (!rule.optional)
          fail({strategy_code::dim_does_not_divide, r, a, -1, parameter, t.dim[d], t.shape.extent[d], shards});
      }
      if (chosen < 0 && rule.optional) {
        chosen = padded_dim(t.shape, base, l, dims, m.size[a]);
        if (chosen >= 0) l.padded |= 1u << chosen;
      }
      if (chosen >= 0)
        insert_cut(l, {chosen, a, 1, m.size[a]});
      else
        note_whole(t.shape, {parameter, stage, a});
    }
    return l;
  }

  /// The layout that a pin gives the tensor, if any does.
  constexpr bool pinned(const graph& g, int tensor, layout_value& l) {
    for (int i = strategy_->pin.size - 1; i >= 0; --i) {
      const strategy_pin& pin = strategy_->pin.item[i];
      if (!detail::name_matches(pin.pattern.text, g.name_of_tensor(tensor))) continue;
      pin_used_[i] = true;
      const graph_tensor& t = g.tensor[tensor];
      if (pin.rank != t.shape.rank) {
        fail({strategy_code::pin_has_wrong_rank, i, -1, -1, tensor, -1, t.shape.rank, pin.rank});
        return false;
      }
      l = {};
      l.mesh = strategy_->mesh.shape;
      l.rank = pin.rank;
      for (int d = 0; d < pin.rank; ++d) {
        if (pin.axis[d].text[0] == '\0') continue;
        const int a = axis_index(strategy_->mesh, pin.axis[d].text);
        if (a < 0) {
          fail({strategy_code::axis_is_not_in_the_mesh, i, -1, -1, tensor});
          return false;
        }
        for (int c = 0; c < l.cut_count; ++c)
          if (l.cut[c].axis == a) {
            fail({strategy_code::pin_names_an_axis_twice, i, a, -1, tensor});
            return false;
          }
        if (t.shape.extent[d] % l.mesh.size[a] != 0)
          fail({strategy_code::dim_does_not_divide, i, a, -1, tensor, t.dim[d], t.shape.extent[d], l.mesh.size[a]});
        append_cut(l, {d, a, 1, l.mesh.size[a]});
      }
      return true;
    }
    return false;
  }

  /// Fails with the first rule or pin that decided nothing. Domain: after everything has been placed.
  constexpr void check_use() {
    for (int r = 0; r < strategy_->rule.size; ++r)
      if (!used_[r] && !strategy_->rule.item[r].optional && !strategy_->rule.item[r].if_present && axis_[r] >= 0 &&
          strategy_->mesh.shape.size[axis_[r]] > 1)
        fail({strategy_code::rule_matches_nothing, r, axis_[r]});
    for (int i = 0; i < strategy_->pin.size; ++i)
      if (!pin_used_[i]) fail({strategy_code::pattern_matches_nothing, i});
  }

  /// What no stage's rule could cut so far.
  constexpr const growing_array<whole_tensor>& whole() const { return whole_; }

  constexpr void fail(const strategy_status& s) {
    if (status_.code == strategy_code::ok) status_ = s;
  }

 private:
  static constexpr int no_dim = -1, output_dim = -2, input_dim = -3;

  static constexpr int dim_of_rule(const graph& g, const char* name) {
    if (detail::same_text(name, "output")) return output_dim;
    if (detail::same_text(name, "input")) return input_dim;
    return detail::same_text(name, "*") ? no_dim : detail::find_dim(g, name);
  }
  /// A rule whose dim does not divide passes it over, or fails. An `if_present` rule that stands in for those passed over,
  /// as groups of queries do for heads, fails with the first of their dims.
  constexpr void refuse_dim(strategy_status why, strategy_status& passed) {
    const strategy_rule& rule = strategy_->rule.item[why.rule];
    if (rule.optional) {
      if (passed.code == strategy_code::ok) passed = why;
      return;
    }
    if (rule.if_present && passed.code != strategy_code::ok) {
      why.dim = passed.dim;
      why.extent = passed.extent;
      why.pieces = passed.pieces;
    }
    fail(why);
  }
  /// Whether the rule's dim is loop `l`.
  static constexpr bool speaks_of(const graph& g, const graph_operator& o, const factor_rule& rule, int l, int dim) {
    if (dim >= 0) return o.loop[l].dim == dim;
    if (!g.value_of(o).is_product && !g.value_of(o).adds_bias) return false;
    if (!has_factor(rule.operand[1], l)) return false;
    return has_factor(rule.result[0], l) == (dim == output_dim);
  }
  static constexpr bool uses_axis(const layout_value& l, int a) {
    for (int i = 0; i < l.cut_count; ++i)
      if (l.cut[i].axis == a) return true;
    return false;
  }
  /// The dim of `dims` whose flat ceil chunks leave the smallest share of the tensor under one cut more into `size`, the
  /// first of equals; one that `base` cuts only where that is less than half of what any other leaves. -1 where no dim has
  /// more than one element.
  static constexpr int padded_dim(const shape& s, const layout_value& base, const layout_value& l, unsigned dims,
                                  int size) {
    int best[2] = {-1, -1};                         // of dims that `base` leaves whole, and of others
    extent_t piece[2] = {1, 1}, whole[2] = {1, 1};  // the extent with and without the cut
    for (int d = 0; d < s.rank; ++d) {
      if ((dims >> d & 1u) == 0 || s.extent[d] < 2) continue;
      const int k = shards_of(base, d) == 1 ? 0 : 1;
      const extent_t shards = shards_of(l, d);
      const extent_t with = ceil_divide(s.extent[d], shards * size), without = ceil_divide(s.extent[d], shards);
      if (best[k] >= 0 && with * whole[k] >= piece[k] * without) continue;
      best[k] = d;
      piece[k] = with;
      whole[k] = without;
    }
    if (best[0] < 0 || best[1] < 0) return best[0] < 0 ? best[1] : best[0];
    return 2 * piece[1] * whole[0] < piece[0] * whole[1] ? best[1] : best[0];
  }
  /// Adds a cut as the innermost of its dim. Domain: its axis is new in the layout.
  static constexpr void insert_cut(layout_value& l, const cut& c) {
    int at = 0;
    while (at < l.cut_count && l.cut[at].dim <= c.dim) ++at;
    for (int i = l.cut_count++; i > at; --i) l.cut[i] = l.cut[i - 1];
    l.cut[at] = c;
  }

  constexpr void note_whole(const shape& s, const whole_tensor& w) {
    if (element_count(s).value < 2) return;
    for (const whole_tensor& known : whole_)
      if (known == w) return;
    whole_.push(w);
  }

  const strategy_value* strategy_ = nullptr;
  growing_array<whole_tensor> whole_;
  int axis_[max_strategy_rules] = {};
  int dim_[max_strategy_rules] = {};
  bool any_dim_[max_strategy_rules] = {};
  bool everywhere_[max_strategy_rules] = {};
  bool used_[max_strategy_rules] = {};
  bool pin_used_[max_strategy_pins] = {};
  strategy_status status_{};  ///< the first mistake
};

}}  // namespace hyperparallel::v0_2
