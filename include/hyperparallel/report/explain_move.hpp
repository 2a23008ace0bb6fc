// SPDX-License-Identifier: Apache-2.0
#pragma once
// A planned move in full, for people: what kind it is, its digits, the bound in words, every step with what it brings
// and an example of its transfers, and the certificate. The plan may be carried out in another way than by fewest
// bytes, in two parts at once too (candidates.hpp).
//
// Law: every figure is counted from the transfers that the steps emit, except the bound, which is computed apart.

#include <cstddef>
#include <string>
#include <vector>

#include <hyperparallel/redistribution/move_parts.hpp>
#include <hyperparallel/report/format_move.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A plan with all that its explanation needs; plan, way and mesh must outlive it.
struct explained_move {
  const move_plan& plan;            ///< by fewest bytes: it tells kind, digits and bound
  const move_parts* way = nullptr;  ///< how it is carried out; null: as planned
  const mesh_value& mesh;
  extent_t element_bytes = 4;
  rank_list ranks{};        ///< of the mesh's positions
  int shown_transfers = 4;  ///< of the rank that receives most in a step
};

/// What the ranks of a step receive and send. Units: elements.
struct step_load {
  extent_t total = 0, received = 0, messages = 0, sent = 0;
  int busiest = 0;                ///< position of the first rank that receives most
  extent_t busiest_messages = 0;  ///< to it

  /// Takes one receiver into account.
  void add(int receiver, extent_t elements, extent_t in_messages) {
    total += elements;
    messages = larger(messages, in_messages);
    if (receiver > 0 && elements <= received) return;
    received = elements;
    busiest = receiver;
    busiest_messages = in_messages;
  }
};

/// O(positions · transfers of a receiver).
inline step_load load_of(const move_step& step, const shape& s) {
  const std::size_t positions = static_cast<std::size_t>(position_count(step.target.mesh));
  std::vector<extent_t> tally(positions * 3);
  extent_t *received = tally.data(), *sent = received + positions, *messages = sent + positions;
  tally_step(step, s, received, sent, messages);
  step_load load;
  for (std::size_t p = 0; p < positions; ++p) {
    load.add(static_cast<int>(p), received[p], messages[p]);
    load.sent = larger(load.sent, sent[p]);
  }
  return load;
}

}  // namespace report

/// Domain: `p` is a plan by fewest bytes on one mesh, `m`, and its code is ok.
inline report::explained_move explained(const move_plan& p, const mesh_value& m, extent_t element_bytes,
                                        const rank_list& ranks) {
  return {p, nullptr, m, element_bytes, ranks};
}
inline report::explained_move explained(const move_plan& p, const mesh_value& m, extent_t element_bytes) {
  return explained(p, m, element_bytes, all_ranks(m.shape));
}
/// The same carried out as `way` says, which one of the candidates of the move is.
inline report::explained_move explained(const move_plan& p, const move_parts& way, const mesh_value& m,
                                        extent_t element_bytes, const rank_list& ranks) {
  return {p, &way, m, element_bytes, ranks};
}

