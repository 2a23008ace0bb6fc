// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distinct moves of a program: a layer's moves recur in the next layer, and each is planned only once.
//
// Two moves are of one kind where layouts, shapes, bytes of an element, travelled places and parts agree. A move between
// rotations of one layout pulls the whole block of another device, a hand-over between equal layouts that of the same
// position of another part; between other layouts it is a relocation by fewest bytes. Any other is the candidate that is fastest on the
// links (redistribution/fastest_moves.hpp); without links it is the plan of fewest bytes, but for the sum of one number,
// which that plan collects on one device: every device fetches all terms, so that all devices do the same. Laws: the
// kinds are what each move's own plan would be; without links and for more than one number, received elements are those of
// the certificate. O(moves · kinds + kinds · plan).

#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/redistribution/fastest_moves.hpp>
#include <hyperparallel/redistribution/move_rows.hpp>
#include <hyperparallel/strategy/hand_over.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a kind has beside its arrays. Counts are elements.
struct move_facts {
  int example = -1;  ///< the first move of this kind
  int travel = 0;    ///< places along `travel_axis` that blocks travel, less than the axis' size
  int travel_axis = -1;
  plan_kind plan = plan_kind::no_op;
  move_code code = move_code::ok;
  int exchange_steps = 0;  ///< of the plan of fewest bytes; 0: every device has what it wants
  move_candidate candidate = move_candidate::exchange;  ///< what is carried out
  int steps = 0;                                        ///< of that, in all its parts
  extent_t staged_bytes = 0;
  unsigned axes = 0;         ///< bit a: along mesh axis a something is received
  extent_t received = 0;     ///< by the device that receives most; of several steps, by that of each
  unsigned fingerprint = 0;  ///< of what the kind compares
  bool hand_over = false;    ///< from another part
  bool by_position = false;  ///< whole blocks of the same position there
};
struct move_kind : move_facts {
  growing_array<staged_block> staged;  ///< what lies between the steps, of one device
};

struct program_moves {
  growing_array<move_kind> kind;
  growing_array<int> of;  ///< kind of each move
  interconnect links{};   ///< that candidates are chosen on
  growing_array<move_load>
      load;  ///< of each kind on these links, where they are priced; not of rotations and hand-overs

  /// Blocks that moves before `move` stage; what move m stages are places storages + staged_before(m) and following.
  constexpr int staged_before(int move) const { return first_staged.item[move]; }
  constexpr int staged_blocks() const { return first_staged.empty() ? 0 : first_staged.last(); }

  growing_array<int> first_staged;  ///< of each move, and their number
};

