// SPDX-License-Identifier: Apache-2.0
// The kernels of model operators in double.
#include <hyperparallel/runtime/model_kernels/model_kernels.ipp>

template hyperparallel::operator_kernel hyperparallel::kernel_of<double>(hyperparallel::operator_id);
