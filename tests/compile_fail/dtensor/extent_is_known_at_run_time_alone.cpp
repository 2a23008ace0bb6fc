// SPDX-License-Identifier: Apache-2.0
// A tensor with an extent below 0, which is one of run time, made without its extents.
// expect: diag::extent_is_known_at_run_time_alone<
// expect: dim<1>
// expect: extent<-4>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <hp::extent_t Width>
using rows = hp::dtensor<float, hp::extents<8, Width>, hp::layout<mesh, "dp", hp::none>>;
static_assert(hp::static_dtensor<rows<4>> && !hp::static_dtensor<rows<-4>> && !hp::static_dtensor<rows<hp::dyn>>);

#ifdef NEGATIVE
using tensor = rows<-4>;
#else
using tensor = rows<4>;
#endif

tensor with_extents(const hp::rank_group& ranks) { return hp::ones<tensor>(ranks, hp::shape{8, 4}); }
tensor once(const hp::rank_group& ranks) { return hp::ones<tensor>(ranks); }
tensor again(const hp::rank_group& ranks) { return hp::randn<tensor>(ranks, {.seed = 7}); }
tensor more(const hp::rank_group& ranks) { return hp::arange<tensor>(ranks, 1); }
auto last(const hp::rank_group& ranks) { return hp::zeros<tensor>(ranks).full_tensor(); }
