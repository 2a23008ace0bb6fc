// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of hardware/: units, prices, devices, links, topologies, collectives, presets.

#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/hardware/full_mesh_cost.hpp>
#include <hyperparallel/hardware/link.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/hardware/units.hpp>
