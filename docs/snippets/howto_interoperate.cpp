// SPDX-License-Identifier: Apache-2.0
// docs/how-to/interoperate.md
#undef NDEBUG
#include <cassert>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/interop.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using by_row = hp::layout<mesh, "dp", hp::none>;
using by_tile = hp::layout<mesh, "dp", "tp">;

interop::dlpack::managed_tensor_versioned* capsule_pointer;

/// Stands for another library, which keeps what it is given.
void consumer(interop::dlpack::managed_tensor_versioned* taken) { capsule_pointer = taken; }

int main() {
  const hp::rank_group ranks(4);
  const auto x = hp::ones<hp::dtensor<float, hp::extents<4, 6>, by_row>>(ranks);

  // A rank's block of a dtensor, read-only, at its own address. It lives until the consumer calls the deleter.
  interop::exported_tensor handed = interop::to_dlpack(x.dynamic(), /*position=*/1);
  consumer(handed.release());

  // A tensor of another library: taken here, given back when the last handle is gone.
  const interop::imported_tensor t = interop::from_dlpack(capsule_pointer);
  assert(t.tensor<const float>().data == x.to_local(1).data());  // row-major, as kernels take it
  assert(t.view<const float>()(1, 5) == 1.0F);                   // any strides

  // One imported tensor a position makes a dtensor, without a copy.
  const std::vector<interop::imported_tensor> blocks{t, t, t, t};
  const hp::dynamic_dtensor y = interop::dtensor_of(ranks, hp::shape{4, 6}, by_row::value, blocks);
  assert(y.data(3) == reinterpret_cast<const std::byte*>(x.to_local(1).data()));

#ifdef __cpp_lib_mdspan
  const auto m = interop::as_mdspan<2>(t.tensor<const float>());  // std::mdspan<const float, std::dextents<…, 2>>
  assert(m.data_handle() == x.to_local(1).data());
  const hp::const_view<float> back = interop::view_of(m);
  assert(back.extents == x.local_shape(1));
#endif

  const hp::shape s{4, 6};
  const interop::copy_list list = interop::list_copies({by_row::value, s, {4, 0}}, {by_tile::value, s, {4, 0}});
  assert(list.received_total == 0 && list.copies.size() == 4);  // every tile lies in its rank's rows
}
