// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a rank of a world has of a parameter or state, for other libraries, without a copy.
//
//   auto world = std::make_shared<hp::model_run<float>>(graph, strategy);
//   auto handed = hp::interop::to_dlpack(world, "head.weight", rank);             // to be read
//   auto opened = hp::interop::to_dlpack(world, "head.weight", rank, hp::interop::block_access::write);
//
// The block is the rank's slice in the type that is stored, where it lies between steps: a run goes on with what has
// been written into it. Laws: the run lives until the deleter has been called. Errors: exchange_error, and program_error
// where the name is unknown or has no value between steps.
// Domain: no reads or writes while a step runs; replicas of a slice are written alike, and so is the
// master of a parameter of 16 bits, from which the next update makes the parameter. Inputs are opened to readers
// alone: a row or a label is checked where it is set.

#include <memory>
#include <string>
#include <utility>

#include <hyperparallel/interop/dlpack_export.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

enum class block_access : unsigned char { read, write };

/// A run, as model_run, by anything that has a `world()` of program_values.
template <class Run>
exported_tensor to_dlpack(const std::shared_ptr<Run>& run, const std::string& name, int rank,
                          block_access access = block_access::read) {
  if (run == nullptr) throw exchange_error(exchange_code::owner_is_missing, "there is no run");
  const auto& world = run->world();
  const sharded_program& p = world.program();
  const int t = world.tensor(name), value = world.home_of(t);
  const int part = hyperparallel::detail::part_of_value(p, value), first = first_rank_of(p, part);
  if (rank < first || rank >= first + hyperparallel::detail::ranks_of_part(p, part) || !world.hosts(rank))
    throw exchange_error(exchange_code::position_is_outside_the_mesh,
                         "rank " + std::to_string(rank) + " has nothing here of \"" + name + "\", which ranks " +
                             std::to_string(first) + " to " +
                             std::to_string(first + hyperparallel::detail::ranks_of_part(p, part) - 1) + " have");
  if (is_partial(p.value[value].layout))
    throw exchange_error(exchange_code::layout_is_partial, "\"" + name + "\" is a sum of terms that wait");
  if (access == block_access::write && p.graph.tensor[t].kind == graph_tensor_kind::input)
    throw exchange_error(exchange_code::value_is_an_input,
                         "\"" + name + "\" is checked where it is set; expected set()");
  const shape extents = hyperparallel::detail::shape_of(box_of(p, value, rank - first));
  return hyperparallel::detail::visit_element_type(p.graph.tensor[t].type, [&](auto type) {
    using element = typename decltype(type)::type;
    const auto* data = reinterpret_cast<const element*>(world.block_of(value, rank));
    if (access == block_access::read) return to_dlpack(const_view<element>{data, extents}, run);
    return to_dlpack(tensor_view<element>{const_cast<element*>(data), extents}, run);
  });
}

}}}  // namespace hyperparallel::v0_2::interop
