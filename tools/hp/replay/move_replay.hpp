// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes a planned move value by value on every rank of a simulated world, partial states included.
//
// The numbers are those of a prime field, so that sums, products and averages are exact; max, min, all and any compare.
// Every (element, combination of partial coordinates) starts with a random term. At the end each rank's block, combined
// over the axes that are partial in the target, must be the combination of all terms. What is received is counted here
// by elements, and the least by looking at every element's holders and targets, without the planner's arithmetic.

#include <hyperparallel/redistribution/certificate.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace replay {

namespace hp = hyperparallel;

struct move_report {
  std::string trouble{};  ///< empty: right on every rank
  std::vector<hp::extent_t> received{}, sent{};
  hp::extent_t received_total = 0, received_max = 0, sent_max = 0;
  hp::extent_t least_total = 0;     ///< by elements
  bool every_rank_at_least = true;  ///< without a reduction: received(r) == |T_r ∖ S_r| on every rank
};

namespace field {

inline constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
__extension__ typedef unsigned __int128 wide;

inline std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<wide>(a) * b % prime);
}
inline std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t r = 1;
  for (std::uint64_t e = prime - 2; e > 0; e >>= 1, a = times(a, a))
    if ((e & 1u) != 0) r = times(r, a);
  return r;
}
inline std::uint64_t fold(hp::reduce_op op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case hp::reduce_op::max:
    case hp::reduce_op::any:
      return a < b ? b : a;
    case hp::reduce_op::min:
    case hp::reduce_op::all:
      return b < a ? b : a;
    case hp::reduce_op::prod:
      return times(a, b);
    default:
      return (a + b) % prime;
  }
}
/// A term that tells element and coordinates apart.
inline std::uint64_t term(std::uint64_t element, std::uint64_t group) {
  std::uint64_t x = element * 0x9e3779b97f4a7c15u + (group + 1) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 32;
  return x % prime;
}

}  // namespace field

namespace detail {

inline hp::reduce_op operation_of(const hp::layout_value& l, unsigned mask) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0) return l.partial[a];
  return hp::reduce_op::sum;
}

/// The divisor that averages along the axes of `mask` bring in.
inline std::uint64_t divisor_of(const hp::layout_value& l, unsigned mask) {
  std::uint64_t n = 1;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0 && l.partial[a] == hp::reduce_op::avg) n *= static_cast<std::uint64_t>(l.mesh.size[a]);
  return n;
}

inline unsigned partial_axes(const hp::layout_value& l) {
  unsigned mask = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none) mask |= 1u << a;
  return mask;
}

inline std::uint64_t own_term(const hp::layout_value& l, hp::extent_t flat, const hp::coordinate& c) {
  const hp::axis_list axes = hp::detail::axes_of(l.mesh, partial_axes(l));
  return field::term(static_cast<std::uint64_t>(flat),
                     static_cast<std::uint64_t>(hp::index_in_group(l.mesh, axes, hp::position_of(l.mesh, c))));
}

/// The tensor that `l` means at a flat index.
inline std::uint64_t reduced_value(const hp::layout_value& l, hp::extent_t flat) {
  const unsigned mask = partial_axes(l);
  const hp::axis_list axes = hp::detail::axes_of(l.mesh, mask);
  std::uint64_t sum = 0;
  for (int i = 0; i < hp::group_size(l.mesh, axes); ++i) {
    const std::uint64_t x = field::term(static_cast<std::uint64_t>(flat), static_cast<std::uint64_t>(i));
    sum = i == 0 ? x : field::fold(operation_of(l, mask), sum, x);
  }
  return field::times(sum, field::inverse(divisor_of(l, mask)));
}

/// Calls visit(flat index in the tensor, index in the row-major block of `frame`) for the elements of `b`.
template <class Visit>
void elements_of(const hp::box& b, const hp::box& frame, const hp::shape& s, Visit visit) {
  const hp::extent_t n = b.rank == s.rank ? hp::volume(b) : 0;
  for (hp::extent_t i = 0; i < n; ++i) {
    hp::extent_t rest = i, at[hp::max_dims] = {};
    for (int d = b.rank - 1; d >= 0; --d) {
      const hp::extent_t w = b.dim[d].end - b.dim[d].begin;
      at[d] = b.dim[d].begin + rest % w;
      rest /= w;
    }
    hp::extent_t flat = 0, local = 0;
    for (int d = 0; d < b.rank; ++d) {
      flat = flat * s.extent[d] + at[d];
      local = local * (frame.dim[d].end - frame.dim[d].begin) + at[d] - frame.dim[d].begin;
    }
    visit(flat, local);
  }
}

