// SPDX-License-Identifier: Apache-2.0
#pragma once
// A distributed tensor whose element type, shape and layout are values: the run-time twin of `dtensor`, which is a thin
// face over it.
//
// A handle to one block per position of a rank group, each the row-major slice that the layout gives that position, or
// its term where the layout is partial. Laws: elements never change once the tensor is made, so handles may be copied
// and read by any thread, and blocks are shared wherever a tensor's block is part of another's; the layout accepts the
// shape.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/rank_group.hpp>
#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/status_text.hpp>
#include <hyperparallel/kernels/element_type.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a tensor is, without its elements.
struct tensor_description {
  data_type type = data_type::f32;
  hyperparallel::shape shape{};
  layout_value layout{};
  friend bool operator==(const tensor_description&, const tensor_description&) = default;
};

namespace detail {

/// The extents of a box.
constexpr shape shape_of(const box& b) {
  shape s;
  s.rank = b.rank;
  for (int d = 0; d < b.rank; ++d) s.extent[d] = b.dim[d].end - b.dim[d].begin;
  return s;
}

}  // namespace detail

/// One position's block as work on it sees it: where it lies in the whole tensor, and its bytes.
template <class Byte>
struct basic_local_block {
  Byte* data = nullptr;
  data_type type = data_type::f32;
  box place{};    ///< of the block in the whole tensor
  shape whole{};  ///< of the whole tensor

  template <class T>
  using element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  /// The block as a view of T. Domain: T stores `type`.
  template <class T>
  tensor_view<element<T>> view() const {
    return {reinterpret_cast<element<T>*>(data), detail::shape_of(place)};
  }
};
using local_block = basic_local_block<std::byte>;
using const_local_block = basic_local_block<const std::byte>;

namespace detail {

/// Bytes that read as zero until they are written, freed with their last handle.
std::shared_ptr<std::byte> allocate_block(std::int64_t bytes);

}  // namespace detail

class dynamic_dtensor {
 public:
  using block = std::shared_ptr<const std::byte>;

  /// Takes the blocks, one a position. Throws layout_error where the layout refuses the shape, dtensor_error where the
  /// group's size is not the mesh's or the number of blocks is not the group's.
  dynamic_dtensor(rank_group group, const tensor_description& what, std::vector<block> blocks);

  const rank_group& group() const { return state_->group; }
  const tensor_description& description() const { return state_->what; }
  data_type type() const { return state_->what.type; }
  const hyperparallel::shape& shape() const { return state_->what.shape; }
  const layout_value& layout() const { return state_->what.layout; }
  int ranks() const { return state_->group.ranks(); }

  /// Domain of all that take a position: 0 ≤ position < ranks().
  box local_box(int position) const { return slice_at(layout(), shape(), coordinates_of(layout().mesh, position)); }
  hyperparallel::shape local_shape(int position) const { return detail::shape_of(local_box(position)); }
  const block& shared_block(int position) const { return state_->blocks[static_cast<std::size_t>(position)]; }
  const std::byte* data(int position) const { return shared_block(position).get(); }
  const_local_block local(int position) const { return {data(position), type(), local_box(position), shape()}; }

  /// The elements of a position's block. Throws dtensor_error when T is not what the tensor stores.
  template <element_type T>
  std::span<const T> to_local(int position) const {
    if (detail::data_type_of<T> != type())
      throw dtensor_error(std::string("the tensor stores ") + name_of(type()) + ", not " +
                          name_of(detail::data_type_of<T>));
    return {reinterpret_cast<const T*>(data(position)), static_cast<std::size_t>(volume(local_box(position)))};
  }

  /// Throws as the constructor does.
  static void check(const rank_group& group, const tensor_description& what);

 private:
  struct state {
    rank_group group;
    tensor_description what;
    std::vector<block> blocks;
  };
  std::shared_ptr<const state> state_;
};

inline std::int64_t block_bytes(const tensor_description& what, const box& b) {
  return volume(b) * bytes_of(what.type);
}

namespace detail {

/// A tensor whose blocks `write(position, local_block)` fills, on the threads of the group; blocks read as zero before.
/// Throws as the constructor of dynamic_dtensor, and rank_error where `write` throws.
template <class Write>
dynamic_dtensor make_dtensor(const rank_group& group, const tensor_description& what, const char* operation,
                             const Write& write) {
  dynamic_dtensor::check(group, what);
  std::vector<dynamic_dtensor::block> blocks(static_cast<std::size_t>(group.ranks()));
  group.for_each_rank(operation, [&](int position) {
    const box place = slice_at(what.layout, what.shape, coordinates_of(what.layout.mesh, position));
    const std::shared_ptr<std::byte> bytes = allocate_block(block_bytes(what, place));
    write(position, local_block{bytes.get(), what.type, place, what.shape});
    blocks[static_cast<std::size_t>(position)] = bytes;
  });
  return {group, what, std::move(blocks)};
}

/// `layout` without its partial states.
constexpr layout_value reduced_layout(layout_value l) {
  for (int a = 0; a < l.mesh.axis_count; ++a) l.partial[a] = reduce_op::none;
  return l;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/dynamic_dtensor.ipp>
#endif
