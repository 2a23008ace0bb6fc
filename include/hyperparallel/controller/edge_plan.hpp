// SPDX-License-Identifier: Apache-2.0
#pragma once
// How named tensors of one program's world get to another's, under other layouts, meshes and numbers of ranks: which piece
// goes from which rank to which. Planned once, from the two programs alone; tensor_edge.hpp carries it out on threads,
// mpi/remote_edge.hpp between processes.
//
// A tensor is a relocation between the two groups (redistribution/relocation.hpp). Laws: the pieces of a block cover it once;
// received(rank) == least(rank), what the rank needs and does not hold, the least of any program. A tensor with several
// homes in the writer's program is taken from the first. Errors: program_error, which names edge and tensors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/controller/controller.hpp>
#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Names of a tensor in the writer's graph and in the reader's.
using tensor_pair = std::pair<std::string, std::string>;

/// A block of the reader's program, `begin` bytes into all of them.
struct edge_block {
  int value = -1, rank = 0;  ///< of the program
  int receiver = 0;          ///< rank of the machine
  std::size_t begin = 0, bytes = 0;
};

/// A piece of a block, from a block of the writer's program.
struct edge_piece {
  int value = -1, rank = 0;  ///< of the program
  int sender = 0;            ///< rank of the machine
  int block = 0;             ///< of the plan
  strided_copy copy{};       ///< from block to block, or through a dense piece
  strided_copy pack{}, unpack{};
};

class edge_plan {
 public:
  /// `pairs`: none for all parameters of the reader, by their names.
  edge_plan(const controller& c, const std::string& edge, const sharded_program& from, const sharded_program& to,
            const std::vector<tensor_pair>& pairs = {})
      : name_(edge), from_(from), to_(to) {
    const program_edge& e = c.graph().edge[c.edge_called(edge)];
    from_ranks_ = ranks_on(c, e.from, from);
    to_ranks_ = ranks_on(c, e.to, to);
    const graph& g = to.graph;
    for (int t = 0; t < g.tensor.size && pairs.empty(); ++t)
      if (g.tensor[t].kind == graph_tensor_kind::parameter && g.tensor[t].replaces < 0 && to.home[t] >= 0)
        add(tensor(from, g.name_of_tensor(t)), t);
    for (const tensor_pair& p : pairs) add(tensor(from, p.first), tensor(to, p.second));
  }

  const std::vector<edge_block>& blocks() const { return block_; }
  const std::vector<edge_piece>& pieces() const { return piece_; }
  /// Of all blocks.
  std::size_t bytes() const { return bytes_; }

  /// Bytes that other ranks bring to a rank of the machine; the least that any program brings it; all that it needs.
  std::int64_t received(int rank) const { return of(rank).received; }
  std::int64_t least(int rank) const { return of(rank).least; }
  std::int64_t needed(int rank) const { return of(rank).needed; }

 private:
  struct rank_bytes {
    std::int64_t received = 0, least = 0, needed = 0;
  };

  [[noreturn]] void refuse(const std::string& why) const { throw program_error("edge " + name_ + ": " + why); }

  int tensor(const sharded_program& p, const std::string& name) const {
    const int t = find_tensor(p.graph, name.c_str());
    if (t < 0) refuse("a program has no tensor \"" + name + "\"");
    return t;
  }

  /// Ranks of the machine by rank of the program: those of the group, or 0, 1, … without one.
  std::vector<int> ranks_on(const controller& c, int program, const sharded_program& p) const {
    const growing_array<int> group = c.ranks_of_program(program);
    std::vector<int> ranks(group.begin(), group.end());
    const auto count = static_cast<std::size_t>(ranks_of(p));
    for (int r = 0; group.empty() && ranks.size() < count; ++r) ranks.push_back(r);
    if (ranks.size() != count)
      refuse(std::string("program ") + c.graph().program[program].name.text + " has " + std::to_string(count) +
             " ranks, its group " + c.graph().program[program].group.text + " has " + std::to_string(ranks.size()));
    return ranks;
  }