inline bool holds(const hp::layout_value& l, const hp::shape& s, int p, const hp::extent_t* at) {
  const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, p));
  for (int d = 0; d < s.rank; ++d)
    if (at[d] < b.dim[d].begin || at[d] >= b.dim[d].end) return false;
  return true;
}

/// What all ranks must receive, element by element (see certificate.hpp). Boxes are looked at, digits never.
inline hp::extent_t least_by_elements(const hp::layout_value& source, const hp::layout_value& target,
                                      const hp::move_plan& p) {
  const hp::mesh_shape& m = source.mesh;
  const int positions = hp::position_count(m);
  const unsigned identity = hp::detail::with_identity(target, p.filled);
  const hp::extent_t g = hp::group_size(m, hp::detail::axes_of(m, p.reduced));
  const hp::extent_t n = hp::element_count(p.shape).value;
  hp::extent_t least = 0;
  for (hp::extent_t e = 0; e < n; ++e) {
    hp::extent_t rest = e, at[hp::max_dims] = {};
    for (int d = p.shape.rank - 1; d >= 0; --d) {
      at[d] = rest % p.shape.extent[d];
      rest /= p.shape.extent[d];
    }
    for (int world = 0; world < hp::group_size(m, hp::detail::axes_of(m, p.kept)); ++world) {
      hp::extent_t copies = 0, unheld = 0;
      bool met = false;
      for (int q = 0; q < positions; ++q) {
        const hp::coordinate c = hp::coordinates_of(m, q);
        if (hp::index_in_group(m, hp::detail::axes_of(m, p.kept), q) != world) continue;
        if (!holds(target, p.shape, q, at)) continue;
        const bool held = holds(source, p.shape, q, at);
        met = met || held;
        if (!hp::detail::all_zero(c, identity)) continue;
        ++copies;
        bool group_holds = false;
        const hp::axis_list along = hp::detail::axes_of(m, identity);
        for (int i = 0; i < hp::group_size(m, along); ++i)
          group_holds = group_holds || holds(source, p.shape, hp::group_member(m, along, q, i), at);
        if (!group_holds) ++unheld;
      }
      least += g == 1 ? unheld : g + copies - 1 - (met ? 1 : 0);
    }
  }
  return least;
}

}  // namespace detail