namespace detail {

/// Axes along which elements or terms have to travel: those that become or cease to be partial, and of each dim those
/// that follow the first place where its two lists of axes differ, or that a change of pieces outside them moves.
constexpr unsigned travelled_axes(const layout_value& source, const layout_value& target) {
  unsigned mask = 0;
  for (int a = 0; a < source.mesh.axis_count; ++a)
    if (source.partial[a] != target.partial[a]) mask |= 1u << a;
  for (int d = 0, i = 0, k = 0; d < source.rank; ++d) {
    extent_t held_outside = 1, wanted_outside = 1;
    for (;;) {
      const bool held = i < source.cut_count && source.cut[i].dim == d;
      const bool wanted = k < target.cut_count && target.cut[k].dim == d;
      if (!held && !wanted) break;
      if (!held || !wanted || held_outside != wanted_outside || !(source.cut[i] == target.cut[k])) {
        if (held) mask |= 1u << source.cut[i].axis;
        if (wanted) mask |= 1u << target.cut[k].axis;
      }
      if (held) held_outside *= source.cut[i++].size;
      if (wanted) wanted_outside *= target.cut[k++].size;
    }
  }
  return mask;
}

constexpr unsigned mixed(unsigned hash, extent_t number) {
  return (hash ^ static_cast<unsigned>(number ^ (number >> 32))) * 0x01000193u;
}
constexpr unsigned fingerprint_of(unsigned hash, const layout_value& l) {
  for (int i = 0; i < l.cut_count; ++i) hash = mixed(hash, l.cut[i].dim * 4096 + l.cut[i].axis * 64 + l.cut[i].size);
  for (int a = 0; a < l.mesh.axis_count; ++a) hash = mixed(hash, static_cast<int>(l.partial[a]));
  return hash;
}

/// Everything of a kind that the plan does not tell.
constexpr move_kind key_of_move(const sharded_program& p, int move) {
  const program_value &from = p.value.item[p.move.item[move].source], &to = p.value.item[p.move.item[move].target];
  move_kind k;
  k.example = move;
  k.hand_over = is_hand_over(p, p.move.item[move]);
  k.by_position = k.hand_over && is_by_position(p, p.move.item[move]);
  if (!(from.rotation == to.rotation)) {
    k.travel_axis = to.rotation.axis >= 0 ? to.rotation.axis : from.rotation.axis;
    const int n = to.layout.mesh.size[k.travel_axis];
    k.travel = ((to.rotation.by - from.rotation.by) % n + n) % n;
  }
  const shape& s = p.graph.tensor.item[from.tensor].shape;
  unsigned hash = mixed(mixed(0x811c9dc5u, s.rank), k.travel);
  for (int d = 0; d < s.rank; ++d) hash = mixed(hash, s.extent[d]);
  k.fingerprint = fingerprint_of(fingerprint_of(hash, from.layout), to.layout);
  return k;
}

constexpr bool is_of_kind(const sharded_program& p, const move_kind& a, const move_kind& b) {
  if (a.fingerprint != b.fingerprint || a.travel != b.travel || a.travel_axis != b.travel_axis ||
      a.hand_over != b.hand_over)
    return false;
  const program_move &x = p.move.item[a.example], &y = p.move.item[b.example];
  if (a.hand_over && (part_of_value(p, x.source) != part_of_value(p, y.source) ||
                      part_of_value(p, x.target) != part_of_value(p, y.target)))
    return false;
  const graph_tensor &one = p.graph.tensor.item[p.value.item[x.source].tensor],
                     &other = p.graph.tensor.item[p.value.item[y.source].tensor];
  return one.shape == other.shape && bytes_of(one.type) == bytes_of(other.type) &&
         p.value.item[x.source].layout == p.value.item[y.source].layout &&
         p.value.item[x.target].layout == p.value.item[y.target].layout;
}

/// What is carried out instead of `exchange`, the plan by fewest bytes; on the links of `fastest`, where it is given, with
/// what it takes over them.
constexpr move_load choose_candidate(const layout_value& source, const layout_value& target, const move_plan& exchange,
                                     extent_t element_bytes, fastest_moves* fastest) {
  const bool is_collected_number =
      element_count(exchange.shape).value == 1 && exchange.reduced != 0 && exchange.step_count > 1;
  move_load best;
  if (fastest == nullptr) {
    if (is_collected_number) best.candidate = move_candidate::one_shot;
    return best;
  }
  const exchange_form form{exchange.kind, exchange.step_count, reads_nearest(exchange)};
  best = fastest->load_of(source, target, exchange.shape, form, element_bytes);
  if (best.candidate != move_candidate::exchange || !is_collected_number) return best;
  const move_load by_all = fastest->load_by(source, target, exchange.shape, move_candidate::one_shot, element_bytes);
  return by_all.code == cost_code::ok ? by_all : best;
}

/// Sets steps, staging and received elements of a candidate that can be built. Counting what the busiest device receives may take as
/// long as devices are many where they share fewer elements than they are.
constexpr void take_candidate(const layout_value& source, const layout_value& target, const move_plan& exchange,
                              move_candidate candidate, const interconnect& links, int element_bytes, move_kind& k,
                              bool counts_received = true) {
  k.candidate = candidate;
  move_rows rows;
  if (candidate == move_candidate::exchange) {
    rows = rows_of(&exchange, 1, element_bytes);
    if (counts_received) k.received = most_received(exchange);
  } else {
    const move_parts parts = parts_of_candidate(source, target, exchange.shape, candidate, links);
    rows = rows_of(parts, element_bytes);
    if (counts_received) k.received = most_received_by_steps(parts);
  }
  k.steps = rows.row.size;
  k.staged = rows.staged;
  k.staged_bytes = rows.staged_bytes;
}

/// Returns what the kind takes over the links of `fastest`, where it is given; of rotations and hand-overs nothing.
constexpr move_load plan_kind_of_move(const sharded_program& p, move_kind& k, fastest_moves* fastest,
                                      bool counts_received = true) {
  const program_value &from = p.value.item[p.move.item[k.example].source],
                      &to = p.value.item[p.move.item[k.example].target];
  if (k.travel_axis >= 0) {
    k.plan = k.travel > 0 ? plan_kind::collective_permute : plan_kind::no_op;
    k.steps = k.travel > 0 ? 1 : 0;
    k.axes = k.travel > 0 ? 1u << k.travel_axis : 0u;
    k.received = k.travel > 0 ? local_elements(p, p.move.item[k.example].target) : 0;
    return {};
  }
  if (k.by_position) {
    k.plan = plan_kind::collective_permute;
    k.steps = 1;
    k.received = local_elements(p, p.move.item[k.example].target);
    return {};
  }
  if (k.hand_over) {
    const move_plan plan = plan_of_hand_over(p, p.move.item[k.example]);
    k.code = plan.code;
    k.plan = plan.kind;
    k.steps = plan.step_count;
    const int receivers = plan.step_count > 0 ? position_count(to.layout.mesh) : 0;
    for (int r = 0; r < receivers; ++r) {
      extent_t received = 0;
      visit_taken(plan, r, [&](int, extent_t elements) { received += elements; });
      k.received = larger(k.received, received);
    }
    return {};
  }
  const graph_tensor& tensor = p.graph.tensor.item[from.tensor];
  const move_plan plan = plan_move(from.layout, to.layout, tensor.shape);
  const int bytes = bytes_of(tensor.type);
  k.code = plan.code;
  k.plan = plan.kind;
  k.exchange_steps = plan.step_count;
  if (plan.step_count == 0) return {};
  move_load load;
  if (!counts_received || plan.kind != plan_kind::local_slice)
    load = choose_candidate(from.layout, to.layout, plan, bytes, fastest);
  take_candidate(from.layout, to.layout, plan, load.candidate, fastest != nullptr ? fastest->links() : without_links,
                 bytes, k, counts_received);
  if (counts_received && k.received == 0) load = {};
  if (k.received > 0) k.axes = travelled_axes(from.layout, to.layout);
  for (int i = 0; i < plan.step_count && k.received > 0; ++i)  // idle replicas help
    k.axes |= plan.step[i].shared | plan.step[i].replicas.split;
  for (int a = 0; a < from.layout.mesh.axis_count; ++a)
    if (from.layout.mesh.size[a] == 1) k.axes &= ~(1u << a);
  return load;
}

program_moves kinds_of_moves_in_library(const sharded_program& p, const interconnect& links);
constexpr program_moves kinds_of_moves_here(const sharded_program& p, const interconnect& links) {
  program_moves m;
  m.links = links;
  fastest_moves fastest(links);
  m.of.reserve(p.move.size);
  m.first_staged.reserve(p.move.size + 1);
  m.first_staged.push(0);
  for (int i = 0; i < p.move.size; ++i) {
    move_kind key = detail::key_of_move(p, i);
    int k = 0;
    while (k < m.kind.size && !detail::is_of_kind(p, m.kind.item[k], key)) ++k;
    if (k == m.kind.size) {
      const bool priced = links.kind != interconnect_kind::unpriced;
      const move_load load = detail::plan_kind_of_move(p, key, priced ? &fastest : nullptr);
      if (priced) m.load.push(load);
      m.kind.push(key);
    }
    m.of.push(k);
    m.first_staged.push(m.first_staged.last() + m.kind.item[k].staged.size);
  }
  return m;
}

}  // namespace detail

/// Sorts the program's moves into kinds, which are carried out on `links`.
constexpr program_moves kinds_of_moves(const sharded_program& p, const interconnect& links = without_links) {
  HYPERPARALLEL_TWIN(detail::kinds_of_moves_in_library(p, links));
  return detail::kinds_of_moves_here(p, links);
}

/// The kind of move `i`.
constexpr const move_kind& kind_of(const program_moves& m, int i) { return m.kind.item[m.of.item[i]]; }

}}  // namespace hyperparallel::v0_2
