// SPDX-License-Identifier: Apache-2.0
// The run-time twins of graph/ and strategy/: graphs, gradients, strategies by name, partition, its laws.
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition_stages.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

graph_status bind_loops_in_library(graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                   const created_dim* created, int created_count) {
  return bind_loops_here(g, o, text, operands, count, created, created_count);
}

void differentiate_in_library(graph& g) { differentiate_here(g); }
void recompute_in_library(graph& g, const char* pattern, const spared_patterns& spared) {
  recompute_here(g, pattern, spared);
}
void append_optimizer_in_library(graph& g, const optimizer_value& value) { append_optimizer_here(g, value); }

strategy_result strategy_called_in_library(const char* name, int ranks, const int* degrees, int count) {
  return strategy_called_here(name, ranks, degrees, count);
}

sharded_program partition_in_library(const graph& g, const strategy_value& s) { return partition_here(g, s); }
sharded_program partition_stages_in_library(const graph& g, const strategy_value& s, const program_stages& stages) {
  return partition_stages_here(g, s, stages);
}
program_status check_program_in_library(const sharded_program& p) { return check_program_here(p); }

}}}  // namespace hyperparallel::v0_2::detail
