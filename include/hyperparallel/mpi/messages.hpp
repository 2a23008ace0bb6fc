// SPDX-License-Identifier: Apache-2.0
#pragma once
// One message to each peer process and one from each: everything that a step, or a row of a move, moves between two
// processes, whatever the number of tensors and ranks. Messages are in flight while the process does something else.
//
//   derived_types  the pieces are one MPI datatype on each side; MPI packs and unpacks as it sends
//   packed         the pieces are copied into one contiguous message and out of it; a message that is one run of a
//                  block is sent from, or received into, its place
//
// Both sides add the pieces of a message in the same order, and post their messages in one order. Laws: all messages are
// posted before any is waited for, so no order of ranks or processes can deadlock; blocks belong to MPI from `start` to the end of
// `finish`, which ends within its patience or throws. A process that has failed sends empty messages in place of those
// that it owes, and goes on: whoever receives one knows that it fails as well, so that nobody waits in vain and nobody
// computes with what is not there. With sums (message_sums.hpp) what has arrived is compared with what was sent.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/mpi/byte_type.hpp>
#include <hyperparallel/mpi/channel.hpp>
#include <hyperparallel/mpi/message_sums.hpp>
#include <hyperparallel/mpi/transport.hpp>
#include <hyperparallel/transfer/copy_schedule.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// How a process fares in a run.
enum class run_health : unsigned char {
  sound,
  stopped,  ///< it, or a peer, has failed: messages go on, empty
  lost,     ///< messages do not come: it waits for nothing more
};

class mpi_messages {
 public:
  /// A synchronous send ends when its receive has been posted, and not before: buffers of MPI hide nothing then.
  explicit mpi_messages(const mpi_channel& channel, bool synchronous = false, bool has_sums = false)
      : channel_(channel), synchronous_(synchronous), has_sums_(has_sums) {}
  mpi_messages(const mpi_messages&) = delete;
  mpi_messages& operator=(const mpi_messages&) = delete;

  /// Adds to the message for process `peer` the bytes that `copy` takes from `block` into a dense block. `rank`, here and
  /// below, is the one that receives them, by which `damaged` speaks.
  void send(int peer, const strided_copy& copy, const std::byte* block, int rank = -1) {
    sends_[peer].add(copy, const_cast<std::byte*>(block), rank);
  }
  /// Expects bytes that `copy` takes out of a dense block into `block`.
  void receive(int peer, const strided_copy& copy, std::byte* block, int rank = -1) {
    receives_[peer].add(copy, block, rank);
  }
  /// Expects them in staging, densely; returns their place there.
  std::int64_t receive_staged(int peer, std::int64_t bytes, int rank = -1) {
    strided_copy dense;
    dense.run = bytes;
    dense.target_start = staging_bytes_;
    receives_[peer].add(dense, nullptr, rank);
    staging_bytes_ += ceil_divide(bytes, arena::alignment) * arena::alignment;
    return dense.target_start;
  }
  /// Bytes of what is received in staging, from a cache line on.
  std::int64_t staging_bytes() const { return staging_bytes_; }

  /// Makes datatypes and buffers; `staging` is that of `receive_staged`, which others may use while nothing is in
  /// flight; `stores` are those of packing and unpacking. Throws mpi_error, std::bad_alloc.
  void prepare(mpi_transport transport, std::byte* staging = nullptr, store_kind stores = store_kind::cached) {
    stores_ = stores;
    for (auto& [peer, m] : receives_) m.put_into(staging);
    for (auto& [peer, m] : sends_)
      if (has_sums_) m.add_sums(side::source);
    for (auto& [peer, m] : receives_)
      if (has_sums_) m.add_sums(side::target);
    const bool packs = transport == mpi_transport::packed;
    std::int64_t bytes = 0;
    for (auto* messages : {&sends_, &receives_})
      for (auto& [peer, m] : *messages) {
        m.on_wire = packs && !m.is_one_run() ? bytes : -1;
        if (m.on_wire >= 0) bytes += ceil_divide(m.bytes, arena::alignment) * arena::alignment;
      }
    wire_ = arena(bytes);
    prefer_huge_pages(wire_.data(), bytes);
    std::vector<copy_record> packing;
    for (auto& [peer, m] : sends_) m.prepare(wire_.data(), side::source, packing);
    packing_ = copy_schedule(packing);
    for (auto& [peer, m] : receives_) {
      std::vector<copy_record> unpacking;
      m.prepare(wire_.data(), side::target, unpacking);
      m.unpacking = copy_schedule(unpacking);
    }
  }

