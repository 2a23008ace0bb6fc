// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a chain means something: what `lower_chain` takes for granted.
//
// Law: a chain that passes is lowered to a flow that `check_flow` accepts for memory that holds its slots, and that
// every interleaving of every schedule runs safely. So a chain is judged before it is lowered, in terms of its stages
// and tensors and not of tasks and events.

#include <hyperparallel/mpmd/chain_places.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class chain_code : unsigned char {
  ok,
  ranks_are_not_valid,
  space_is_not_valid,
  tensor_is_not_valid,
  stage_is_not_valid,
  tensor_has_two_writers,
  tensor_is_finer_than_its_stage,
  result_is_read_too_early,
  fold_is_not_valid,
  route_is_not_valid,
  update_is_not_valid,
  window_is_not_valid,
  slot_is_too_small,
};

/// `tensor` is the space where spaces are judged; -1 where a field says nothing.
struct chain_status {
  chain_code code = chain_code::ok;
  int stage = -1, tensor = -1;
  friend constexpr bool operator==(const chain_status&, const chain_status&) = default;
};

constexpr const char* to_text(chain_code c) {
  switch (c) {
    case chain_code::ok:
      return "ok";
    case chain_code::ranks_are_not_valid:
      return "the ranks are neither one nor all devices, or too many";
    case chain_code::space_is_not_valid:
      return "a space has no items, groups that do not divide them or no rows";
    case chain_code::tensor_is_not_valid:
      return "a tensor's space, tier or window does not exist, or it takes over another kind of slots";
    case chain_code::stage_is_not_valid:
      return "a stage's space, tiles, operands or number of signals is out of range";
    case chain_code::tensor_has_two_writers:
      return "two stages write one tensor";
    case chain_code::tensor_is_finer_than_its_stage:
      return "a stage writes a tensor whose slots are finer than its units";
    case chain_code::result_is_read_too_early:
      return "a stage reads what is not written before it in the order of one device";
    case chain_code::fold_is_not_valid:
      return "a fold is not local, or not into a coarser tensor of its own that it reads by tile";
    case chain_code::route_is_not_valid:
      return "a routed stage does not run by item, or writes another space or in place";
    case chain_code::update_is_not_valid:
      return "an update in place does not read what it writes, or is not the only one that reads it";
    case chain_code::window_is_not_valid:
      return "a windowed tensor's buffers, filler or readers do not take turns";
    case chain_code::slot_is_too_small:
      return "a slot has fewer bytes than units";
  }
  return "unknown";
}

namespace detail {

constexpr bool inside(int i, int count) { return 0 <= i && i < count; }

constexpr chain_status check_extents(const tile_chain& c) {
  if (c.devices < 1 || c.devices > max_chain_ranks || (c.ranks != 1 && c.ranks != c.devices))
    return {chain_code::ranks_are_not_valid};
  for (int i = 0; i < c.spaces; ++i) {
    const tile_space& s = c.space[i];
    if (s.items < 1 || s.per_group < 1 || s.items % s.per_group != 0 || s.row_block < 1)
      return {chain_code::space_is_not_valid, -1, i};
  }
  for (int t = 0; t < c.tensors; ++t) {
    const chain_tensor& x = c.tensor[t];
    const chain_status bad{chain_code::tensor_is_not_valid, -1, t};
    if (!inside(x.space, c.spaces) || x.held == grain::tile || !inside(x.tier, 2) || x.bytes < 0 || x.shares >= t)
      return bad;
    if (x.shares >= 0 && (c.tensor[x.shares].space != x.space || c.tensor[x.shares].held != x.held)) return bad;
    if (x.windowed && (x.held != grain::group || x.shares >= 0 || groups_of(c.space[x.space]) > max_chain_groups))
      return bad;
  }
  for (int s = 0; s < c.stages; ++s) {
    const tile_stage& k = c.stage[s];
    const chain_status bad{chain_code::stage_is_not_valid, s};
    if (!inside(k.space, c.spaces) || k.per == grain::tile || k.work.tiles < 1 || k.work.duration < 0 ||
        k.stay.tiles < 0 || k.stay.duration < 0 || k.lag < at_once)
      return bad;
    for (int r = 0; r < k.reads; ++r)
      if (!inside(k.read[r].tensor, c.tensors) || k.read[r].waits < k.read[r].takes) return bad;
    for (int w = 0; w < k.writes; ++w)
      if (!inside(k.write[w], c.tensors)) return bad;
  }
  return {};
}

/// The stages of a chain whose numbers are inside their ranges.
struct chain_judge {
  const tile_chain& c;
  chain_numbering numbers;
  int section[max_chain_stages] = {};

  constexpr explicit chain_judge(const tile_chain& chain) : c(chain), numbers(chain) {
    for (int s = 1; s < c.stages; ++s) section[s] = section[s - 1] + (continues_section(c, s) ? 0 : 1);
  }

  constexpr int span(const tile_stage& k, grain g) const {
    return c.space[k.space].items / units_of(c.space[k.space], g);
  }
  /// Whether the stage reads `t`, and never by another grain.
  constexpr bool reads(const tile_stage& k, int t, grain met) const {
    bool any = false;
    for (int r = 0; r < k.reads; ++r) {
      if (k.read[r].tensor != t) continue;
      if (numbers.met_by(k, t, k.read[r].takes) != met) return false;
      any = true;
    }
    return any;
  }

