// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of program/: layouts, taskflow, proof and timeline composed, at compile time and at run time.

#include <hyperparallel/program/moe_program.hpp>
#include <hyperparallel/program/planned_flow.hpp>
