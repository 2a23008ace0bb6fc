// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of redistribution/: bounds, exchanges, plans and their certificates.

#include <hyperparallel/redistribution/lower_exchange.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>
