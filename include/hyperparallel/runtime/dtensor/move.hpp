// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carrying out a move_plan between the blocks of a rank group.
//
// Each rank pulls what it needs from the blocks of others, which no one writes any more. Laws: the values of a tensor
// do not change by a move; a rank whose new block is a run of its own old block shares it, so local slices of the
// outermost dim, equal layouts and fills that change nothing copy nothing. The plan of the reductions is move_plan's;
// this header only executes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/mesh/axis_group.hpp>
#include <hyperparallel/runtime/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/runtime/dtensor/move_plan.hpp>
#include <hyperparallel/runtime/kernels/elementwise_functions.hpp>
#include <hyperparallel/runtime/kernels/exact.hpp>

namespace hyperparallel {

struct move_error : dtensor_error {
  move_code code;
  explicit move_error(const move_plan& p) : dtensor_error(text(p)), code(p.code) {}

 private:
  static std::string text(const move_plan& p) {
    if (p.code == move_code::layouts_are_on_different_meshes) return "layouts_are_on_different_meshes";
    if (p.code == move_code::reductions_do_not_commute)
      return "reductions_do_not_commute: axis " + std::to_string(p.axis);
    return layout_error(p.layout).what();
  }
};

namespace detail {

/// A position's own block of `x` under another box: shared where the box is one run of it, else copied.
inline dynamic_dtensor::block own_part(const dynamic_dtensor& x, int position, const box& part) {
  const strided_copy run = flatten(copy_between(x.local_box(position), part, part, bytes_of(x.type())));
  const dynamic_dtensor::block& held = x.shared_block(position);
  if (run.dims == 0) return {held, held.get() + run.source_start};
  const std::shared_ptr<std::byte> bytes = allocate_block(block_bytes(x.description(), part));
  copy_strided(run, held.get(), bytes.get());
  return bytes;
}

/// One new block a position, by `make(position)`.
template <class Make>
dynamic_dtensor with_blocks(const dynamic_dtensor& x, const layout_value& layout, const char* operation,
                            const Make& make) {
  std::vector<dynamic_dtensor::block> blocks(static_cast<std::size_t>(x.ranks()));
  x.group().for_each_rank(operation, [&](int p) { blocks[static_cast<std::size_t>(p)] = make(p); });
  return {x.group(), {x.type(), x.shape(), layout}, std::move(blocks)};
}

/// sum[i] = sum[i] op term[i].
template <class C, class T>
HYPERPARALLEL_EXACT void fold_term(reduce_op op, std::int64_t n, const T* term, C* sum) {
  HYPERPARALLEL_EXACT_BODY
  namespace f = kernels::functions;
  const auto by = [&](auto function) {
    for (std::int64_t i = 0; i < n; ++i)
      sum[i] = static_cast<C>(decltype(function)::of(sum[i], static_cast<C>(kernels::load(term[i]))));
  };
  switch (op) {
    case reduce_op::max:
      return by(f::maximum{});
    case reduce_op::min:
      return by(f::minimum{});
    case reduce_op::prod:
      return by(f::mul{});
    case reduce_op::all:
      return by(f::logical_and{});
    case reduce_op::any:
      return by(f::logical_or{});
    case reduce_op::none:
    case reduce_op::sum:
    case reduce_op::avg:
      return by(f::add{});
  }
}

/// The terms of one target block, which lie in the blocks of `group` along `axes`.
struct term_reduction {
  const dynamic_dtensor& x;
  axis_list axes{};
  reduce_op op = reduce_op::none;
  extent_t divisor = 1;  ///< of an average

