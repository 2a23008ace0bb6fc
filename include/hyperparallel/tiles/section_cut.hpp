// SPDX-License-Identifier: Apache-2.0
#pragma once
// Along which named dims the steps of a section are cut into tiles.
//
// The outer cut is along a dim that all of them have: the one of which operands without it are read least often again, of
// these the one with most parts. Where more tiles are asked for than it has parts, moves and the steps that other tiles
// read from are cut along an inner dim as well: the one with most parts, of these the one with fewest runs of bytes. Other
// steps, as weight gradients that sum over the inner dim, keep to the outer cut.
//
// Laws: every device cuts alike, into whole shards; a value has at most `most_runs` runs of bytes in all tiles of a step.
// Without a move or without an operator there is no cut. O(dims · accesses · tiles asked for), and accesses² for the
// inner cut.

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>
#include <hyperparallel/tiles/section_order.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Named dims, each once.
struct dim_set {
  int count = 0;
  int dim[max_factors > max_dims ? max_factors : max_dims] = {};

  constexpr void add(int d) { dim[count++] = d; }
  constexpr bool has(int d) const {
    for (int i = 0; i < count; ++i)
      if (dim[i] == d) return true;
    return false;
  }
  constexpr dim_set common_with(const dim_set& other) const {
    dim_set both;
    for (int i = 0; i < count; ++i)
      if (other.has(dim[i])) both.add(dim[i]);
    return both;
  }
};

class section_cutter {
 public:
  /// `most`: tiles of a step.
  constexpr section_cutter(const sharded_program& p, const program_moves& moves, int most)
      : p_(p), moves_(moves), most_(most) {}

  /// Dims of which intervals of the step may be tiles: of an operator those of one loop that all results have.
  constexpr dim_set dims_of(const program_step& s) const {
    dim_set dims;
    if (s.is_move) {
      const program_move& m = p_.move.item[s.index];
      const move_kind& kind = kind_of(moves_, s.index);
      if (cache_operator_of(p_, m) != cache_operator::within_tier || is_hand_over(p_, m) || kind.travel != 0 ||
          kind.steps != 1 || kind.staged_bytes > 0 || is_partial(p_.value.item[m.target].layout))
        return dims;
      const graph_tensor& t = tensor_of(m.source);
      for (int d = 0; d < t.shape.rank; ++d)
        if (place_of_dim(t, t.dim[d]) == d) dims.add(t.dim[d]);
      return dims;
    }
    const graph_operator& o = p_.graph.op.item[p_.compute.item[s.index].op];
    for (int l = 0; l < o.loop_count && o.rotation < 0; ++l)
      if (may_be_tiled(p_.graph.rule_of(o), l) && loop_of_tile(o, {.dim = o.loop[l].dim}) == l) dims.add(o.loop[l].dim);
    return dims;
  }

  /// The outer cut of these steps along one of the dims, which all of them have; without a dim where there is none.
  constexpr step_tile outer_cut(const growing_array<int>& steps, const dim_set& dims) const {
    step_tile best;
    bool moves = false, computes = false;
    for (const int i : steps) (p_.step.item[i].is_move ? moves : computes) = true;
    if (!moves || !computes) return best;
    extent_t least = 0;
    for (int d = 0; d < dims.count; ++d) {
      const int dim = dims.dim[d];
      step_tile cut{dim, shard_of(dim, steps), 0, 1, {}};
      cut.count = most_parts(cut.shard, most_);
      const cut_values all = look_at(steps, cut);
      extent_t again = 0;  // bytes that each tile reads anew
      for (const int i : steps)
        visit_values(p_, p_.step.item[i], [&](int v, bool) {
          if (place_of_dim(tensor_of(v), dim) < 0) again += local_bytes(p_, v) * (cut.count - 1);
        });
      if (!all.fit || (best.dim >= 0 && (again > least || (again == least && cut.count <= best.count)))) continue;
      best = cut;
      least = again;
    }
    return best;
  }