  /// The processes that send something, and those that something is sent to, in the order in which `start` posts: each
  /// begins with the peer behind itself, so that not all load the same one.
  std::vector<int> receives_from() const { return peers_of(receives_, -1); }
  std::vector<int> sends_to() const { return peers_of(sends_, channel_.process()); }

  /// Posts all messages; `run_health` as in `post_receive` and `post_send`. Throws mpi_error.
  void start(run_health health = run_health::sound) {
    begin();
    for (const int p : receives_from()) post_receive(p, health);
    if (health == run_health::sound) {
      for (auto& [peer, m] : sends_) m.sums.take();
      run_all(packing_);  // of all at once, so that blocks are read in ascending order
    }
    for (const int p : sends_to()) post_send(p, health);
  }
  /// Or one by one, in the order in which the peers post them; unpacked ones only. Domain: there is such a message, and
  /// it has not been posted since `begin`. Throws mpi_error.
  void begin() {
    requests_.clear();
    posted_.clear();
    hollow_ = false;
    damaged_ = -1;
  }
  /// The rank to which something came that is not what was sent, or -1. Known when `finish` has returned.
  int damaged() const { return damaged_; }
  /// A lost process expects none.
  void post_receive(int peer, run_health health) {
    if (health == run_health::lost) return;
    message& m = receives_.at(peer);
    posted_.push_back({peer, &m, true});
    check_mpi(
        MPI_Irecv(m.first, 1, m.type.get(), peer, mpi_channel::data_tag, channel_.communicator(), requests_.add()),
        "MPI_Irecv");
  }
  /// Of a process that is not sound it is empty.
  void post_send(int peer, run_health health) {
    message& m = sends_.at(peer);
    posted_.push_back({peer, &m, false});
    const int count = health == run_health::sound ? 1 : 0;
    if (count != 0 && m.on_wire < 0) m.sums.take();
    if (synchronous_)
      check_mpi(MPI_Issend(m.first, count, m.type.get(), peer, mpi_channel::data_tag, channel_.communicator(),
                           requests_.add()),
                "MPI_Issend");
    else
      check_mpi(MPI_Isend(m.first, count, m.type.get(), peer, mpi_channel::data_tag, channel_.communicator(),
                          requests_.add()),
                "MPI_Isend");
  }

  /// Lets the messages progress; whether all have come and gone. Throws mpi_error.
  bool look() {
    return requests_.look([&](int index, int code, const MPI_Status& status) {
      const auto& [peer, m, receives] = posted_[static_cast<std::size_t>(index)];
      if (code != MPI_SUCCESS)
        throw mpi_error(mpi_code::call_failed, peer, "message with " + channel_.name(peer) + ": " + mpi_text(code));
      if (!receives) return;
      if (!m->has_arrived(status, channel_.name(peer), peer)) {
        hollow_ = true;
        return;
      }
      run_all(m->unpacking);
      if (const int rank = has_sums_ ? m->sums.first_damaged() : -1; rank >= 0 && damaged_ < 0) damaged_ = rank;
    });
  }

  /// Waits until all has come and gone. False where one of them is empty: what it should have brought is not there.
  /// Throws mpi_error naming whose messages have not come within the patience; they stay posted.
  bool finish(std::chrono::milliseconds patience) {
    if (poll_until(mpi_clock::now() + patience, [&] { return look(); })) return !hollow_;
    std::string text = "waited " + to_text(patience) + " for messages with";
    for (std::size_t i = 0; i < posted_.size(); ++i)
      if (requests_.is_active(i)) text += (text.back() == 'h' ? " " : ", ") + channel_.name(posted_[i].peer);
    throw mpi_error(mpi_code::call_failed, -1, text);
  }

 private:
  enum class side : unsigned char { source, target };

  struct piece {
    strided_copy copy{};
    std::byte* block = nullptr;
    std::int64_t offset = 0;  ///< of its bytes in the message
    int rank = -1;            ///< that receives it