  constexpr chain_code judge_write(int s, int w) const {
    const tile_stage& k = c.stage[s];
    const int t = k.write[w];
    const chain_tensor& x = c.tensor[t];
    if (numbers.writers.stage[t] != s || (w > 0 && k.write[0] == t)) return chain_code::tensor_has_two_writers;
    if (x.space != k.space ? x.held != grain::whole : x.held < k.per) return chain_code::tensor_is_finer_than_its_stage;
    if (k.route != stage_route::local && (k.per != grain::item || x.space != k.space || x.shares >= 0 || x.windowed))
      return chain_code::route_is_not_valid;
    const bool folded = k.folds && w == 0;
    if (folded &&
        (k.route != stage_route::local || k.per >= x.held || x.shares >= 0 || x.windowed || !reads(k, t, grain::tile)))
      return chain_code::fold_is_not_valid;
    if (x.shares >= 0 && (x.space != k.space || !reads(k, x.shares, k.per))) return chain_code::update_is_not_valid;
    if (x.windowed && (k.per != grain::group || k.writes != 1 || k.lag != at_once))
      return chain_code::window_is_not_valid;
    if (numbers.writers.units(c, t) > x.bytes) return chain_code::slot_is_too_small;
    return chain_code::ok;
  }

  constexpr chain_code judge_read(int s, int r) const {
    const tile_stage& k = c.stage[s];
    const int t = k.read[r].tensor, writer = numbers.writers.stage[t];
    const grain waits = numbers.met_by(k, t, k.read[r].waits);
    if (waits == grain::tile)
      return k.folds && k.writes > 0 && k.write[0] == t ? chain_code::ok : chain_code::fold_is_not_valid;
    for (int u = 0; u < c.tensors; ++u)  // an update leaves the old value to nobody else
      if (c.tensor[u].shares == t && numbers.writers.stage[u] != s) return chain_code::update_is_not_valid;
    if (c.tensor[t].windowed)
      return c.tensor[t].space == k.space && k.per <= grain::group && waits == grain::group && writer >= 0
                 ? chain_code::ok
                 : chain_code::window_is_not_valid;
    if (writer < 0) return chain_code::ok;
    for (int w = 0; w < k.writes; ++w)  // the first tenants are fetched before anything else
      if (c.tensor[k.write[w]].windowed) return chain_code::window_is_not_valid;
    if (writer >= s ||
        (section[writer] == section[s] && c.stage[s].lag - c.stage[writer].lag < span(k, waits) - span(k, k.per)))
      return chain_code::result_is_read_too_early;
    return chain_code::ok;
  }

  /// Every tenant is fetched after the last use of the one before and before its own first use.
  constexpr chain_code judge_window(int t) const {
    const int groups = groups_of(c.space[c.tensor[t].space]), per_group = c.space[c.tensor[t].space].per_group;
    int first = -1, least = 0, most = 0;
    for (int s = 0; s < c.stages; ++s)
      for (int r = 0; r < c.stage[s].reads; ++r) {
        if (c.stage[s].read[r].tensor != t) continue;
        const int lag = c.stage[s].lag == at_once ? 0 : c.stage[s].lag;
        if (first < 0) least = most = lag;
        if (first >= 0 && section[first] != section[s]) return chain_code::window_is_not_valid;
        first = s;
        least = least < lag ? least : lag;
        most = most < lag ? lag : most;
      }
    if (first < 0 || numbers.writers.stage[t] < 0) return chain_code::window_is_not_valid;
    for (int g = 0, last[max_chain_groups] = {}; g < groups; ++g) {  // buffer -> its last tenant + 1
      const int buffer = c.window.buffer[g], previous = c.window.previous[g];
      if (!inside(buffer, c.window.buffers) || buffer >= max_chain_groups || previous != last[buffer] - 1 ||
          (previous >= 0 && (previous + 1) * per_group + most > g * per_group + least))
        return chain_code::window_is_not_valid;
      last[buffer] = g + 1;
    }
    return chain_code::ok;
  }

  /// Signals of one task: events of its results, a tile's own, buffers that it is done with.
  constexpr int signals_of(const tile_stage& k) const {
    int signals = 0;
    for (int w = 0; w < k.writes; ++w)
      for (int g = 0; g < grain_count; ++g) signals += numbers.at.event[k.write[w]][g] >= 0 ? 1 : 0;
    for (int r = 0; r < k.reads; ++r) signals += c.tensor[k.read[r].tensor].windowed ? 1 : 0;
    return signals;
  }

  constexpr chain_status judge() const {
    for (int s = 0; s < c.stages; ++s) {
      const tile_stage& k = c.stage[s];
      if (signals_of(k) > max_stage_signals) return {chain_code::stage_is_not_valid, s};
      if ((k.folds && k.writes == 0) || (k.route != stage_route::local && k.writes == 0))
        return {k.folds ? chain_code::fold_is_not_valid : chain_code::route_is_not_valid, s};
      for (int w = 0; w < k.writes; ++w)
        if (const chain_code code = judge_write(s, w); code != chain_code::ok) return {code, s, k.write[w]};
      for (int r = 0; r < k.reads; ++r)
        if (const chain_code code = judge_read(s, r); code != chain_code::ok) return {code, s, k.read[r].tensor};
    }
    for (int t = 0; t < c.tensors; ++t)
      if (c.tensor[t].windowed)
        if (const chain_code code = judge_window(t); code != chain_code::ok) return {code, -1, t};
    return {};
  }
};

}  // namespace detail

/// The first thing about `c` that `lower_chain` could not lower, stage by stage. O(stages · tensors + groups).
constexpr chain_status check(const tile_chain& c) {
  const chain_status extents = detail::check_extents(c);
  return extents.code != chain_code::ok ? extents : detail::chain_judge(c).judge();
}

}}  // namespace hyperparallel::v0_2
