// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorting along a dim that is sharded, by exact splitters.
//
//   split    each device sorts its block; the n − 1 keys at which the sorted row is cut are found bit by bit, by
//            all-reduced counts; each device then takes its part of the row out of every block, and merges
//   gather   each device takes the row and sorts it all: less where rows are short or devices are two
// With R rows a device, n devices a row, E elements a block of X, B bits in X, the busiest device receives in bytes
//   split    at most (sizeof X + 4) · E + 8 · (B · all_reduce_price(n, (n − 1) · R) + 2 · (n − 1)² · R)
//   gather   (n − 1) · sizeof X · E
// and the cheaper is taken. Neither needs a second exchange, as samples would, nor n of them, as merge-splits between
// neighbours would. Laws: elements and places are the single device's, stable, NaN above every number; blocks of the
// result are those of the layout. Splitters: as in multiway selection by bisection of the keys (Saukas and Song, 1999).

#include <algorithm>
#include <utility>

#include <hyperparallel/dtensor/forms/normalization.hpp>
#include <hyperparallel/dtensor/forms/sort_key.hpp>
#include <hyperparallel/dtensor/operations/ordering.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

enum class sort_way : unsigned char { split, gather, cheapest };

namespace detail {

/// Element m of row r of a block seen from an axis.
constexpr extent_t element_at(const kernels::detail::axis_split& s, extent_t r, extent_t m) {
  return (r / s.inner * s.middle + m) * s.inner + r % s.inner;
}

template <class X>
struct sort_work {
  const form_run& r;
  int axis;

  kernels::detail::axis_split split(int p) const { return kernels::detail::split_at(r.in<X>(0, p).extents, axis); }
  const piece_group& group() const { return r.along.pieces; }
  /// First place, in the whole row, of a piece.
  extent_t begin(int p, int piece) const {
    return r.operand[0].local_box(member_of(group(), p, piece)).dim[axis].begin;
  }

  sorted_rows sort_block(int p) const {
    const kernels::detail::axis_split s = split(p);
    const const_view<X> x = r.in<X>(0, p);
    sorted_rows sorted;
    sorted.length = s.middle;
    std::vector<std::pair<std::uint64_t, std::int32_t>> row(static_cast<std::size_t>(s.middle));
    for (extent_t i = 0; i < rows_along(s); ++i) {
      for (extent_t m = 0; m < s.middle; ++m)
        row[static_cast<std::size_t>(m)] = {sort_key(x.data[element_at(s, i, m)]), static_cast<std::int32_t>(m)};
      std::sort(row.begin(), row.end());
      for (const auto& [key, place] : row) {
        sorted.key.push_back(key);
        sorted.place.push_back(place);
      }
    }
    return sorted;
  }

