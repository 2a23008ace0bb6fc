// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of other libraries, without a copy: what DLPack hands over as views, and as blocks of distributed tensors.
//
//   hp::interop::imported_tensor t = hp::interop::from_dlpack(capsule_pointer);
//   kernel(t.tensor<const float>(), …)                        // row-major, no gaps
//   for (…) sum += t.view<const float>()(i, j);               // any strides
//   hp::interop::dtensor_of(ranks, shape, layout, blocks)     // one imported tensor a position
//
// Laws: from_dlpack takes the tensor, accepted or refused: its deleter is called once, when the last handle is gone, or
// before the refusal is thrown; nothing but the version is read of a tensor of another major version; data are read where
// they lie. Refusals are exchange_error, by name, before an element is read.
// Domain: the producer does not write while a dtensor lives, whose elements never change.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/interop/dlpack_export.hpp>
#include <hyperparallel/report/format_layout.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

/// A handle: copies are of the same memory, which the last one gives back.
class imported_tensor {
 public:
  imported_tensor(std::shared_ptr<void> owner, std::byte* data, data_type type, const shape& s,
                  const kernels::steps& steps, bool read_only)
      : owner_(std::move(owner)), data_(data), type_(type), shape_(s), steps_(steps), read_only_(read_only) {}

  data_type type() const { return type_; }
  const hyperparallel::shape& shape() const { return shape_; }
  const kernels::steps& steps() const { return steps_; }
  bool is_read_only() const { return read_only_; }
  /// Shares the memory: a pointer to its first byte.
  std::shared_ptr<const std::byte> bytes() const { return {owner_, data_}; }

  /// The elements. Throws exchange_error where T is not what is stored, or would write what is read-only.
  template <class T>
    requires element_type<std::remove_const_t<T>>
  strided_view<T> view() const {
    if (hyperparallel::detail::data_type_of<std::remove_const_t<T>> != type_)
      throw exchange_error(exchange_code::element_types_differ,
                           std::string("the tensor stores ") + name_of(type_) + ", not " +
                               name_of(hyperparallel::detail::data_type_of<std::remove_const_t<T>>));
    if (!std::is_const_v<T> && read_only_)
      throw exchange_error(exchange_code::tensor_is_read_only,
                           "its producer lets nobody write it; expected a const view");
    return {reinterpret_cast<T*>(data_), shape_, steps_};
  }

  /// The same for kernels. Throws also where the elements are not row-major without gaps.
  template <class T>
    requires element_type<std::remove_const_t<T>>
  tensor_view<T> tensor() const {
    return tensor_of(view<T>());
  }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_;
  data_type type_;
  hyperparallel::shape shape_;
  kernels::steps steps_;
  bool read_only_;
};

namespace detail {

inline shape extents_of(const dlpack::tensor& t) {
  if (t.dims < 0 || t.dims > max_dims)
    throw exchange_error(exchange_code::dims_are_too_many,
                         std::to_string(t.dims) + " dims; expected 0 to " + std::to_string(max_dims));
  if (t.dims > 0 && t.extents == nullptr)
    throw exchange_error(exchange_code::data_is_missing, "no extents of " + std::to_string(t.dims) + " dims");
  shape s;
  s.rank = t.dims;
  for (int d = 0; d < s.rank; ++d) {
    s.extent[d] = t.extents[d];
    if (s.extent[d] < 0)
      throw exchange_error(exchange_code::extent_is_negative,
                           "extent " + std::to_string(s.extent[d]) + " of dim " + std::to_string(d));
  }
  return s;
}

/// Elements lie apart and behind the first one. Where there is one index, or no element, its step has no say.
inline kernels::steps steps_of(const dlpack::tensor& t, const shape& s, extent_t element_bytes) {
  const checked_extent count = element_count(s);
  if (count.overflow || checked_multiply(count.value, element_bytes).overflow)
    throw exchange_error(exchange_code::strides_leave_64_bits, "extents " + to_text(s) + " have more bytes than that");
  if (t.strides == nullptr) return kernels::detail::row_major_steps(s);
  kernels::steps steps;
  extent_t end = element_bytes;
  for (int d = 0; d < s.rank; ++d) {
    steps.along[d] = t.strides[d];
    if (s.extent[d] < 2 || count.value == 0) continue;
    if (t.strides[d] < 1)
      throw exchange_error(exchange_code::stride_is_not_positive,
                           "stride " + std::to_string(t.strides[d]) + " of dim " + std::to_string(d) + ", extent " +
                               std::to_string(s.extent[d]) + "; expected one above 0: copy the tensor first");
    const checked_extent reach = checked_multiply(s.extent[d] - 1, t.strides[d]);
    const checked_extent bytes = checked_multiply(reach.value, element_bytes);
    if (reach.overflow || bytes.overflow || bytes.value > INT64_MAX - end)
      throw exchange_error(exchange_code::strides_leave_64_bits, "stride " + std::to_string(t.strides[d]) + " of dim " +
                                                                     std::to_string(d) + ", extent " +
                                                                     std::to_string(s.extent[d]));
    end += bytes.value;
  }
  return steps;
}

inline std::byte* data_of(const dlpack::tensor& t, const shape& s, extent_t element_bytes) {
  if (element_count(s).value == 0) return nullptr;
  if (t.data == nullptr)
    throw exchange_error(exchange_code::data_is_missing, "extents " + to_text(s) + " without data");
  std::byte* const data = static_cast<std::byte*>(t.data) + t.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes) != 0)
    throw exchange_error(exchange_code::data_is_not_aligned,
                         "the first element is not at a multiple of its " + std::to_string(element_bytes) + " bytes");
  return data;
}