namespace detail {

constexpr const char* meaning_of(step_kind kind) {
  switch (kind) {
    case step_kind::pull:
      return "each rank takes every box of its target from one holder";
    case step_kind::reduce:
      return "each rank takes every box of its target from all who have a term of it, and folds the terms in order";
    case step_kind::collect:
      return "each rank takes its share of its source block from all who have a term of it, and folds the terms";
    case step_kind::spread:
      return "each rank takes the reduced shares of its target from those who reduced them";
  }
  return "";
}

/// The bound of a move in words. Units: elements.
inline std::string bound_text(const move_plan& p, const mesh_value& m) {
  const layout_value &source = p.step[0].source, &target = p.step[p.step_count - 1].target;
  if (p.reduced != 0) {
    const unsigned copied = all_axes(m.shape) & ~cut_axes(target) & ~p.kept & ~with_identity(target, p.filled);
    return "g + c - 1 - [a contributor wants it] for each element, g = " +
           std::to_string(group_size(m.shape, axes_of(m.shape, p.reduced))) +
           " terms, c = " + std::to_string(group_size(m.shape, axes_of(m.shape, copied))) + " copies";
  }
  if (p.filled != 0) return "what no rank along " + mask_text(p.filled, &m) + " holds, once";
  const digit_table t = refine(source, target, p.shape);
  if (!t.refinable) return "what a rank's target has and its source has not, rank by rank";
  if (t.moved) return "|T| on the busiest rank: a digit moves between axes, so some rank holds nothing of its target";
  if (t.gathered == 1) return "nothing: every rank holds its target";
  return "|T| (1 - 1/g) on every rank, g = " + std::to_string(t.gathered) + " gathered";
}

/// The names of `m` for a matrix whose axes are factors of its axes: "x" cut in two is "x.0" and "x.1".
inline mesh_value names_on(const mesh_value& m, const mesh_shape& finer) {
  mesh_value names;
  names.shape = finer;
  int next = 0;
  for (int a = 0; a < m.shape.axis_count; ++a) {
    int rest = m.shape.size[a];
    for (int part = 0; next < finer.axis_count && (rest > 1 || (part == 0 && finer.size[next] == 1)); ++part) {
      const bool whole = part == 0 && finer.size[next] == rest;
      const std::string name = whole ? m.label[a].text : fmt::format("{}.{}", m.label[a].text, part);
      names.label[next] = short_text(fits(name.c_str()) ? name.c_str() : m.label[a].text);
      rest /= finer.size[next++];
    }
  }
  return names;
}

inline std::string load_text(const report::step_load& load, extent_t element_bytes) {
  const auto bytes = [&](extent_t n) { return to_text(report::byte_count{n * element_bytes}); };
  if (load.total == 0) return "        nothing is sent\n";
  return "        all receive " + bytes(load.total) + "; a rank receives at most " + bytes(load.received) + " in " +
         counted(load.messages, "message") + ", sends at most " + bytes(load.sent) + "\n";
}

/// What one step brings, and the first transfers of the rank that receives most.
inline std::string step_report(const report::explained_move& e, const move_step& step, const shape& s) {
  const report::step_load load = report::load_of(step, s);
  std::string out = load_text(load, e.element_bytes);
  const step_receiver r = receiver_of(step, s, load.busiest);
  extent_t shown = 0;
  for (extent_t k = 0; k < r.transfers && shown < e.shown_transfers; ++k) {
    const transfer t = transfer_at(step, r, k);
    if (volume(t.part) == 0 || is_own(r, t)) continue;
    ++shown;
    out += "        rank " + std::to_string(rank_at(e.ranks, load.busiest)) + " takes " + to_text(t.part) +
           " from rank " + std::to_string(rank_at(e.ranks, t.sender)) +
           (r.terms > 1 ? ", term " + std::to_string(t.term) : "") + "\n";
  }
  const extent_t left = load.busiest_messages - shown;
  return left > 0 ? out + "        and " + std::to_string(left) + " more\n" : out;
}

inline std::string steps_text(const report::explained_move& e, const move_plan& p) {
  std::string out;
  if (!(p.shape == e.plan.shape)) out += "        the steps see the tensor as " + to_text(p.shape) + "\n";
  for (int i = 0; i < p.step_count; ++i) {
    const mesh_value names = names_on(e.mesh, p.step[i].source.mesh);
    out += "step " + std::to_string(i + 1) + "  " + to_text(named(p.step[i], names)) + "\n        " +
           meaning_of(p.step[i].kind) + "\n" + step_report(e, p.step[i], p.shape);
  }
  return out;
}

/// The steps of each part that moves an interval of the tensor at the same time as the other.
inline std::string parts_text(const report::explained_move& e) {
  if (e.way == nullptr) return steps_text(e, e.plan);
  if (e.way->count == 1) return steps_text(e, e.way->part[0]);
  std::string out;
  for (int i = 0; i < e.way->count; ++i) {
    const extent_t n = e.way->part[i].shape.extent[e.way->dim], begin = i == 0 ? 0 : e.way->split;
    out += "part " + std::to_string(i + 1) + "  moves " + to_text(interval{begin, begin + n}) + " of dim " +
           std::to_string(e.way->dim) + ", at the same time as the other part\n" + steps_text(e, e.way->part[i]);
  }
  return out;
}

/// Counts the move as it is carried out.
inline move_figures count_figures(const report::explained_move& e) {
  move_parts planned;
  if (e.way == nullptr) {
    planned.count = 1;
    planned.part[0] = e.plan;
  }
  std::vector<extent_t> entries(static_cast<std::size_t>(tally_size(without_links, position_count(e.mesh.shape))));
  return figures_of(e.way == nullptr ? planned : *e.way, without_links, 1, entries.data());
}

/// Figures beside what any program must receive. Units: elements. `peak` says what the peak supposes.
inline std::string full_certificate_text(extent_t total, extent_t least, extent_t received, extent_t sent,
                                         const char* peak, extent_t peak_elements, extent_t element_bytes) {
  const auto line = [&](const std::string& name, extent_t n) {
    return "        " + name + std::string(23 - name.size(), ' ') + to_text(report::byte_count{n * element_bytes}) +
           "\n";
  };
  return "certificate\n" + line("received by all ranks", total) + line("least of any program", least) +
         "        ratio                  " + to_text(report::ratio{ratio_of(total, least)}) + "\n" +
         line("busiest receiver", received) + line("busiest sender", sent) + line(peak, peak_elements);
}

}  // namespace detail

namespace report {

/// Several lines, each ended by a line break. O(steps · positions · transfers of a receiver).
inline std::string to_text(const explained_move& e) {
  const move_plan& p = e.plan;
  move_plan carried_out = p;
  if (e.way != nullptr) carried_out.step_count = step_count(*e.way);
  const std::string kind = "kind    " + to_text(named(carried_out, e.mesh)) + "\n";
  if (p.step_count == 0) return kind;
  const move_figures f = hyperparallel::detail::count_figures(e);
  return kind + "bound   " + hyperparallel::detail::bound_text(p, e.mesh) + "\n\n" +
         to_text(named(refine(p.step[0].source, p.step[p.step_count - 1].target, p.shape), e.mesh)) + "\n" +
         hyperparallel::detail::parts_text(e) + "\n" +
         hyperparallel::detail::full_certificate_text(f.received_total, least_received_total(p), f.received_maximum,
                                                      f.sent_maximum, "peak, source given up", f.peak_elements,
                                                      e.element_bytes);
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
