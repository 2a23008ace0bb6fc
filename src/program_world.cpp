// SPDX-License-Identifier: Apache-2.0
// Programs of models on simulated ranks, in float and double.
#include <hyperparallel/check/check_operator.ipp>
#include <hyperparallel/world/first_values.ipp>
#include <hyperparallel/world/gradient_overflow.ipp>
#include <hyperparallel/world/model_run.ipp>
#include <hyperparallel/world/program_values.ipp>
#include <hyperparallel/world/program_world.ipp>
#include <hyperparallel/world/training_world.ipp>
#include <hyperparallel/world/world_lowering.ipp>

namespace hyperparallel { inline namespace v0_2 {

template class program_values<program_world<float>, float>;
template class program_values<program_world<double>, double>;
template class program_world<float>;
template class program_world<double>;
template class model_run<float>;
template class model_run<double>;
template class training_world<float>;
template class training_world<double>;

}}  // namespace hyperparallel::v0_2