/// Runs `p`, which plans `source` → `target`. Domain: p.code is ok.
inline move_report replay_move(const hp::layout_value& source, const hp::layout_value& target, const hp::move_plan& p) {
  using detail::elements_of;
  move_report report;
  const hp::mesh_shape& m = source.mesh;
  const int positions = hp::position_count(m);
  const auto complain = [&report](const std::string& text) {
    if (report.trouble.empty()) report.trouble = text;
  };
  using block = std::vector<std::uint64_t>;
  report.received.assign(static_cast<std::size_t>(positions), 0);
  report.sent = report.received;
  std::vector<block> held(static_cast<std::size_t>(positions));
  std::vector<hp::box> frame(static_cast<std::size_t>(positions));
  for (int q = 0; q < positions; ++q) {
    const std::size_t i = static_cast<std::size_t>(q);
    frame[i] = hp::slice_at(source, p.shape, hp::coordinates_of(m, q));
    held[i].resize(static_cast<std::size_t>(hp::volume(frame[i])));
    elements_of(frame[i], frame[i], p.shape, [&](hp::extent_t flat, hp::extent_t local) {
      held[i][static_cast<std::size_t>(local)] = detail::own_term(source, flat, hp::coordinates_of(m, q));
    });
  }
  for (int k = 0; k < p.step_count; ++k) {
    const hp::move_step& step = p.step[k];
    std::vector<block> next(held.size());
    std::vector<hp::box> next_frame(frame.size());
    const bool folds = step.kind == hp::step_kind::reduce || step.kind == hp::step_kind::collect;
    const hp::reduce_op op = detail::operation_of(step.source, step.reduced);
    const std::uint64_t scale = folds ? field::inverse(detail::divisor_of(step.source, step.reduced)) : 1;
    for (int q = 0; q < positions; ++q) {
      const std::size_t i = static_cast<std::size_t>(q);
      next_frame[i] = hp::target_frame(step, p.shape, q);
      const std::size_t n = static_cast<std::size_t>(hp::volume(next_frame[i]));
      next[i].assign(n, 0);
      std::vector<int> terms(n, 0);
      const hp::step_receiver r = hp::receiver_of(step, p.shape, q);
      for (hp::extent_t x = 0; x < r.transfers; ++x) {
        const hp::transfer t = hp::transfer_at(step, r, x);
        if (hp::volume(t.part) == 0) continue;
        const std::size_t from = static_cast<std::size_t>(t.sender);
        if (t.sender < 0 || t.sender >= positions || !(hp::intersection(t.part, frame[from]) == t.part) ||
            !(hp::intersection(t.part, next_frame[i]) == t.part)) {
          complain("position " + std::to_string(q) + ": a part is not its sender's to give or its own to take");
          return report;
        }
        if (t.sender != q) {
          report.received[i] += hp::volume(t.part);
          report.sent[from] += hp::volume(t.part);
        }
        std::vector<std::uint64_t> values;
        elements_of(t.part, frame[from], p.shape, [&](hp::extent_t, hp::extent_t local) {
          values.push_back(held[from][static_cast<std::size_t>(local)]);
        });
        std::size_t v = 0;
        elements_of(t.part, next_frame[i], p.shape, [&](hp::extent_t, hp::extent_t local) {
          const std::size_t at = static_cast<std::size_t>(local);
          if (terms[at]++ != t.term) complain("position " + std::to_string(q) + ": a term is out of order");
          next[i][at] = t.term == 0 ? values[v] : field::fold(op, next[i][at], values[v]);
          ++v;
        });
      }
      const std::uint64_t identity = detail::operation_of(step.target, step.filled) == hp::reduce_op::prod ? 1 : 0;
      for (std::size_t at = 0; at < n; ++at) {
        if (terms[at] == 0 && step.kind != hp::step_kind::collect) {
          if (step.filled == 0) complain("position " + std::to_string(q) + " has an element that nobody brought");
          next[i][at] = identity;
        } else if (terms[at] > 0) {
          if (folds && terms[at] != r.terms) complain("a term is missing");
          next[i][at] = field::times(next[i][at], scale);
        }
      }
    }
    held = std::move(next);
    frame = std::move(next_frame);
  }
  const unsigned waiting = detail::partial_axes(target);
  const hp::axis_list along = hp::detail::axes_of(m, waiting);
  const std::uint64_t scale = field::inverse(detail::divisor_of(target, waiting));
  for (int q = 0; q < positions; ++q) {
    const hp::box own = hp::slice_at(target, p.shape, hp::coordinates_of(m, q));
    if (!(frame[static_cast<std::size_t>(q)] == own)) complain("a block does not have its target's frame");
    elements_of(own, own, p.shape, [&](hp::extent_t flat, hp::extent_t local) {
      std::uint64_t sum = 0;
      for (int i = 0; i < hp::group_size(m, along); ++i) {
        const block& b = held[static_cast<std::size_t>(hp::group_member(m, along, q, i))];
        const std::uint64_t x = b[static_cast<std::size_t>(local)];
        sum = i == 0 ? x : field::fold(detail::operation_of(target, waiting), sum, x);
      }
      if (field::times(sum, scale) != detail::reduced_value(source, flat))
        complain("position " + std::to_string(q) + ": a value is wrong");
    });
    const std::size_t i = static_cast<std::size_t>(q);
    const hp::coordinate c = hp::coordinates_of(m, q);
    report.received_total += report.received[i];
    report.received_max = hp::larger(report.received_max, report.received[i]);
    report.sent_max = hp::larger(report.sent_max, report.sent[i]);
    if (p.reduced == 0 && p.filled == 0 && report.received[i] != hp::least_received(source, target, p.shape, c))
      report.every_rank_at_least = false;
  }
  report.least_total = detail::least_by_elements(source, target, p);
  return report;
}

}  // namespace replay