  void run_split() const {
    const int n = group().size;
    const extent_t cuts = n - 1;
    std::vector<sorted_rows> block(static_cast<std::size_t>(r.ranks().ranks()));
    local_lists<std::uint64_t> splitter = r.along.lists<std::uint64_t>();  // [row, cut]
    local_lists<std::int64_t> count = r.along.lists<std::int64_t>();
    // Calls visit(row, cut, splitter, number among the sorted) for each.
    const auto for_each_cut = [&](int p, const auto& visit) {
      std::vector<std::uint64_t>& list = splitter[static_cast<std::size_t>(p)];
      for (extent_t i = 0; i < rows_along(split(p)); ++i)
        for (extent_t c = 0; c < cuts; ++c)
          visit(i, c, list[static_cast<std::size_t>(i * cuts + c)], begin(p, static_cast<int>(c) + 1));
    };
    r.ranks().for_each_rank("sort", [&](int p) {
      block[static_cast<std::size_t>(p)] = sort_block(p);
      splitter[static_cast<std::size_t>(p)].resize(static_cast<std::size_t>(rows_along(split(p)) * cuts));
    });
    // The smallest key with as many elements up to it as lie before the cut, from its highest bit on.
    for (int bit = sort_key_bits<X>; bit-- > 0;) {
      const std::uint64_t low = (std::uint64_t{1} << bit) - 1;
      r.ranks().for_each_rank("sort", [&](int p) {
        std::vector<std::int64_t>& list = count[static_cast<std::size_t>(p)];
        list.clear();
        for_each_cut(p, [&](extent_t i, extent_t, std::uint64_t key, extent_t) {
          list.push_back(block[static_cast<std::size_t>(p)].up_to(i, key | low));
        });
      });
      all_reduce_sum(r.along, count);
      r.ranks().for_each_rank("sort", [&](int p) {
        std::size_t at = 0;
        for_each_cut(p, [&](extent_t, extent_t, std::uint64_t& key, extent_t before) {
          if (count[static_cast<std::size_t>(p)][at++] < before) key |= low + 1;
        });
      });
    }
    // Elements below and at each splitter, of every block.
    r.ranks().for_each_rank("sort", [&](int p) {
      std::vector<std::int64_t>& list = count[static_cast<std::size_t>(p)];
      list.clear();
      for_each_cut(p, [&](extent_t i, extent_t, std::uint64_t key, extent_t) {
        const sorted_rows& sorted = block[static_cast<std::size_t>(p)];
        list.push_back(sorted.below(i, key));
        list.push_back(sorted.up_to(i, key) - sorted.below(i, key));
      });
    });
    r.ranks().for_each_rank("sort", [&](int p) { take(p, block, count); });
  }

  /// Where cut c of a row falls in every block, from the counts of each block below and at the splitter. Equal keys go
  /// before the cut in the order of pieces.
  void find_cut(int p, const std::vector<sorted_rows>& block,
                const std::vector<const std::vector<std::int64_t>*>& counts, extent_t row, int c,
                std::vector<extent_t>& at) const {
    const int n = group().size;
    const std::size_t place = static_cast<std::size_t>(2 * (row * (n - 1) + c - 1));
    extent_t left = c == 0 || c == n ? 0 : begin(p, c);
    for (int i = 0; i < n; ++i) {
      const std::size_t piece = static_cast<std::size_t>(i);
      const std::size_t holder = static_cast<std::size_t>(member_of(group(), p, i));
      at[piece] = c == 0 ? 0 : c == n ? block[holder].length : (*counts[piece])[place];
      left -= at[piece];
    }
    for (int i = 0; i < n && c > 0 && c < n; ++i) {
      const std::size_t piece = static_cast<std::size_t>(i);
      const extent_t equal = smaller(left, (*counts[piece])[place + 1]);
      at[piece] += equal;
      left -= equal;
    }
  }

  /// Takes the position's part of each row out of all blocks.
  void take(int p, const std::vector<sorted_rows>& block, const local_lists<std::int64_t>& count) const {
    struct taken {
      std::uint64_t key;
      std::int64_t place;
      X value;
    };
    const int n = group().size, piece = piece_of(group(), p);
    std::vector<const std::vector<std::int64_t>*> counts;
    for (int i = 0; i < n; ++i) counts.push_back(&r.along.read(count, p, member_of(group(), p, i)));
    const kernels::detail::axis_split s = split(p);
    const tensor_view<X> value = r.out<X>(0, p);
    const tensor_view<std::int64_t> index = r.out<std::int64_t>(1, p);
    std::vector<taken> part;
    std::vector<extent_t> first(static_cast<std::size_t>(n)), last(static_cast<std::size_t>(n));
    for (extent_t row = 0; row < rows_along(s); ++row) {
      part.clear();
      find_cut(p, block, counts, row, piece, first);
      find_cut(p, block, counts, row, piece + 1, last);
      for (int i = 0; i < n; ++i) {
        const int holder = member_of(group(), p, i);
        const sorted_rows& from = block[static_cast<std::size_t>(holder)];
        const kernels::detail::axis_split held = split(holder);
        const X* const data = r.in<X>(0, holder).data;
        const extent_t begins = first[static_cast<std::size_t>(i)], ends = last[static_cast<std::size_t>(i)];
        r.along.receive(p, holder, ends - begins, sizeof(X) + sizeof(std::int32_t));
        for (extent_t m = begins; m < ends; ++m) {
          const std::int32_t place = from.place[static_cast<std::size_t>(row * from.length + m)];
          const X x = data[element_at(held, row, place)];
          part.push_back({sort_key(x), begin(p, i) + place, x});
        }
      }
      std::sort(part.begin(), part.end(),
                [](const taken& a, const taken& b) { return a.key < b.key || (a.key == b.key && a.place < b.place); });
      for (std::size_t m = 0; m < part.size(); ++m) {
        const extent_t to = element_at(s, row, static_cast<extent_t>(m));
        value.data[to] = part[m].value;
        index.data[to] = part[m].place;
      }
    }
  }

