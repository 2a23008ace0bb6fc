// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of mpmd/: layers lowered to tile taskflows.

#include <hyperparallel/mpmd/chain_places.hpp>
#include <hyperparallel/mpmd/chain_stages.hpp>
#include <hyperparallel/mpmd/lower_chain.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/mpmd/moe_plan.hpp>
#include <hyperparallel/mpmd/tile_chain.hpp>
