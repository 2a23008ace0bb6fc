// SPDX-License-Identifier: Apache-2.0
// What dlpack_numpy.py calls by ctypes: a block handed out in either struct, and a tensor taken in.
#include <cstdint>
#include <memory>
#include <vector>

#include <hyperparallel/interop/dlpack_import.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

std::weak_ptr<std::vector<double>>& watched() {
  static std::weak_ptr<std::vector<double>> block;
  return block;
}

/// (3, 4) doubles 0, 1, …, of which only the export holds a handle.
hp::tensor_view<double> fresh_block(std::shared_ptr<std::vector<double>>& owner) {
  owner = std::make_shared<std::vector<double>>(12);
  for (std::size_t i = 0; i < owner->size(); ++i) (*owner)[i] = static_cast<double>(i);
  watched() = owner;
  return {owner->data(), hp::shape{3, 4}};
}

template <class Managed>
int sum_of(Managed* managed, void** data, double* sum) {
  try {
    const interop::imported_tensor t = interop::from_dlpack(managed);
    const interop::strided_view<const double> view = t.view<const double>();
    *data = const_cast<double*>(view.data);
    *sum = 0;
    for (hp::extent_t i = 0; i < view.extents.extent[0]; ++i)
      for (hp::extent_t j = 0; j < view.extents.extent[1]; ++j) *sum += view(i, j) * static_cast<double>(10 * i + j);
    return 0;
  } catch (const interop::exchange_error& e) {
    return 1 + static_cast<int>(e.code);
  }
}

}  // namespace

extern "C" {
void* hand_out() {
  std::shared_ptr<std::vector<double>> owner;
  const hp::tensor_view<double> block = fresh_block(owner);
  return interop::to_dlpack_without_version(block, owner).release();
}
void* hand_out_versioned() {
  std::shared_ptr<std::vector<double>> owner;
  const hp::tensor_view<double> block = fresh_block(owner);
  return interop::to_dlpack(hp::const_view<double>(block), owner).release();
}
void* block_that_lives() {
  const std::shared_ptr<std::vector<double>> block = watched().lock();
  return block == nullptr ? nullptr : block->data();
}
int take_in(void* managed, void** data, double* sum) {
  return sum_of(static_cast<interop::dlpack::managed_tensor*>(managed), data, sum);
}
int take_in_versioned(void* managed, void** data, double* sum) {
  return sum_of(static_cast<interop::dlpack::managed_tensor_versioned*>(managed), data, sum);
}
}