    std::byte* begin(side s) const { return block + (s == side::source ? copy.source_start : copy.target_start); }
    const std::int64_t* step(side s) const { return s == side::source ? copy.source_step : copy.target_step; }
  };

  struct message {
    std::vector<piece> pieces;
    std::int64_t bytes = 0;
    void* first = nullptr;
    byte_type type;
    std::int64_t on_wire = -1;  ///< where a packed message begins; negative: it goes from and to its places
    copy_schedule unpacking;
    message_sums sums;  ///< none unless they are asked for

    void add(const strided_copy& copy, std::byte* block, int rank) {
      pieces.push_back({copy, block, bytes, rank});
      bytes += byte_count(copy);
    }
    /// A last piece, of sums of those before it.
    void add_sums(side here) {
      for (const piece& p : pieces)
        sums.add(here == side::source ? p.copy : message_sums::reversed(p.copy), p.block, p.rank);
      strided_copy last;
      last.run = sums.bytes();
      add(last, sums.data(), -1);
    }

    /// Pieces without a block lie in staging.
    void put_into(std::byte* staging) {
      for (piece& p : pieces)
        if (p.block == nullptr) p.block = staging;
    }

    bool is_one_run() const { return pieces.size() == 1 && pieces.front().copy.dims == 0; }

    /// `copies` are those into the wire or out of it.
    void prepare(std::byte* wire, side here, std::vector<copy_record>& copies) {
      if (on_wire >= 0)
        pack(wire + on_wire, here, copies);
      else if (pieces.size() == 1)
        describe_one(here);
      else
        describe(here);
      type.commit();
      pieces.clear();
    }

    void pack(std::byte* wire, side here, std::vector<copy_record>& copies) {
      first = wire;
      type = run_type(bytes);
      for (const piece& p : pieces)
        copies.push_back(here == side::source ? copy_record{p.copy, p.block, wire + p.offset}
                                              : copy_record{p.copy, wire + p.offset, p.block});
    }

    /// In place, from its own address: MPI then sees where a type has no gaps.
    void describe_one(side here) {
      const piece& p = pieces.front();
      first = p.begin(here);
      type = loops_type(p.copy, p.step(here));
    }

    /// In place, wherever the pieces are.
    void describe(side here) {
      std::vector<byte_type> types;
      std::vector<MPI_Aint> at;
      for (const piece& p : pieces) {
        types.push_back(loops_type(p.copy, p.step(here)));
        MPI_Get_address(p.begin(here), &at.emplace_back());
      }
      type = struct_type(types, at);
      first = MPI_BOTTOM;
    }

    /// False where the message is empty. Throws mpi_error where it is another one.
    bool has_arrived(const MPI_Status& status, const std::string& from, int peer) const {
      MPI_Count came = 0;
      MPI_Get_elements_x(&status, MPI_BYTE, &came);
      if (came == 0 || came == bytes) return came != 0;
      throw mpi_error(
          mpi_code::call_failed, peer,
          std::to_string(came) + " bytes came from " + from + " where " + std::to_string(bytes) + " were expected");
    }
  };

  void run_all(const copy_schedule& copies) const {
    copies.run(copies.whole(), stores_ == store_kind::streaming ? streaming_ahead : cached_copy,
               [](std::int64_t) noexcept { return true; });
  }

  /// Those behind `process`, then the others.
  static std::vector<int> peers_of(const std::map<int, message>& messages, int process) {
    std::vector<int> peers;
    const auto behind = messages.upper_bound(process);
    for (auto i = behind; i != messages.end(); ++i) peers.push_back(i->first);
    for (auto i = messages.begin(); i != behind; ++i) peers.push_back(i->first);
    return peers;
  }

  struct posted {
    int peer = 0;
    const message* of = nullptr;
    bool receives = false;
  };

  const mpi_channel& channel_;
  bool synchronous_, has_sums_;
  std::map<int, message> sends_, receives_;  ///< by peer
  arena wire_;                               ///< of all packed messages
  copy_schedule packing_;
  store_kind stores_ = store_kind::cached;
  mpi_requests requests_;
  std::vector<posted> posted_;  ///< in the order of the requests
  std::int64_t staging_bytes_ = 0;
  bool hollow_ = false;  ///< one of them was empty
  int damaged_ = -1;
};

}}}  // namespace hyperparallel::v0_2::detail
