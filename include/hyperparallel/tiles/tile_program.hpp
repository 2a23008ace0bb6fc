// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program whose marked steps stand there as tiles: the move of one tile hides behind operators of another.
//
//   const hp::tiled_program t = hp::tile_program(p, hp::kinds_of_moves(p), {.operators = {"*.experts.*"}});
//
// A pattern marks operators of the graph by name, and with an operator those of its gradient. A *section* is a run of
// steps of one phase with marked operators, the moves that bring what they read or take away what they make, and the
// operators between these. Its tiles are parts of one named dim that passes through all of them, or of two
// (section_cut.hpp): experts for products of experts, and slots of each where more tiles are asked for. Their order is that
// of section_order.hpp, so the queue of moves and that of operators work on different tiles.
//
// An operator that has none of the dims of its section and that no marked operator of its phase reads from, a weight
// gradient of rows, stays whole in it.
//
// Laws: each tile of a step stands there once, and the rest of the program as before but for that order; a step comes
// after what it reads, and after readers of what it writes. A section without a move, or without a dim that every device
// cuts alike and into few runs of bytes, stays as it is; so do moves of several steps, those that rotate or go between
// parts or tiers, and those whose target is partial. Every built-in operator computes tiles with the bits of the whole
// (`check_operator` asks it of any). What a tiled program is worth says the proof of its plan (lowering/program_proof.hpp).
// O(steps · accesses), and for each section steps² · accesses² and what section_order.hpp takes.

#include <hyperparallel/tiles/section_cut.hpp>
#include <hyperparallel/tiles/step_accesses.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct tile_options {
  growing_array<const char*> operators{};  ///< patterns of their names; none: nothing is tiled
  int most = 8;                            ///< tiles of a step
  growing_array<extent_t> duration{};      ///< in any unit; if not of each step, all are alike
  bool vector_queue = false;               ///< vector operators have a queue of their own
  extent_t synchronisation = 0;            ///< until a wait of another queue sees that a step has ended, in that unit
};

namespace detail {

struct tiled_program {
  sharded_program program;
  int sections = 0;
  int unmatched = -1;  ///< the first pattern that names no operator
};

class program_tiler {
 public:
  constexpr program_tiler(const sharded_program& p, const program_moves& moves, const tile_options& options)
      : p_(p), cutter_(p, moves, options.most), options_(options), tiled_(p.storage.size), behind_(p.storage.size) {}

  constexpr tiled_program run() {
    mark_operators();
    find_readers();
    for (int i = 0; i < p_.step.size; ++i) {
      if (!section_.empty() && !is_of_section(p_.step.item[i])) end_section();
      take(i);
    }
    end_section();
    for (int k = 0; k < options_.operators.size && made_.unmatched < 0; ++k)
      if (!matched_.item[k]) made_.unmatched = k;
    made_.program = p_;
    made_.program.step = static_cast<growing_array<program_step>&&>(order_);
    return static_cast<tiled_program&&>(made_);
  }

 private:
  // ---- marks ----

  constexpr void mark_operators() {
    matched_.resize(options_.operators.size, false);
    marked_.resize(p_.graph.op.size, false);
    for (int o = 0; o < p_.graph.op.size; ++o) {
      const int forward = p_.graph.op.item[o].forward;
      for (int k = 0; k < options_.operators.size; ++k)
        if (name_matches(options_.operators.item[k], p_.graph.name_of_op(forward >= 0 ? forward : o)))
          marked_.item[o] = matched_.item[k] = true;
    }
  }
  constexpr bool is_marked(const program_step& s) const {
    return !s.is_move && marked_.item[p_.compute.item[s.index].op];
  }
  /// Values that a marked operator reads in the phase in which they are made.
  constexpr void find_readers() {
    feeds_.resize(p_.value.size, false);
    growing_array<graph_phase> made(p_.value.size, graph_phase::forward);
    growing_array<bool> known(p_.value.size, false);
    for (const program_step& s : p_.step)
      visit_values(p_, s, [&](int v, bool writes) {
        if (!writes) {
          feeds_.item[v] = feeds_.item[v] || (is_marked(s) && known.item[v] && made.item[v] == s.phase);
        } else {
          made.item[v] = s.phase;
          known.item[v] = true;
        }
      });
  }
  /// Whether no marked operator reads on what the step makes: weight gradients, which sum over rows.
  constexpr bool is_last_of_its_phase(const program_step& s) const {
    bool last = !s.is_move;
    visit_values(p_, s, [&](int v, bool writes) { last = last && !(writes && feeds_.item[v]); });
    return last;
  }

