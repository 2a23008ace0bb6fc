// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives of lists along a group, which the distributed forms are made of.
//
// A list lies at each position of the rank group; a step of a form reads lists of other positions and writes its own.
// Laws: reductions fold in the order of pieces, so every member gets the same bits in every run, for any number of
// threads; what a position reads of others is counted as received, and nothing else is.
//
//   all_reduce   elements (records) received, m a list: (n − 1) · ⌈m / n⌉ + m − ⌈m / n⌉, none where n = 1: each member
//                reduces its chunk, then takes the others'
//   shift        the lists of the members one piece before, where wanted

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/forms/piece_group.hpp>
#include <hyperparallel/dtensor/move.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

/// What each position received from others. Each entry is written by the position's own work.
struct traffic {
  std::vector<std::int64_t> elements, bytes;

  explicit traffic(int ranks) : elements(static_cast<std::size_t>(ranks)), bytes(static_cast<std::size_t>(ranks)) {}

  void receive(int position, std::int64_t count, std::int64_t size) {
    elements[static_cast<std::size_t>(position)] += count;
    bytes[static_cast<std::size_t>(position)] += count * size;
  }
  std::int64_t busiest_elements() const { return most(elements); }
  std::int64_t busiest_bytes() const { return most(bytes); }

 private:
  static std::int64_t most(const std::vector<std::int64_t>& counts) {
    std::int64_t n = 0;
    for (const std::int64_t c : counts) n = larger(n, c);
    return n;
  }
};

/// One list a position. Domain: T is not bool.
template <class T>
using local_lists = std::vector<std::vector<T>>;

/// The devices of a form, and the group that each of them works with.
struct communicator {
  rank_group ranks;
  piece_group pieces;
  traffic* counted = nullptr;

  template <class T>
  local_lists<T> lists() const {
    return local_lists<T>(static_cast<std::size_t>(ranks.ranks()));
  }

  void receive(int reader, int holder, std::int64_t count, std::size_t size) const {
    if (counted != nullptr && reader != holder) counted->receive(reader, count, static_cast<std::int64_t>(size));
  }

  /// The list of `holder`, read by `reader`.
  template <class T>
  const std::vector<T>& read(const local_lists<T>& x, int reader, int holder) const {
    const std::vector<T>& list = x[static_cast<std::size_t>(holder)];
    receive(reader, holder, static_cast<std::int64_t>(list.size()), sizeof(T));
    return list;
  }
};

namespace detail {

/// Chunk i of n of a list of m: the first ones are full.
constexpr interval chunk_of(extent_t m, int n, int i) {
  const extent_t chunk = ceil_divide(m, extent_t{n});
  return {smaller(m, i * chunk), smaller(m, (i + 1) * chunk)};
}

constexpr extent_t all_reduce_price(int n, extent_t m) {
  const extent_t chunk = ceil_divide(m, extent_t{n});
  return n == 1 ? 0 : (n - 1) * chunk + m - chunk;
}

/// Lists of records of `width` elements: every member's record becomes the fold, in the order of pieces, of all
/// members' by `op(T* so_far, const T* term)`. Domain: the lists of a group are equally long, a multiple of width > 0.
template <class T, class Op>
void all_reduce_records(const communicator& c, local_lists<T>& x, extent_t width, const Op& op) {
  const int n = c.pieces.size;
  if (n == 1) return;
  local_lists<T> reduced = c.lists<T>();
  const auto of = [&](int position, int piece) { return member_of(c.pieces, position, piece); };
  c.ranks.for_each_rank("all_reduce", [&](int position) {
    std::vector<T>& sum = reduced[static_cast<std::size_t>(position)];
    const extent_t m = static_cast<extent_t>(x[static_cast<std::size_t>(position)].size()) / width;
    const interval own = chunk_of(m, n, piece_of(c.pieces, position));
    for (int i = 0; i < n; ++i) {
      const int holder = of(position, i);
      const T* const term = x[static_cast<std::size_t>(holder)].data();
      c.receive(position, holder, (own.end - own.begin) * width, sizeof(T));
      if (i == 0)
        sum.assign(term + own.begin * width, term + own.end * width);
      else
        for (extent_t r = own.begin; r < own.end; ++r) op(sum.data() + (r - own.begin) * width, term + r * width);
    }
  });
  c.ranks.for_each_rank("all_reduce", [&](int position) {
    std::vector<T>& whole = x[static_cast<std::size_t>(position)];
    whole.clear();
    for (int i = 0; i < n; ++i) {
      const std::vector<T>& chunk = c.read(reduced, position, of(position, i));
      whole.insert(whole.end(), chunk.begin(), chunk.end());
    }
  });
}

}  // namespace detail

/// Every member's list becomes op(… op(op(list 0, list 1), list 2) …), element by element.
template <class T, class Op>
void all_reduce(const communicator& c, local_lists<T>& x, const Op& op) {
  detail::all_reduce_records(c, x, 1, [&op](T* so_far, const T* term) { *so_far = op(*so_far, *term); });
}

namespace detail {

template <class T>
void all_reduce_sum(const communicator& c, local_lists<T>& x) {
  all_reduce(c, x, [](const T& a, const T& b) { return static_cast<T>(a + b); });
}
template <class T>
void all_reduce_max(const communicator& c, local_lists<T>& x) {
  all_reduce(c, x, [](const T& a, const T& b) { return kernels::functions::maximum::of(a, b); });
}

}  // namespace detail

/// Each position gets a copy of the list of the member one piece before it, around the group's ring; where not
/// `wanted(position)`, it gets an empty list.
template <class T, class Wanted>
local_lists<T> shift(const communicator& c, const local_lists<T>& x, const Wanted& wanted) {
  const int n = c.pieces.size;
  local_lists<T> moved = c.lists<T>();
  c.ranks.for_each_rank("shift", [&](int position) {
    if (!wanted(position)) return;
    const int before = (detail::piece_of(c.pieces, position) + n - 1) % n;
    moved[static_cast<std::size_t>(position)] = c.read(x, position, detail::member_of(c.pieces, position, before));
  });
  return moved;
}

/// `x` in layout `to`, what each position receives counted.
inline dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to, traffic* counted) {
  const move_plan plan = plan_move(x.layout(), to, x.shape());
  const dynamic_dtensor y = hyperparallel::redistribute(x, to, plan);
  if (counted == nullptr || x.layout() == to) return y;
  for (int p = 0; p < x.ranks(); ++p) counted->receive(p, received_at(plan, p), bytes_of(x.type()));
  return y;
}

namespace detail {

/// What it receives on the busiest device. Domain: the move is possible.
constexpr extent_t move_price(const layout_value& from, const layout_value& to, const shape& s) {
  return most_received(plan_move(from, to, s));
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::distributed
