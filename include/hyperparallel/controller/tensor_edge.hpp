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
// Planned once (edge_plan.hpp): a rank receives what it needs and does not hold; one that is in both groups and has the block
// receives nothing. Slots lie on the ranks of the reader, so that the writer goes on while the reader computes with an
// older version. Law: the reader's tensors have the bits of the writer's at the end of its firing. Tensors are inputs,
// parameters and states, which have a value between steps. Errors: program_error, which names edge and tensor.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/controller/channel.hpp>
#include <hyperparallel/controller/edge_plan.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class From, class To>
class tensor_edge {
 public:
  /// The worlds have to outlive it. `pairs`: none for all parameters of the reader, by their names.
  tensor_edge(controller& c, const std::string& edge, From& from, To& to, const std::vector<tensor_pair>& pairs = {})
      : from_(&from),
        to_(&to),
        plan_(c, edge, from.program(), to.program(), pairs),
        slots_(c, edge, std::vector<std::byte>(plan_.bytes())) {}

  void begin() {
    std::vector<std::byte> first(plan_.bytes());
    move_to(first);
    slots_.begin_with(first);
  }
  void write(const firing& f) { move_to(slots_.write(f)); }
  void read(const firing& f) {
    const std::vector<std::byte>& slot = slots_.read(f);
    for (const edge_block& b : plan_.blocks())
      to_->set_block(b.value, b.rank, std::span(slot).subspan(b.begin, b.bytes));
  }
  std::int64_t version_read(const firing& f) const { return slots_.version_read(f); }

  const edge_plan& plan() const { return plan_; }
  /// Bytes of a version that other ranks bring to a rank of the machine, the least that any program brings it, and all
  /// that it needs.
  std::int64_t received(int rank) const { return plan_.received(rank); }
  std::int64_t least(int rank) const { return plan_.least(rank); }
  std::int64_t needed(int rank) const { return plan_.needed(rank); }

 private:
  void move_to(std::vector<std::byte>& slot) const {
    for (const edge_piece& p : plan_.pieces())
      copy_strided(p.copy, from_->block_of(p.value, p.rank),
                   slot.data() + plan_.blocks()[static_cast<std::size_t>(p.block)].begin);
  }

  From* from_;
  To* to_;
  edge_plan plan_;
  channel<std::vector<std::byte>> slots_;
};

}}  // namespace hyperparallel::v0_2
