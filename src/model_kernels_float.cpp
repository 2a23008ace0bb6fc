// SPDX-License-Identifier: Apache-2.0
// The kernels of model operators in float.
#include <hyperparallel/kernels/ops/builtin_kernels.ipp>

template hyperparallel::operator_kernel hyperparallel::kernel_of<float>(hyperparallel::operator_id);
