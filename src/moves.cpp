// SPDX-License-Identifier: Apache-2.0
// Run-time twins of redistribution/, strategy/.
#include <hyperparallel/redistribution/busiest_receiver.hpp>
#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/redistribution/candidates.hpp>
#include <hyperparallel/redistribution/mesh_move.hpp>
#include <hyperparallel/redistribution/move_plan.hpp>
#include <hyperparallel/redistribution/move_step.hpp>
#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

move_plan plan_move_in_library(const layout_value& source, const layout_value& target, const shape& s) {
  return plan_move_here(source, target, s);
}
step_receiver receiver_of_in_library(const move_step& step, const shape& s, int position) {
  return receiver_of_here(step, s, position);
}
transfer transfer_at_in_library(const move_step& step, const step_receiver& r, extent_t k) {
  return transfer_at_here(step, r, k);
}
relocation plan_relocation_in_library(const tensor_side& from, const tensor_side& to) {
  return plan_relocation_here(from, to);
}
move_load fastest_on_mesh_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                     const interconnect& net, extent_t element_bytes) {
  return fastest_on_mesh_here(source, target, s, net, element_bytes);
}
candidate_result build_candidate_in_library(const candidate_source& c, move_candidate candidate) {
  return build_candidate_here(c, candidate);
}
move_parts parts_of_candidate_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                         move_candidate candidate, const interconnect& links) {
  return parts_of_candidate_here(source, target, s, candidate, links);
}
candidate_source candidates_of_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                          const interconnect& net) {
  return candidates_of_here(source, target, s, net);
}
extent_t most_received_in_library(const move_plan& p) { return most_received_here(p); }
program_moves kinds_of_moves_in_library(const sharded_program& p, const interconnect& links) {
  return kinds_of_moves_here(p, links);
}
program_addresses plan_addresses_in_library(const sharded_program& p, const program_moves& moves,
                                            const address_options& how) {
  return plan_addresses_here(p, moves, how);
}

}}}  // namespace hyperparallel::v0_2::detail
