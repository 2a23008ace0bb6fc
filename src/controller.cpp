// SPDX-License-Identifier: Apache-2.0
// The controller of programs that run beside each other.
#include <hyperparallel/controller/controller.ipp>
