// SPDX-License-Identifier: Apache-2.0
#pragma once
// A move without arithmetic as a list of copies of boxes, to be carried out elsewhere: another language, another
// transport, a library of one-sided puts.
//
//   const hp::interop::copy_list list = hp::interop::list_copies(from, to);   // two tensor_sides of one shape
//   for (const hp::interop::listed_copy& c : list.copies) …                   // c.sender → c.receiver, c.part
//
// The plan is that of plan_relocation, whose transfers are listed. Laws: the boxes of a receiver tile its target block
// exactly once; each lies in its sender's source block; what a receiver holds it copies from itself (sender ==
// receiver), so each rank receives |T_r ∖ S_r|, which is the least that any program brings it. Copies stand in the
// order of the target's positions.
// Units: elements. Ranks are those of the sides' lists.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/report/explain_relocation.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

namespace detail {

enum class copy_list_code : unsigned char {
  a_side_is_partial,
  shapes_differ,
  a_layout_is_refused,
  ranks_are_refused,
  too_many_copies,  ///< or elements
};

/// Why there is no list: one line.
struct copy_list_error : std::invalid_argument {
  copy_list_code code;
  copy_list_error(copy_list_code why, const std::string& text) : std::invalid_argument(text), code(why) {}
};

/// Copies beyond which a list is refused: it would fill memory.
inline constexpr extent_t most_copies = extent_t{1} << 26;

}  // namespace detail

/// A box in a row-major block: its first element, and the distance between neighbours along each dim.
struct block_place {
  extent_t offset = 0;
  extent_t along[max_dims] = {};
  friend constexpr bool operator==(const block_place&, const block_place&) = default;
};

struct listed_copy {
  int sender = 0;
  int receiver = 0;
  box part{};  ///< in the whole tensor
  block_place source{};
  block_place target{};
};

/// What a rank has before or after; `received` and `least` are those of a target block.
struct listed_block {
  int rank = 0;
  box part{};
  extent_t received = 0;
  extent_t least = 0;
};

struct copy_list {
  plan_kind kind = plan_kind::no_op;
  std::vector<listed_copy> copies{};
  std::vector<listed_block> source{};  ///< by position of the source's mesh
  std::vector<listed_block> target{};
  extent_t received_total = 0;
  extent_t received_maximum = 0;
  extent_t least_total = 0;
  extent_t least_maximum = 0;
};

/// Where `part` lies in the row-major block that holds `whole`. Domain: it lies in it. O(dims).
constexpr block_place place_of(const box& part, const box& whole) {
  block_place p;
  extent_t step = 1;
  for (int d = whole.rank; d-- > 0; step *= whole.dim[d].end - whole.dim[d].begin) {
    p.along[d] = step;
    p.offset += (part.dim[d].begin - whole.dim[d].begin) * step;
  }
  return p;
}

namespace detail {

inline void refuse_partial(const char* name, const layout_value& l) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none)
      throw copy_list_error(copy_list_code::a_side_is_partial,
                            std::string("the ") + name + " is partial along axis " + std::to_string(a) + " (" +
                                name_of(l.partial[a]) + "): a list of copies adds nothing up; resolve the terms first");
}

constexpr copy_list_code code_of(relocation_code code) {
  switch (code) {
    case relocation_code::source_ranks_do_not_fit_the_mesh:
    case relocation_code::target_ranks_do_not_fit_the_mesh:
      return copy_list_code::ranks_are_refused;
    case relocation_code::traffic_overflows:
      return copy_list_code::too_many_copies;
    default:
      return copy_list_code::a_layout_is_refused;
  }
}

inline void refuse_many(const relocation& r) {
  extent_t all = larger(r.source_ranks.count, r.target_ranks.count);
  for (int q = 0; q < r.target_ranks.count && r.plan.step_count > 0 && all <= most_copies; ++q)
    all += receiver_of(r.plan.step[0], r.plan.shape, q).transfers;
  if (all > most_copies)
    throw copy_list_error(copy_list_code::too_many_copies,
                          "the move has more copies than are listed, " + std::to_string(most_copies));
}

inline std::vector<listed_block> blocks_of(const tensor_side& side) {
  std::vector<listed_block> blocks;
  for (int p = 0; p < side.ranks.count; ++p) {
    const box part = slice_at(side.layout, side.shape, coordinates_of(side.layout.mesh, p));
    blocks.push_back({rank_at(side.ranks, p), part, 0, 0});
  }
  return blocks;
}

}  // namespace detail

/// The copies that take a tensor from one side to the other. Throws copy_list_error where a side is partial, is refused
/// (text of the relocation), the shapes differ or there are more than `most_copies`. O(ranks · copies of a receiver),
/// and the look-up of a rank.
inline copy_list list_copies(const tensor_side& from, const tensor_side& to) {
  detail::refuse_partial("source", from.layout);
  detail::refuse_partial("target", to.layout);
  if (!(from.shape == to.shape))
    throw detail::copy_list_error(detail::copy_list_code::shapes_differ,
                                  "the shapes differ: " + to_text(from.shape) + " and " + to_text(to.shape));
  const relocation r = plan_relocation(from, to);
  if (r.code != relocation_code::ok) throw detail::copy_list_error(detail::code_of(r.code), to_text(r));
  detail::refuse_many(r);

  copy_list list;
  list.kind = r.plan.kind;
  list.source = detail::blocks_of(from);
  list.target = detail::blocks_of(to);
  for (int q = 0; q < to.ranks.count; ++q) {
    listed_block& own = list.target[static_cast<std::size_t>(q)];
    const int held = position_in(from.ranks, own.rank);
    own.least = volume(own.part);
    if (held >= 0) own.least -= volume(intersection(own.part, list.source[static_cast<std::size_t>(held)].part));
    const auto add = [&](int sender, const box& part) {
      const listed_block& given = list.source[static_cast<std::size_t>(sender)];
      list.copies.push_back({given.rank, own.rank, part, place_of(part, given.part), place_of(part, own.part)});
      if (given.rank != own.rank) own.received += volume(part);
    };
    if (r.plan.step_count > 0)
      for_each_transfer(r, 0, q, [&](const relocated& t) { add(t.sender, t.boxes.part); });
    else if (volume(own.part) > 0)
      add(held, own.part);  // nothing changes: every rank keeps its block
    list.received_total += own.received;
    list.received_maximum = larger(list.received_maximum, own.received);
    list.least_total += own.least;
    list.least_maximum = larger(list.least_maximum, own.least);
  }
  return list;
}

}}}  // namespace hyperparallel::v0_2::interop