  rank_bytes of(int rank) const {
    const auto at = by_rank_.find(rank);
    return at == by_rank_.end() ? rank_bytes{} : at->second;
  }

  void add(int source, int target) {
    const graph_tensor &a = from_.graph.tensor[source], &b = to_.graph.tensor[target];
    const std::string names =
        std::string(from_.graph.name_of_tensor(source)) + " to " + to_.graph.name_of_tensor(target);
    if (a.type != b.type || !(a.shape == b.shape))
      refuse(names + ": " +
             (a.type != b.type ? std::string(name_of(a.type)) + " is not " + name_of(b.type)
                               : extents_of(a.shape) + " is not " + extents_of(b.shape)));
    if (from_.home[source] < 0 || to_.home[target] < 0)
      refuse(names + ": the tensor of the " + (from_.home[source] < 0 ? "writer" : "reader") +
             " has no value between steps");
    detail::visit_homes(to_, target, [&](int v) { plan(from_.home[source], v, names); });
  }

  void plan(int source, int target, const std::string& names) {
    const graph_tensor& tensor = from_.graph.tensor[from_.value[source].tensor];
    const int first_source = first_rank_of(from_, detail::part_of_value(from_, source)),
              first_target = first_rank_of(to_, detail::part_of_value(to_, target));
    const auto side = [&](const sharded_program& p, int value, const std::vector<int>& ranks, int first) {
      return tensor_side{p.value[value].layout,
                         tensor.shape,
                         {detail::ranks_of_part(p, detail::part_of_value(p, value)), ranks.data() + first}};
    };
    const tensor_side held = side(from_, source, from_ranks_, first_source),
                      wanted = side(to_, target, to_ranks_, first_target);
    const relocation r = plan_relocation(held, wanted);
    if (r.code != relocation_code::ok || r.form == relocation_form::runs || r.plan.step_count > 1 ||
        r.plan.reduced != 0)
      refuse(names + " is a sum of terms, or cannot be moved between these layouts in one step");
    const int element = bytes_of(tensor.type);
    for (int at = 0; at < wanted.ranks.count; ++at) {
      const int rank = rank_at(wanted.ranks, at), here = position_in(held.ranks, rank);
      const box own = box_of(to_, target, at);
      const auto bytes = static_cast<std::size_t>(volume(own) * element);
      const extent_t has = here < 0 ? 0 : volume(intersection(own, box_of(from_, source, here)));
      const receiver_records all = r.plan.step_count == 0
                                       ? detail::whole_block_records(here, static_cast<std::int64_t>(bytes), true)
                                       : records_of(r.plan, 0, at, moved_element(static_cast<std::size_t>(element)));
      for (const step_record& one : all.record) {
        const int from = *all.senders(one);
        piece_.push_back({source, first_source + from, rank_at(held.ranks, from), static_cast<int>(block_.size()),
                          one.copy, all.pack(one), all.unpack(one)});
      }
      block_.push_back({target, first_target + at, rank, bytes_, bytes});
      bytes_ += bytes;
      rank_bytes& sum = by_rank_[rank];
      sum.received += all.received;
      sum.needed += volume(own) * element;
      sum.least += (volume(own) - has) * element;
    }
  }

  static std::string extents_of(const shape& s) {
    std::string text = "(";
    for (int d = 0; d < s.rank; ++d) text += (d > 0 ? ", " : "") + std::to_string(s.extent[d]);
    return text + ")";
  }

  std::string name_;
  const sharded_program &from_, &to_;  ///< read while this is made
  std::vector<int> from_ranks_, to_ranks_;
  std::vector<edge_block> block_;
  std::vector<edge_piece> piece_;
  std::map<int, rank_bytes> by_rank_;
  std::size_t bytes_ = 0;
};

}}  // namespace hyperparallel::v0_2
