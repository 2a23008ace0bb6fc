// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of the distributed forms: operators whose working dim is sharded, with the communication that they need.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/dtensor/forms/attention.hpp>
#include <hyperparallel/dtensor/forms/cross_entropy.hpp>
#include <hyperparallel/dtensor/forms/halo.hpp>
#include <hyperparallel/dtensor/forms/normalization.hpp>
#include <hyperparallel/dtensor/forms/scan.hpp>
#include <hyperparallel/dtensor/forms/selection.hpp>
#include <hyperparallel/dtensor/forms/sort.hpp>