  /// Gives each step of a section that is tiled its cut.
  constexpr void cut(growing_array<section_step>& section, const growing_array<int>& steps,
                     const step_tile& outer) const {
    growing_array<int> fine;  // moves, and what other tiles read from
    dim_set dims;
    for (const int i : steps) {
      if (!p_.step.item[i].is_move && !is_read(p_.step.item[i], steps)) continue;
      const dim_set own = dims_of(p_.step.item[i]);
      dims = fine.empty() ? own : dims.common_with(own);
      fine.push(i);
    }
    step_tile both = outer;
    both.inner = inner_cut(fine, dims, outer);
    both.count *= both.inner.count;
    int next = 0;
    for (section_step& s : section) {
      if (!s.is_tiled()) continue;
      const bool is_fine = next < fine.size && fine.item[next] == s.step;
      s.cut = is_fine ? both : outer;
      next += is_fine;
    }
  }

 private:
  /// Whether tiles may be cut so, and how many runs of bytes they have.
  struct cut_values {
    bool fit = true;
    extent_t runs = 0;
  };
  constexpr cut_values look_at(const growing_array<int>& steps, const step_tile& cut) const {
    cut_values all{cut.count > 1, 0};
    for (const int i : steps) {
      if (!all.fit) break;
      visit_values(p_, p_.step.item[i], [&](int v, bool) {
        all.fit = all.fit && holds_whole_shards(p_, v, cut) && runs_in(p_, v, cut) * cut.count <= most_runs;
        if (all.fit) all.runs += runs_in(p_, v, cut) * cut.count;
      });
    }
    return all;
  }

  constexpr dim_cut inner_cut(const growing_array<int>& steps, const dim_set& dims, const step_tile& outer) const {
    dim_cut best;
    extent_t fewest = 0;
    for (int d = 0; d < dims.count && most_ >= 2 * outer.count; ++d) {
      if (dims.dim[d] == outer.dim) continue;
      step_tile cut = outer;
      cut.inner = {dims.dim[d], shard_of(dims.dim[d], steps), 1};
      cut.inner.count = most_parts(cut.inner.shard, most_ / outer.count);
      cut.count *= cut.inner.count;
      if (cut.inner.count < 2 || cut.inner.count < best.count) continue;
      const cut_values all = look_at(steps, cut);
      if (!all.fit || (cut.inner.count == best.count && all.runs >= fewest)) continue;
      best = cut.inner;
      fewest = all.runs;
    }
    return best;
  }

  constexpr bool is_read(const program_step& s, const growing_array<int>& steps) const {
    bool is = false;
    visit_values(p_, s, [&](int v, bool writes) {
      for (const int i : steps)
        visit_values(p_, p_.step.item[i], [&](int w, bool written) { is = is || (writes && !written && v == w); });
    });
    return is;
  }

  /// The most equal parts of a shard, not above `most`.
  static constexpr int most_parts(extent_t shard, int most) {
    int parts = 1;
    for (int n = 2; n <= most && shard > 0; ++n)
      if (shard % n == 0) parts = n;
    return parts;
  }
  constexpr const graph_tensor& tensor_of(int value) const { return p_.graph.tensor.item[p_.value.item[value].tensor]; }
  /// The least that a device holds of the dim.
  constexpr extent_t shard_of(int dim, const growing_array<int>& steps) const {
    extent_t least = 0;
    for (const int i : steps)
      visit_values(p_, p_.step.item[i], [&](int v, bool) {
        const int d = place_of_dim(tensor_of(v), dim);
        if (d < 0) return;
        const extent_t n = local_extent(p_, v, d);
        if (least == 0 || n < least) least = n;
      });
    return least;
  }

  static constexpr extent_t most_runs = 2048;  // each is proved by itself

  const sharded_program& p_;
  const program_moves& moves_;
  int most_ = 1;
};

}}}  // namespace hyperparallel::v0_2::detail
