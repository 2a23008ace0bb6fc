// SPDX-License-Identifier: Apache-2.0
#pragma once
// An edge that carries named tensors from the world of one program to that of another, under other layouts, meshes and
// numbers of ranks: weights from training to rollout.
//
//   hp::tensor_edge weights(c, "weights", train.world(), rollout.world());   // every parameter of the reader, by name
//   weights.begin();     the versions that are there before any firing: what the writer has now
//   weights.write(f);    in a firing of the writer: each rank of the reader gets its block, into the edge's slot
//   weights.read(f);     in a firing of the reader: the block goes from the slot to its place, on its rank
//
// Planned once, as a relocation between the two programs' groups (redistribution/relocation.hpp): each rank receives what it
// needs and does not hold, the least of any program; a rank that is in both groups and has the block receives nothing.
// Slots lie on the ranks of the reader, so that the writer goes on while the reader computes with an older version.
// Laws: the reader's tensors have the bits of the writer's at the end of its firing; received(rank) == least(rank).
// Tensors are inputs, parameters and states, which have a value between steps. Errors: program_error, which names edge and tensor.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/controller/channel.hpp>
#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Names of a tensor in the writer's graph and in the reader's.
using tensor_pair = std::pair<std::string, std::string>;

template <class From, class To>
class tensor_edge {
 public:
  /// The worlds have to outlive it. `pairs`: none for all parameters of the reader, by their names.
  tensor_edge(controller& c, const std::string& edge, From& from, To& to, const std::vector<tensor_pair>& pairs = {})
      : from_(&from),
        to_(&to),
        name_(edge),
        from_ranks_(ranks_on(c, c.graph().edge[c.edge_called(edge)].from, from.program())),
        to_ranks_(ranks_on(c, c.graph().edge[c.edge_called(edge)].to, to.program())),
        slots_(c, edge) {
    const graph& g = to.program().graph;
    if (pairs.empty()) {
      for (int t = 0; t < g.tensor.size; ++t)
        if (g.tensor[t].kind == graph_tensor_kind::parameter && g.tensor[t].replaces < 0 && to.program().home[t] >= 0)
          add(from.tensor(g.name_of_tensor(t)), t);
    }
    for (const tensor_pair& p : pairs) add(from.tensor(p.first), to.tensor(p.second));
    slots_.begin_with(std::vector<std::byte>(bytes_));
  }

  void begin() {
    std::vector<std::byte> first(bytes_);
    move_to(first);
    slots_.begin_with(first);
  }
  void write(const firing& f) { move_to(slots_.write(f)); }
  void read(const firing& f) {
    const std::vector<std::byte>& slot = slots_.read(f);
    for (const placed_block& b : block_) to_->set_block(b.value, b.rank, std::span(slot).subspan(b.begin, b.bytes));
  }
  std::int64_t version_read(const firing& f) const { return slots_.version_read(f); }

  /// Bytes of a version that other ranks bring to a rank of the machine; the least that any program brings it; all that
  /// it needs.
  std::int64_t received(int rank) const { return of(rank).received; }
  std::int64_t least(int rank) const { return of(rank).least; }
  std::int64_t needed(int rank) const { return of(rank).needed; }

 private:
  struct placed_block {
    int value, rank;  ///< of the reader's program
    std::size_t begin, bytes;
  };
  struct planned_copy {
    int value, rank;  ///< of the writer's program
    strided_copy copy;
    std::size_t begin;
  };
  struct rank_bytes {
    std::int64_t received = 0, least = 0, needed = 0;
  };

  [[noreturn]] void refuse(const std::string& why) const { throw program_error("edge " + name_ + ": " + why); }

  /// Ranks of the machine by rank of the program: those of the group, or 0, 1, … without one.
  std::vector<int> ranks_on(const controller& c, int program, const sharded_program& p) const {
    const growing_array<int> group = c.ranks_of_program(program);
    std::vector<int> ranks(group.begin(), group.end());
    for (int r = 0; ranks.size() < static_cast<std::size_t>(ranks_of(p)) && group.empty(); ++r) ranks.push_back(r);
    if (ranks.size() != static_cast<std::size_t>(ranks_of(p)))
      refuse(std::string("program ") + c.graph().program[program].name.text + " has " + std::to_string(ranks_of(p)) +
             " ranks, its group " + c.graph().program[program].group.text + " has " + std::to_string(ranks.size()));
    return ranks;
  }