inline imported_tensor imported(std::shared_ptr<void> owner, const dlpack::tensor& t, bool read_only) {
  dlpack::check_device(t.device);
  const data_type type = dlpack::type_of(t.element);
  const shape s = extents_of(t);
  const kernels::steps steps = steps_of(t, s, bytes_of(type));
  return {std::move(owner), data_of(t, s, bytes_of(type)), type, s, steps, read_only};
}

template <class Managed>
std::shared_ptr<Managed> taken(Managed* m) {
  if (m == nullptr) throw exchange_error(exchange_code::tensor_is_missing, "the pointer is null");
  return {m, dlpack::give_back{}};
}

}  // namespace detail

/// Takes a tensor of DLPack 1, whatever comes of it. Throws exchange_error.
inline imported_tensor from_dlpack(dlpack::managed_tensor_versioned* managed) {
  const std::shared_ptr<dlpack::managed_tensor_versioned> owner = detail::taken(managed);
  if (owner->version.major != dlpack::own_version.major)
    throw exchange_error(exchange_code::version_differs, "DLPack " + std::to_string(owner->version.major) + "." +
                                                             std::to_string(owner->version.minor) + "; expected 1");
  return detail::imported(owner, owner->tensor, (owner->flags & dlpack::read_only) != 0);
}

/// The older struct, which says nothing of read-only memory.
inline imported_tensor from_dlpack(dlpack::managed_tensor* managed) {
  const std::shared_ptr<dlpack::managed_tensor> owner = detail::taken(managed);
  return detail::imported(owner, owner->tensor, false);
}

/// The distributed tensor whose block at position p is `blocks[p]`. Throws exchange_error where number, type, extents or
/// strides of blocks are not those of the slices, layout_error and dtensor_error as its constructor.
inline dynamic_dtensor dtensor_of(const rank_group& group, const shape& s, const layout_value& layout,
                                  std::span<const imported_tensor> blocks) {
  const int count = static_cast<int>(blocks.size());
  if (count != group.ranks() || count == 0)
    throw exchange_error(exchange_code::blocks_differ_in_number,
                         std::to_string(count) + " blocks for " + std::to_string(group.ranks()) + " ranks");
  const tensor_description what{blocks[0].type(), s, layout};
  dynamic_dtensor::check(group, what);
  std::vector<dynamic_dtensor::block> held;
  for (int p = 0; p < count; ++p) {
    const imported_tensor& b = blocks[static_cast<std::size_t>(p)];
    const std::string name = "block " + std::to_string(p);
    const shape expected = hyperparallel::detail::shape_of(slice_at(layout, s, coordinates_of(layout.mesh, p)));
    if (b.type() != what.type)
      throw exchange_error(exchange_code::element_types_differ,
                           name + " stores " + name_of(b.type()) + ", block 0 " + name_of(what.type));
    if (!(b.shape() == expected))
      throw exchange_error(exchange_code::extents_differ,
                           name + " has extents " + to_text(b.shape()) + ", its slice " + to_text(expected));
    if (!detail::is_row_major(b.shape(), b.steps()))
      throw exchange_error(exchange_code::strides_leave_gaps,
                           name + " has strides " + detail::steps_text(b.shape(), b.steps()) + " of extents " +
                               to_text(b.shape()) + "; expected " +
                               detail::steps_text(expected, kernels::detail::row_major_steps(expected)));
    held.push_back(b.bytes());
  }
  return {group, what, std::move(held)};
}

}}}  // namespace hyperparallel::v0_2::interop
