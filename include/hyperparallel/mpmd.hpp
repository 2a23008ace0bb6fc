// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of mpmd/: layers lowered to tile taskflows.

#include <hyperparallel/mpmd/moe_forward.hpp>
#include <hyperparallel/mpmd/moe_plan.hpp>