  template <class T>
  void write(int position, const local_block& out) const {
    using C = kernels::computing<T>;
    const std::size_t n = static_cast<std::size_t>(volume(out.place));
    const std::unique_ptr<C[]> sum = std::make_unique<C[]>(n);
    const int terms = group_size(x.layout().mesh, axes);
    for (int i = 0; i < terms; ++i) {
      const int sender = group_member(x.layout().mesh, axes, position, i);
      const dynamic_dtensor::block part = own_part(x, sender, out.place);
      const T* const term = reinterpret_cast<const T*>(part.get());
      if (i == 0)
        for (std::size_t e = 0; e < n; ++e) sum[e] = kernels::load(term[e]);
      else
        fold_term(op, static_cast<std::int64_t>(n), term, sum.get());
    }
    T* const to = reinterpret_cast<T*>(out.data);
    for (std::size_t e = 0; e < n; ++e)
      to[e] = kernels::store<T>(divisor == 1 ? sum[e] : static_cast<C>(sum[e] / static_cast<C>(divisor)));
  }
};

inline dynamic_dtensor reduce_terms(const dynamic_dtensor& x, unsigned mask, const layout_value& to) {
  term_reduction reduction{x};
  for (int a = 0; a < to.mesh.axis_count; ++a) {
    if ((mask >> a & 1u) == 0) continue;
    reduction.axes.axis[reduction.axes.count++] = a;
    reduction.op = x.layout().partial[a];
    if (reduction.op == reduce_op::avg) reduction.divisor *= to.mesh.size[a];
  }
  return make_dtensor(x.group(), {x.type(), x.shape(), to}, "reduce", [&](int position, const local_block& out) {
    visit_element_type(x.type(), [&](auto type) { reduction.write<typename decltype(type)::type>(position, out); });
  });
}

inline dynamic_dtensor exchange_boxes(const dynamic_dtensor& x, const layout_value& to,
                                      const replica_choice& replicas) {
  return with_blocks(x, to, "exchange", [&](int position) -> dynamic_dtensor::block {
    const coordinate c = coordinates_of(to.mesh, position);
    const receiver r = receiver_at(x.layout(), to, x.shape(), replicas, c);
    if (r.boxes == 1 && box_at(x.layout(), r, 0).sender == position) return own_part(x, position, r.wanted);
    const std::shared_ptr<std::byte> bytes = allocate_block(block_bytes(x.description(), r.wanted));
    for (extent_t k = 0; k < r.boxes; ++k) {
      const exchange_box b = box_at(x.layout(), r, k);
      copy_box(copy_between(x.local_box(b.sender), r.wanted, b.global, bytes_of(x.type())), x.data(b.sender),
               bytes.get());
    }
    return bytes;
  });
}

/// Whole blocks become terms along the axes of `mask`, by the operations of `to`.
inline dynamic_dtensor fill_terms(const dynamic_dtensor& x, unsigned mask, const layout_value& to) {
  return with_blocks(x, to, "fill", [&](int position) -> dynamic_dtensor::block {
    const coordinate c = coordinates_of(to.mesh, position);
    reduce_op off = reduce_op::none;  // the operation whose identity this position holds
    for (int a = 0; a < to.mesh.axis_count; ++a)
      if ((mask >> a & 1u) != 0 && c.at[a] > 0 && !is_idempotent(to.partial[a])) off = to.partial[a];
    if (off == reduce_op::none) return x.shared_block(position);
    const std::int64_t n = volume(x.local_box(position));
    const std::shared_ptr<std::byte> bytes = allocate_block(n * bytes_of(x.type()));
    if (off == reduce_op::prod)
      visit_element_type(x.type(), [&](auto type) {
        using T = typename decltype(type)::type;
        for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(bytes.get())[i] = kernels::store<T>(1);
      });
    return bytes;
  });
}

}  // namespace detail

/// `x` in layout `to`, as planned. Domain: `plan` is `plan_move(x.layout(), to, x.shape())`. Throws move_error.
inline dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to, const move_plan& plan) {
  if (x.layout() == to) return x;
  if (plan.code != move_code::ok) throw move_error(plan);
  dynamic_dtensor y = x;
  if (plan.reduced != 0) y = detail::reduce_terms(y, plan.reduced, plan.between);
  if (!(plan.between == plan.exchanged)) y = detail::exchange_boxes(y, plan.exchanged, plan.exchange.replicas);
  if (plan.filled != 0) y = detail::fill_terms(y, plan.filled, to);
  return y;
}

/// The same, planned now.
inline dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to) {
  if (x.layout() == to) return x;
  return redistribute(x, to, plan_move(x.layout(), to, x.shape()));
}

/// Every partial state resolved, on every device.
inline dynamic_dtensor reduce_partial(const dynamic_dtensor& x) { return redistribute(x, reduced_layout(x.layout())); }

}  // namespace hyperparallel
