// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of redistribution.jsonl that state what single ranks exchange: the blocks of one all-to-all, and what a
// rank reads from the holders of a checkpoint.

#include "redistribution_kinds.hpp"

namespace replay {

namespace detail {

/// Where the all-to-all's dims come from: `local_in` with a dim of n blocks in front of the dim that is split, and the
/// n contributions in front of the dim that they are put together in.
struct block_view {
  hp::shape global{};
  hp::layout_value source{}, target{};
};

inline block_view view_of_all_to_all(const hp::shape& local, int n, int split, int concat) {
  block_view b;
  int contribution = 0, block = 0;
  for (int d = 0; d < local.rank; ++d) {
    if (d == concat) {
      contribution = b.global.rank;
      b.global.extent[b.global.rank++] = n;
    }
    if (d == split) {
      block = b.global.rank;
      b.global.extent[b.global.rank++] = n;
    }
    b.global.extent[b.global.rank++] = d == split ? local.extent[d] / n : local.extent[d];
  }
  b.source = b.target = hp::replicated({1, {n}}, b.global.rank);
  hp::append_cut(b.source, {contribution, 0, 1, n});
  hp::append_cut(b.target, {block, 0, 1, n});
  return b;
}

/// The flat index in `s` of the place `at`.
inline hp::extent_t flat_of(const hp::shape& s, const hp::extent_t* at) {
  hp::extent_t flat = 0;
  for (int d = 0; d < s.rank; ++d) flat = flat * s.extent[d] + at[d];
  return flat;
}

}  // namespace detail

/// out[r] = concat over q of block r of in[q]: what our exchange writes on every rank, element by element.
inline verdict replay_all_to_all(const json& v) {
  const int n = int_of(member(v, "n"));
  int split = int_of(member(v, "split_dim")), concat = int_of(member(v, "concat_dim"));
  const hp::shape local = shape_from(member(v, "local_in"));
  split += split < 0 ? local.rank : 0;
  concat += concat < 0 ? local.rank : 0;
  if (n < 1 || split < 0 || split >= local.rank || concat < 0 || concat >= local.rank)
    return expects_error(v) ? pass() : fail("a dim or the group is outside what the local shape has");
  if (n > most_ranks) throw malformed_vector("key 'n' has more ranks than can be replayed");
  if (local.extent[split] % n != 0) return expects_error(v) ? pass() : fail("the split dim does not divide");
  if (local.rank + 2 > hp::max_dims) throw malformed_vector("the local shape has more dims than the core holds");
  if (expects_error(v)) return fail("accepted");
  const detail::block_view b = detail::view_of_all_to_all(local, n, split, concat);
  move_figures ours;
  verdict r = judge_on_one_mesh(b.source, b.target, b.global, ours);
  if (r.outcome != outcome::passed) return r;
  const hp::move_plan p = hp::plan_move(b.source, b.target, b.global);
  if (n > 1 && p.kind != hp::plan_kind::all_to_all) return fail(std::string("classified as ") + hp::name_of(p.kind));
  hp::shape out = local;
  out.extent[split] /= n;
  out.extent[concat] *= n;
  if (!(out == shape_from(member(v, "local_out")))) return fail("got " + text_of(out));
  const hp::extent_t elements = hp::element_count(local).value;
  for (int rank = 0; rank < n && p.step_count == 1; ++rank) {
    std::vector<hp::extent_t> ended(static_cast<std::size_t>(elements), -1);
    const hp::step_receiver receiver = hp::receiver_of(p.step[0], b.global, rank);
    for (hp::extent_t k = 0; k < receiver.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(p.step[0], receiver, k);
      std::vector<hp::extent_t> packed;
      detail::elements_of(t.part, hp::source_frame(p.step[0], b.global, t.sender), b.global,
                          [&](hp::extent_t, hp::extent_t at) { packed.push_back(t.sender * elements + at); });
      std::size_t next = 0;
      detail::elements_of(t.part, hp::target_frame(p.step[0], b.global, rank), b.global,
                          [&](hp::extent_t, hp::extent_t at) { ended[static_cast<std::size_t>(at)] = packed[next++]; });
    }
    const hp::box whole = hp::slice_at(hp::replicated({}, out.rank), out, {});
    bool right = true;
    detail::for_each_element(whole, whole, out, [&](hp::extent_t flat, hp::extent_t) {
      hp::extent_t at[hp::max_dims] = {}, rest = flat;
      for (int d = out.rank - 1; d >= 0; --d) {
        at[d] = rest % out.extent[d];
        rest /= out.extent[d];
      }
      const hp::extent_t put = split == concat ? local.extent[concat] / n : local.extent[concat];
      const hp::extent_t from = at[concat] / put;
      at[concat] %= put;
      at[split] += rank * (local.extent[split] / n);
      right = right && ended[static_cast<std::size_t>(flat)] == from * elements + detail::flat_of(local, at);
    });
    if (!right) return fail("rank " + std::to_string(rank) + " does not end with the blocks that are its own");
  }
  r.bytes = figures_of(v, ours, {});
  const hp::extent_t each = elements / n * (n - 1);
  r.bytes.theirs = {each, each * n};
  return ours.received_max == each ? r : fail("ours receives " + std::to_string(ours.received_max));
}

/// The refusals that vectors name without saying what is refused, each in its smallest form.
inline verdict replay_named_refusal(const json& v) {
  const std::string why = text_of(v, "why");
  const auto says = [&why](const char* words) { return why.find(words) != std::string::npos; };
  const hp::mesh_shape two{1, {2}};
  if (says("rank not in") || says("not in target rank list") || says("not in the target"))
    return pass_if(hp::position_in(hp::rank_list{2, 8}, 10) < 0 && hp::position_in(hp::rank_list{2, 8}, 7) < 0,
                   "a rank outside the list has a position");
  if (says("wrong shape") || says("shape mismatch")) {
    hp::layout_value sharded = hp::replicated(two, 1);
    hp::append_cut(sharded, {0, 0, 1, 2});
    const hp::shape_result local = hp::local_shape(sharded, hp::shape(8));
    return pass_if(local.status.code == hp::layout_code::ok && local.shape == hp::shape(4) &&
                       hp::check_shape(sharded, hp::shape(7)).code != hp::layout_code::ok &&
                       hp::check_shape(sharded, hp::shape{8, 1}).code != hp::layout_code::ok,
                   "a slice may have another shape than its layout gives it");
  }
  throw malformed_vector("a refusal (" + why + ") without the layouts that it refuses");
}

/// What one rank of the target reads from the ranks that hold a checkpoint: from each holder of a piece it needs, once.
/// Null sides are one unsharded copy, held by (and read for) any rank.
inline verdict replay_reshard(const json& v) {
  if (!v.contains("from") && !v.contains("to") && expects_error(v)) return replay_named_refusal(v);
  const hp::shape s = shape_from(member(v, "shape"));
  const hp::box whole = hp::slice_at(hp::replicated({}, s.rank), s, {});
  hp::box wanted = whole;
  const int to_rank = v.contains("to_rank") ? int_of(member(v, "to_rank")) : 0;
  if (const json& to = member(v, "to"); !to.is_null()) {
    const read_side side = side_of(to);
    if (side.why) return judge_unreadable(v, side.why);
    const int position = hp::position_in(side.mesh.ranks(), to_rank);
    if (position < 0) return expects_error(v) ? pass() : fail("the target rank is not in the target's rank list");
    const hp::slice_result slice = hp::slice_of(side.layout, s, position);
    if (slice.status.code != hp::layout_code::ok) return judge_unreadable(v, refused(slice.status));
    wanted = slice.box;
  }
  if (v.contains("to_slice") && !(wanted == box_from(v["to_slice"])))
    return fail("the target slice is " + text_of(wanted));
  std::vector<int> rank{0};
  std::vector<hp::box> held{whole};
  if (const json& from = member(v, "from"); !from.is_null()) {
    const read_side side = side_of(from);
    if (side.why) return judge_unreadable(v, side.why);
    if (const hp::layout_status status = hp::check_shape(side.layout, s); status.code != hp::layout_code::ok)
      return judge_unreadable(v, refused(status));
    held.clear();
    rank = side.mesh.rank;
    for (int p = 0; p < hp::position_count(side.layout.mesh); ++p)
      held.push_back(hp::slice_at(side.layout, s, hp::coordinates_of(side.layout.mesh, p)));
  }
  if (expects_error(v)) return fail("accepted");
  json reads = json::object();
  hp::extent_t read = 0;
  for (std::size_t p = 0; p < held.size(); ++p) {  // the first holder of each piece is read
    bool first = true;
    for (std::size_t q = 0; q < p; ++q) first = first && !(held[q] == held[p]);
    const hp::box area = hp::intersection(held[p], wanted);
    if (!first || hp::volume(area) == 0) continue;
    json intervals = json::array();
    for (int d = 0; d < area.rank; ++d) intervals.push_back({area.dim[d].begin, area.dim[d].end});
    reads[std::to_string(rank[p])] = intervals;
    read += hp::volume(area);
  }
  if (read != hp::volume(wanted)) return fail("what is read does not fill the target slice");
  if (!binds(v)) return pass();
  return pass_if(reads == member(v, "reads"), "reads " + reads.dump());
}

}  // namespace replay
