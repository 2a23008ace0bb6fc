// SPDX-License-Identifier: Apache-2.0
// A layout of two entries for a tensor of one dim.
// expect: diag::map_length_differs_from_tensor_rank<
// expect: map_entries<2>
// expect: tensor_dims<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "tp", hp::none>;

static_assert(hp::divides<hp::extents<8, 8>, rows> && !hp::divides<hp::extents<8>, rows>);

#ifdef NEGATIVE
using tensor = hp::dtensor<float, hp::extents<8>, rows>;
#else
using tensor = hp::dtensor<float, hp::extents<8, 8>, rows>;
#endif

tensor make(const hp::rank_group& ranks) { return hp::zeros<tensor>(ranks); }
std::vector<float> read(const tensor& x) { return x.full_tensor(); }
constexpr int size = sizeof(tensor);
