// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of hardware/: units, prices, devices, links, topologies, full meshes, collectives, caches,
// splits of vector cores, presets.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/hardware/full_mesh.hpp>
#include <hyperparallel/hardware/full_mesh_cost.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/gpu_variant_presets.hpp>
#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/hardware/l2_reuse.hpp>
#include <hyperparallel/hardware/link.hpp>
#include <hyperparallel/hardware/memory_pool.hpp>
#include <hyperparallel/hardware/preset_parts.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/hardware/tpu_presets.hpp>
#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/hardware/vector_split.hpp>
