// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of model/: models for one device, their gradients and optimizers, strategies, and the program of every
// device; descriptions of layers, plans of name patterns.

#include <hyperparallel/model/address_plan.hpp>
#include <hyperparallel/model/check_graph.hpp>
#include <hyperparallel/model/check_program.hpp>
#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/model/gradient_buckets.hpp>
#include <hyperparallel/model/gradient_rules.hpp>
#include <hyperparallel/model/graph.hpp>
#include <hyperparallel/model/layers.hpp>
#include <hyperparallel/model/lifetimes.hpp>
#include <hyperparallel/model/memory_account.hpp>
#include <hyperparallel/model/model_builder.hpp>
#include <hyperparallel/model/moe_layer.hpp>
#include <hyperparallel/model/move_kinds.hpp>
#include <hyperparallel/model/named_strategies.hpp>
#include <hyperparallel/model/operator_loops.hpp>
#include <hyperparallel/model/operator_order.hpp>
#include <hyperparallel/model/operator_placement.hpp>
#include <hyperparallel/model/operator_work.hpp>
#include <hyperparallel/model/optimizer.hpp>
#include <hyperparallel/model/optimizer_value.hpp>
#include <hyperparallel/model/partition.hpp>
#include <hyperparallel/model/program_writer.hpp>
#include <hyperparallel/model/recomputation.hpp>
#include <hyperparallel/model/ring_attention.hpp>
#include <hyperparallel/model/rule_table.hpp>
#include <hyperparallel/model/sharded_program.hpp>
#include <hyperparallel/model/sharding_plan.hpp>
#include <hyperparallel/model/storage_uses.hpp>
#include <hyperparallel/model/strategies.hpp>
#include <hyperparallel/model/strategy.hpp>
#include <hyperparallel/model/strategy_layouts.hpp>
#include <hyperparallel/model/strategy_type.hpp>
#include <hyperparallel/model/tensor_names.hpp>
#include <hyperparallel/model/value_lists.hpp>
#include <hyperparallel/model/version_book.hpp>
