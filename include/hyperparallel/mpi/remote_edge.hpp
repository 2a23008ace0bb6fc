// SPDX-License-Identifier: Apache-2.0
#pragma once
// An edge of named tensors between programs on processes: what tensor_edge is on threads.
//
//   hp::remote_edge weights(link, c, "weights", learner_program, actor_program, learner, actor);
//
// The programs are known everywhere, since both sides plan; worlds are there where they live, else null. `write` packs the pieces
// that this process sends, which leave when the firing has ended well on all its processes; so a firing that is
// tried again sends nothing twice. They are received as they come, into the slots of the reader's blocks. `begin` and the
// constructor are collective over the link. Law: each process receives what its rank lacks, in one message from each that
// has a part of it, and the reader's tensors have the bits of the writer's.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/controller/edge_plan.hpp>
#include <hyperparallel/mpi/byte_type.hpp>
#include <hyperparallel/mpi/process_link.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class From, class To>
class remote_edge : public linked_edge {
 public:
  /// Edges of a link are made in one order on all processes.
  remote_edge(process_link& link, controller& c, const std::string& edge, const sharded_program& from_program,
              const sharded_program& to_program, From* from, To* to, const std::vector<tensor_pair>& pairs = {})
      : link_(&link),
        controller_(&c),
        number_(c.edge_called(edge)),
        room_(c.slots(number_)),
        from_(from),
        to_(to),
        plan_(c, edge, from_program, to_program, pairs) {
    const int here = link.process();
    std::size_t bytes = 0;
    for (const edge_block& b : plan_.blocks()) {
      begin_.push_back(bytes);
      if (b.receiver == here) bytes += b.bytes;
    }
    slot_.assign(static_cast<std::size_t>(room_), std::vector<std::byte>(bytes));
    for (const edge_piece& p : plan_.pieces()) {
      const int receiver = block_of(p).receiver;
      if (p.sender == here && receiver != here) grow(outgoing_[receiver], p);
      if (receiver == here && p.sender != here) grow(incoming_[p.sender], p);
      if (receiver == here && p.sender == here) own_.push_back(&p);
    }
    for (auto& [other, m] : outgoing_) {
      m.make_room(static_cast<std::size_t>(room_));
      m.request.assign(static_cast<std::size_t>(room_), MPI_REQUEST_NULL);
    }
    for (auto& [other, m] : incoming_) m.make_room(1);
    link.add(number_, *this);
  }

  /// The versions that are there before any firing: what the writer has now.
  void begin() {
    const int ready = controller_->graph().edge[number_].ready;
    for (std::int64_t v = 0; v < ready; ++v) {
      if (from_ != nullptr) pack(v);
      if (from_ != nullptr) publish(v);
    }
    while (lacks(ready)) progress();
  }
  void write(const firing& f) { pack(controller_->version_to_write(number_, f)); }
  void read(const firing& f) {
    const std::int64_t v = controller_->version_to_read(number_, f);
    while (lacks(v + 1)) progress();
    const std::span<const std::byte> slot = slot_[slot_of(v)];
    for (std::size_t i = 0; i < begin_.size(); ++i)
      if (const edge_block& b = plan_.blocks()[i]; b.receiver == link_->process())
        to_->set_block(b.value, b.rank, slot.subspan(begin_[i], b.bytes));
  }
  const edge_plan& plan() const { return plan_; }
  /// Bytes of messages that this process has received.
  std::int64_t received() const { return received_; }

  void publish(std::int64_t written) override {
    const std::size_t s = slot_of(written);
    for (auto& [other, m] : outgoing_)
      detail::check_mpi(MPI_Isend(m.data[s].data(), 1, m.type.get(), other, number_, link_->data(), &m.request[s]),
                        "MPI_Isend");
  }
  bool progress() override {
    bool is_idle = true;
    for (auto& [other, m] : outgoing_)
      for (MPI_Request& r : m.request) {
        int ended = 0;
        detail::check_mpi(MPI_Test(&r, &ended, MPI_STATUS_IGNORE), "MPI_Test");
        is_idle = is_idle && ended != 0;
      }
    for (auto& [other, m] : incoming_) {
      int there = 0;
      detail::check_mpi(MPI_Iprobe(other, number_, link_->data(), &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
      if (there != 0) receive(other, m);
    }
    return is_idle;
  }

 private:
  struct message {
    std::vector<const edge_piece*> piece{};
    std::size_t bytes = 0;
    detail::byte_type type{};  ///< of all bytes, however many
    std::vector<std::vector<std::byte>> data{};
    std::vector<MPI_Request> request{};
    std::int64_t versions = 0;  ///< that have come

    void make_room(std::size_t slots) {
      data.assign(slots, std::vector<std::byte>(bytes));
      type = detail::run_type(static_cast<std::int64_t>(bytes));
      type.commit();
    }
  };

  static void grow(message& m, const edge_piece& p) {
    m.piece.push_back(&p);
    m.bytes += static_cast<std::size_t>(byte_count(p.pack));
  }
  const edge_block& block_of(const edge_piece& p) const { return plan_.blocks()[static_cast<std::size_t>(p.block)]; }
  std::size_t slot_of(std::int64_t number) const { return static_cast<std::size_t>(number % room_); }
  bool lacks(std::int64_t versions) const {
    for (const auto& [other, m] : incoming_)
      if (m.versions < versions) return true;
    return false;
  }

  void pack(std::int64_t written) {
    const std::size_t s = slot_of(written);
    for (auto& [other, m] : outgoing_) {
      detail::check_mpi(MPI_Wait(&m.request[s], MPI_STATUS_IGNORE), "MPI_Wait");  // received, as its reader is done
      std::byte* to = m.data[s].data();
      for (const edge_piece* p : m.piece) to += copy_strided(p->pack, from_->block_of(p->value, p->rank), to);
    }
    for (const edge_piece* p : own_)
      copy_strided(p->copy, from_->block_of(p->value, p->rank),
                   slot_[s].data() + begin_[static_cast<std::size_t>(p->block)]);
  }
  void receive(int other, message& m) {
    detail::check_mpi(MPI_Recv(m.data[0].data(), 1, m.type.get(), other, number_, link_->data(), MPI_STATUS_IGNORE),
                      "MPI_Recv");
    const std::byte* from = m.data[0].data();
    std::vector<std::byte>& slot = slot_[slot_of(m.versions++)];
    for (const edge_piece* p : m.piece)
      from += copy_strided(p->unpack, from, slot.data() + begin_[static_cast<std::size_t>(p->block)]);
    received_ += static_cast<std::int64_t>(m.bytes);
  }

  process_link* link_;
  controller* controller_;
  int number_, room_;
  From* from_;
  To* to_;
  edge_plan plan_;
  std::vector<std::size_t> begin_;  ///< of each block in a slot, of those that are here
  std::vector<std::vector<std::byte>> slot_;
  std::map<int, message> outgoing_, incoming_;
  std::vector<const edge_piece*> own_;
  std::int64_t received_ = 0;
};

}}  // namespace hyperparallel::v0_2
