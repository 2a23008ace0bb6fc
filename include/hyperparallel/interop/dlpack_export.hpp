// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks for other libraries, without a copy: NumPy, PyTorch, JAX and CuPy read what DLPack hands over.
//
//   auto handed = hp::interop::to_dlpack(x.dynamic(), position);   // a rank's block of a dtensor, read-only
//   consumer(handed.release());                                    // its deleter is the consumer's to call
//
// Laws: the data are those of the view, at the same address; the owner lives until the deleter has been called, once,
// from any thread; what is const is marked read-only. The older struct without a version has no such mark, so it takes
// no const elements. An empty tensor has no data, as the format asks.
// Domain: a consumer may write a tensor without the mark.

#include <memory>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/interop/strided_view.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

namespace dlpack {

/// Gives a managed tensor back.
struct give_back {
  template <class Managed>
  void operator()(Managed* m) const {
    if (m->deleter != nullptr) m->deleter(m);
  }
};

}  // namespace dlpack

using exported_tensor = std::unique_ptr<dlpack::managed_tensor_versioned, dlpack::give_back>;
using exported_tensor_without_version = std::unique_ptr<dlpack::managed_tensor, dlpack::give_back>;

namespace detail {

/// A managed tensor with what it points to.
template <class Managed>
struct export_holder {
  Managed managed{};
  std::shared_ptr<const void> owner{};
  std::int64_t extents[max_dims] = {};
  std::int64_t strides[max_dims] = {};

  static void free(Managed* m) { delete static_cast<export_holder*>(m->context); }
};

template <class Managed>
std::unique_ptr<Managed, dlpack::give_back> hand_over(void* data, data_type type, const shape& s,
                                                      const kernels::steps& steps, std::shared_ptr<const void> owner) {
  if (owner == nullptr)
    throw exchange_error(exchange_code::owner_is_missing,
                         "nothing keeps the block of extents " + to_text(s) + " alive; expected an owner");
  auto holder = std::make_unique<export_holder<Managed>>();
  holder->owner = std::move(owner);
  for (int d = 0; d < s.rank; ++d) {
    holder->extents[d] = s.extent[d];
    holder->strides[d] = steps.along[d];
  }
  const bool empty = element_count(s).value == 0;
  holder->managed.tensor = {empty ? nullptr : data, {dlpack::host, 0}, s.rank, dlpack::element_of(type),
                            holder->extents,        holder->strides,   0};
  holder->managed.deleter = export_holder<Managed>::free;
  holder->managed.context = holder.get();
  return std::unique_ptr<Managed, dlpack::give_back>(&holder.release()->managed);
}

}  // namespace detail

/// The view's elements. Throws exchange_error without an owner.
template <class T>
  requires element_type<std::remove_const_t<T>>
exported_tensor to_dlpack(const strided_view<T>& v, std::shared_ptr<const void> owner) {
  using element = std::remove_const_t<T>;
  exported_tensor e = detail::hand_over<dlpack::managed_tensor_versioned>(
      const_cast<element*>(v.data), hyperparallel::detail::data_type_of<element>, v.extents, v.steps, std::move(owner));
  e->version = dlpack::own_version;
  e->flags = std::is_const_v<T> ? dlpack::read_only : 0;
  return e;
}
template <class T>
  requires element_type<std::remove_const_t<T>>
exported_tensor to_dlpack(const tensor_view<T>& v, std::shared_ptr<const void> owner) {
  return to_dlpack(strided_of(v), std::move(owner));
}

/// For consumers that know no version, as NumPy before 2.
template <element_type T>
exported_tensor_without_version to_dlpack_without_version(const strided_view<T>& v, std::shared_ptr<const void> owner) {
  return detail::hand_over<dlpack::managed_tensor>(v.data, hyperparallel::detail::data_type_of<T>, v.extents, v.steps,
                                                   std::move(owner));
}
template <element_type T>
exported_tensor_without_version to_dlpack_without_version(const tensor_view<T>& v, std::shared_ptr<const void> owner) {
  return to_dlpack_without_version(strided_of(v), std::move(owner));
}

/// A position's block, read-only: elements of a dtensor never change. It keeps the block alive, not the whole tensor.
/// Throws exchange_error for a position that is not of the mesh, and where the layout is partial: what such a block
/// holds is a term, which no other library knows.
inline exported_tensor to_dlpack(const dynamic_dtensor& x, int position) {
  if (position < 0 || position >= x.ranks())
    throw exchange_error(
        exchange_code::position_is_outside_the_mesh,
        "position " + std::to_string(position) + " of a tensor on " + std::to_string(x.ranks()) + " ranks");
  for (int a = 0; a < x.layout().mesh.axis_count; ++a)
    if (x.layout().partial[a] != reduce_op::none)
      throw exchange_error(exchange_code::layout_is_partial,
                           "the tensor waits for a " + std::string(name_of(x.layout().partial[a])) + " along axis " +
                               std::to_string(a) + "; expected it reduced (reduce_partial)");
  return hyperparallel::detail::visit_element_type(x.type(), [&](auto type) {
    using element = typename decltype(type)::type;
    return to_dlpack(x.local(position).view<element>(), x.shared_block(position));
  });
}

}}}  // namespace hyperparallel::v0_2::interop
