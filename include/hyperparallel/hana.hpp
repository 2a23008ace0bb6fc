// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names that the compiler checks: models as Hana Structs whose members name the parameters, feeds and fetches by name.
// A front header of its own, so that others do not need Boost.Hana.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/dtensor/model_parameters.hpp>
#include <hyperparallel/world/feeds.hpp>
#include <hyperparallel/world/named_values.hpp>