  rank_bytes of(int rank) const {
    const auto at = by_rank_.find(rank);
    return at == by_rank_.end() ? rank_bytes{} : at->second;
  }

  void add(int source, int target) {
    const sharded_program &p = from_->program(), &q = to_->program();
    const graph_tensor &a = p.graph.tensor[source], &b = q.graph.tensor[target];
    const std::string names = std::string(p.graph.name_of_tensor(source)) + " to " + q.graph.name_of_tensor(target);
    if (a.type != b.type || !(a.shape == b.shape))
      refuse(names + ": " +
             (a.type != b.type ? std::string(name_of(a.type)) + " is not " + name_of(b.type)
                               : extents_of(a.shape) + " is not " + extents_of(b.shape)));
    if (p.home[source] < 0 || q.home[target] < 0)
      refuse(names + ": the tensor of the " + (p.home[source] < 0 ? "writer" : "reader") +
             " has no value between steps");
    visit_homes(q, target, [&](int v) { plan(p.home[source], v, names); });
  }

  void plan(int source, int target, const std::string& names) {
    const sharded_program &p = from_->program(), &q = to_->program();
    const graph_tensor& tensor = p.graph.tensor[p.value[source].tensor];
    const int first_source = first_rank_of(p, part_of_value(p, source)),
              first_target = first_rank_of(q, part_of_value(q, target));
    const auto side = [&](const sharded_program& of, int value, const std::vector<int>& ranks, int first) {
      return tensor_side{
          of.value[value].layout, tensor.shape, {ranks_of_part(of, part_of_value(of, value)), ranks.data() + first}};
    };
    const tensor_side held = side(p, source, from_ranks_, first_source),
                      wanted = side(q, target, to_ranks_, first_target);
    const relocation r = plan_relocation(held, wanted);
    if (r.code != relocation_code::ok || r.form == relocation_form::runs || r.plan.step_count > 1 ||
        r.plan.reduced != 0)
      refuse(names + " is a sum of terms, or cannot be moved between these layouts in one step");
    const int element = bytes_of(tensor.type);
    for (int at = 0; at < wanted.ranks.count; ++at) {
      const box own = box_of(q, target, at);
      const auto bytes = static_cast<std::size_t>(volume(own) * element);
      block_.push_back({target, first_target + at, bytes_, bytes});
      rank_bytes& of_rank = by_rank_[rank_at(wanted.ranks, at)];
      const int here = position_in(held.ranks, rank_at(wanted.ranks, at));
      const extent_t has = here < 0 ? 0 : volume(intersection(own, box_of(p, source, here)));
      of_rank.needed += volume(own) * element;
      of_rank.least += (volume(own) - has) * element;
      const receiver_records all = r.plan.step_count == 0
                                       ? whole_block_records(here, static_cast<std::int64_t>(bytes), true)
                                       : records_of(r.plan, 0, at, moved_element(static_cast<std::size_t>(element)));
      of_rank.received += all.received;
      for (const step_record& one : all.record)
        copy_.push_back({source, first_source + *all.senders(one), one.copy, bytes_});
      bytes_ += bytes;
    }
  }

  void move_to(std::vector<std::byte>& slot) const {
    for (const planned_copy& c : copy_) copy_strided(c.copy, from_->block_of(c.value, c.rank), slot.data() + c.begin);
  }

  static std::string extents_of(const shape& s) {
    std::string text = "(";
    for (int d = 0; d < s.rank; ++d) text += (d > 0 ? ", " : "") + std::to_string(s.extent[d]);
    return text + ")";
  }

  From* from_;
  To* to_;
  std::string name_;
  std::vector<int> from_ranks_, to_ranks_;
  channel<std::vector<std::byte>> slots_;
  std::vector<placed_block> block_;
  std::vector<planned_copy> copy_;
  std::map<int, rank_bytes> by_rank_;
  std::size_t bytes_ = 0;
};

}}  // namespace hyperparallel::v0_2
