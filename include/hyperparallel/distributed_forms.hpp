// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of the distributed forms: operators whose working dim is sharded, with the communication that they need.

#include <hyperparallel/runtime/dtensor/forms/attention.hpp>
#include <hyperparallel/runtime/dtensor/forms/cross_entropy.hpp>
#include <hyperparallel/runtime/dtensor/forms/halo.hpp>
#include <hyperparallel/runtime/dtensor/forms/normalization.hpp>
#include <hyperparallel/runtime/dtensor/forms/scan.hpp>
#include <hyperparallel/runtime/dtensor/forms/selection.hpp>
#include <hyperparallel/runtime/dtensor/forms/sort.hpp>
