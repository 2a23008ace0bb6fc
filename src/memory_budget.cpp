// SPDX-License-Identifier: Apache-2.0
// Plans of memory budgets.
#include <hyperparallel/runtime/memory_budget.ipp>