  // ---- sections ----

  constexpr bool is_of_section(const program_step& s) const {
    const program_step& first = p_.step.item[section_.item[0].step];
    return s.phase == first.phase && s.segment == first.segment && s.stage == first.stage &&
           s.micro_batch == first.micro_batch;
  }

  constexpr bool reads_tiles(const program_step& s) const {
    bool reads = false;
    visit_values(
        p_, s, [&](int v, bool writes) { reads = reads || (!writes && tiled_.written.has(p_.value.item[v].storage)); });
    return reads;
  }
  /// Whether the step is to be tiled: it is marked, or brings what marked operators read, or takes on what tiles have made
  /// without leaving them fewer dims to choose from. `common` are the dims that it would leave.
  constexpr bool wants_tiles(const program_step& s, const dim_set& common) const {
    if (is_marked(s)) return true;
    if (common.count == 0) return false;
    if (s.is_move) return feeds_.item[p_.move.item[s.index].target] || reads_tiles(s);
    return reads_tiles(s) && common.count == dims_.count;
  }

  constexpr void take(int i) {
    const program_step& s = p_.step.item[i];
    const dim_set own = cutter_.dims_of(s);
    dim_set common = tile_.empty() ? own : dims_.common_with(own);
    const bool beside =
        common.count == 0 && !tile_.empty() && is_last_of_its_phase(s) && cutter_.outer_cut(tile_, dims_).dim >= 0;
    if (own.count > 0 && !beside && wants_tiles(s, common)) {
      if (common.count == 0 || behind_.meets(p_, s) || ends_the_cut(i, common)) {
        end_section();
        common = own;
      }
      dims_ = common;
      add(i, true);
      tile_.push(i);
      tiled_.add(p_, s);
      return;
    }
    add(i, false);
    if (tiled_.meets(p_, s) || behind_.meets(p_, s)) behind_.add(p_, s);
  }
  /// Whether the section can be cut along one of its dims, but with the step along none that is left.
  constexpr bool ends_the_cut(int i, const dim_set& common) {
    if (tile_.empty() || common.count == dims_.count || cutter_.outer_cut(tile_, dims_).dim < 0) return false;
    const dim_set before = dims_;
    dims_ = common;
    tile_.push(i);
    const bool ends = cutter_.outer_cut(tile_, dims_).dim < 0;
    --tile_.size;
    dims_ = before;
    return ends;
  }
  constexpr void add(int i, bool tiled) {
    const extent_t duration = options_.duration.size == p_.step.size ? options_.duration.item[i] : extent_t{1} << 20;
    section_.push({i, {}, duration});
    if (tiled) section_.last().cut.dim = 0;
  }

  constexpr void end_section() {
    const step_tile cut = cutter_.outer_cut(tile_, dims_);
    if (cut.dim >= 0) {
      ++made_.sections;
      cutter_.cut(section_, tile_, cut);
      section_orderer(p_, section_, options_.vector_queue, options_.synchronisation)
          .run([&](int i, const step_tile& tile) {
            order_.push(p_.step.item[i]);
            order_.last().tile = tile;
          });
    } else {
      for (const section_step& s : section_) order_.push(p_.step.item[s.step]);
    }
    section_.clear();
    tile_.clear();
    tiled_.clear();
    behind_.clear();
  }

  const sharded_program& p_;
  const section_cutter cutter_;
  const tile_options& options_;
  tiled_program made_;
  growing_array<program_step> order_;
  growing_array<bool> marked_, matched_, feeds_;  // of each operator, pattern, value
  growing_array<section_step> section_;
  growing_array<int> tile_;       // its steps that are tiled
  step_accesses tiled_, behind_;  // of its tiles, and of what comes behind them
  dim_set dims_;                  // that all of its tiles may be parts of
};

/// The program in tiles. Domain: none of its segments repeats; `moves` are its own.
constexpr tiled_program tile_program(const sharded_program& p, const program_moves& moves,
                                     const tile_options& options) {
  return detail::program_tiler(p, moves, options).run();
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