  void run_gather() const {
    const dynamic_dtensor whole =
        redistribute(r.operand[0], without_dims(r.operand[0].layout(), 1u << axis), r.along.counted);
    r.ranks().for_each_rank("sort", [&](int p) {
      const const_view<X> x = whole.local(p).view<X>();
      const std::size_t n = static_cast<std::size_t>(volume(x));
      const std::unique_ptr<X[]> value = std::make_unique<X[]>(n);
      std::vector<std::int64_t> index(n);
      kernels::sort(x, tensor_view<X>{value.get(), x.extents}, tensor_view<std::int64_t>{index.data(), x.extents},
                    axis);
      const box held = whole.local_box(p), kept = r.place(0, p);
      const auto keep = [&](const auto* from, auto* to) {
        copy_box(copy_between(held, kept, kept, static_cast<int>(sizeof *to)), reinterpret_cast<const std::byte*>(from),
                 reinterpret_cast<std::byte*>(to));
      };
      keep(value.get(), r.out<X>(0, p).data);
      keep(index.data(), r.out<std::int64_t>(1, p).data);
    });
  }
};

}  // namespace detail

/// Bytes that the busiest device receives, see above: exact of a gather, a bound of a split.
template <class X>
constexpr extent_t sort_price(const layout_value& x, const shape& s, int dim, sort_way way) {
  const unsigned dims = 1u << rules::from_front(dim, s.rank);
  constexpr extent_t size = sizeof(X);
  if (way == sort_way::gather) return detail::move_price(x, detail::without_dims(x, dims), s) * size;
  const int n = group_over(x, dims).size;
  if (n == 1) return 0;
  const extent_t rows = detail::largest_rows(x, s, dims), cuts = n - 1;
  const extent_t block = rows * local_shape(x, s).shape.extent[rules::from_front(dim, s.rank)];
  return (size + 4) * block +
         8 * (detail::sort_key_bits<X> * detail::all_reduce_price(n, cuts * rows) + 2 * cuts * cuts * rows);
}

namespace forms {

/// Sorted elements and where each was. Domain: blocks of less than 2³¹ elements a row.
struct sort : operations::sort {
  sort_way way = sort_way::cheapest;

  constexpr working_dims working(const shape* x, int) const {
    working_dims w = detail::along_dim(dim, x[0].rank);
    w.result[1] = w.result[0];
    return w;
  }

  template <class X>
  void run_form(form_run& r) const {
    const layout_value& l = r.operand[0].layout();
    const shape& s = r.operand[0].shape();
    const detail::sort_work<X> work{r, rules::from_front(dim, s.rank)};
    const bool gather = way == sort_way::gather ||
                        (way == sort_way::cheapest &&
                         sort_price<X>(l, s, dim, sort_way::gather) <= sort_price<X>(l, s, dim, sort_way::split));
    if (gather || r.along.pieces.size == 1)
      work.run_gather();
    else
      work.run_split();
  }
};

}  // namespace forms

/// A tuple of sorted elements and their places.
template <int Dim = -1, dtensor_type X>
auto sort(const X& x) {
  return apply_form<forms::sort{{Dim}}>(x);
}
template <int Dim = -1, dtensor_type X>
auto argsort(const X& x) {
  return std::get<1>(distributed::sort<Dim>(x));
}

}}}  // namespace hyperparallel::v0_2::distributed
