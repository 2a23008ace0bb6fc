// SPDX-License-Identifier: Apache-2.0
// Programs of models on simulated ranks, in float and double.
#include <hyperparallel/runtime/check_operator.ipp>
#include <hyperparallel/runtime/first_values.ipp>
#include <hyperparallel/runtime/gradient_overflow.ipp>
#include <hyperparallel/runtime/model_run.ipp>
#include <hyperparallel/runtime/program_values.ipp>
#include <hyperparallel/runtime/program_world.ipp>
#include <hyperparallel/runtime/training_world.ipp>
#include <hyperparallel/runtime/world_lowering.ipp>

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
