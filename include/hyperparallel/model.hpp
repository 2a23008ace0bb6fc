// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of graph/, layers/ and strategy/: models for one device, their gradients and optimizers, strategies, and the program of every
// device; plans of name patterns.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/gradient_rules.hpp>
#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/operator_placement.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/graph/rule_table.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/graph/stage_cut.hpp>
#include <hyperparallel/graph/tensor_names.hpp>
#include <hyperparallel/graph/tied_gradients.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/gradient_buckets.hpp>
#include <hyperparallel/strategy/lifetimes.hpp>
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/operator_work.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/partition_stages.hpp>
#include <hyperparallel/strategy/program_writer.hpp>
#include <hyperparallel/strategy/ring_attention.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/strategy/storage_uses.hpp>
#include <hyperparallel/strategy/strategies.hpp>
#include <hyperparallel/strategy/strategy.hpp>
#include <hyperparallel/strategy/strategy_layouts.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/strategy/value_lists.hpp>
#include <hyperparallel/strategy/version_book.hpp>
