// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of redistribution/: bounds, exchanges, plans and their certificates, moves between meshes, the choice
// among candidates, several tensors in one plan.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/redistribution/lower_move.hpp>
#include <hyperparallel/redistribution/mesh_change.hpp>
#include <hyperparallel/redistribution/move_batch.hpp>
#include <hyperparallel/redistribution/rank_collectives.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>
