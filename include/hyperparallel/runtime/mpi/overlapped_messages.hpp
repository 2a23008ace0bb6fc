// SPDX-License-Identifier: Apache-2.0
#pragma once
// One message to each peer process and one from each, in flight while the process computes.
//
// A message that is one run of a block leaves from it, or arrives in it; any other is packed into staging and out of
// it. The order of `start`s has to be the same on all processes, that of `finish`es may be any. Laws: both sides list
// the pieces of a message in one order; staging and blocks belong to the messages from `start` to the end of `finish`.
// A process that has failed sends empty messages in place of those it owes, and goes on: whoever receives one knows
// that it fails as well, so that nobody waits in vain and nobody computes with what is not there.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/arena.hpp>
#include <hyperparallel/runtime/mpi/byte_type.hpp>
#include <hyperparallel/runtime/mpi/channel.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// How a process fares in a run.
enum class run_health : unsigned char {
  sound,
  stopped,  ///< it, or a peer, has failed: messages go on, empty
  lost,     ///< messages do not come: it waits for nothing more
};

class overlapped_messages {
 public:
  explicit overlapped_messages(const mpi_channel& channel) : channel_(channel) {}
  overlapped_messages(const overlapped_messages&) = delete;
  overlapped_messages& operator=(const overlapped_messages&) = delete;

  /// Adds the bytes that `copy` takes from `block` to the message for process `peer`.
  void send(int peer, const strided_copy& copy, const std::byte* block) {
    sends_[peer].add(copy, const_cast<std::byte*>(block));
  }
  /// Expects bytes that `copy` takes into `block`; where that is null they stay in staging as they come. Returns their
  /// place in the message.
  std::int64_t receive(int peer, const strided_copy& copy, std::byte* block) {
    return receives_[peer].add(copy, block);
  }

  /// Bytes that the messages need beside the blocks, from a cache line on.
  std::int64_t staging_bytes() {
    std::int64_t bytes = 0;
    for (auto* messages : {&sends_, &receives_})
      for (auto& [peer, m] : *messages) {
        m.staged = m.is_one_run() ? -1 : bytes;
        if (m.staged >= 0) bytes += ceil_divide(m.bytes, arena::alignment) * arena::alignment;
      }
    return bytes;
  }
  /// Gives them the staging, which others may use while nothing is in flight. Throws mpi_error.
  void prepare(std::byte* staging) {
    for (auto& [peer, m] : sends_) m.prepare(staging, m.pieces.front().copy.source_start);
    for (auto& [peer, m] : receives_) m.prepare(staging, m.pieces.front().copy.target_start);
  }
  /// Where what `receive` has put into staging is.
  const std::byte* arrived(int peer, std::int64_t place) const { return receives_.at(peer).first + place; }

  /// Posts the messages; unless `health` is sound those to the peers are empty, and a lost process expects none. Throws
  /// mpi_error.
  void start(run_health health) {
    requests_.clear();
    posted_.clear();
    hollow_ = false;
    for (auto& [peer, m] : receives_) {
      if (health == run_health::lost) break;
      posted_.push_back({peer, &m});
      check_mpi(
          MPI_Irecv(m.first, 1, m.type.get(), peer, mpi_channel::data_tag, channel_.communicator(), requests_.add()),
          "MPI_Irecv");
    }
    expected_ = posted_.size();
    // Each process begins with the peer behind itself, so that not all load the same one.
    const auto behind = sends_.upper_bound(channel_.process());
    for (auto i = behind; i != sends_.end(); ++i) start_send(*i, health);
    for (auto i = sends_.begin(); i != behind; ++i) start_send(*i, health);
  }

  /// Lets the messages progress; whether all have come and gone. Throws mpi_error.
  bool look() {
    return requests_.look([&](int index, int code, const MPI_Status& status) {
      const auto& [peer, m] = posted_[static_cast<std::size_t>(index)];
      if (code != MPI_SUCCESS)
        throw mpi_error(mpi_code::call_failed, peer, "message with " + channel_.name(peer) + ": " + mpi_text(code));
      if (static_cast<std::size_t>(index) < expected_) look_at_arrival(status, *m, peer);
    });
  }

  /// Waits for the messages, then unpacks. False where one of them is empty: what it should have brought is not there.
  /// Throws mpi_error naming whose messages have not come within the patience; they stay posted.
  bool finish(std::chrono::milliseconds patience) {
    if (!poll_until(mpi_clock::now() + patience, [&] { return look(); })) {
      std::string text = "waited " + to_text(patience) + " for messages with";
      for (std::size_t i = 0; i < posted_.size(); ++i)
        if (requests_.is_active(i)) text += (text.back() == 'h' ? " " : ", ") + channel_.name(posted_[i].first);
      throw mpi_error(mpi_code::call_failed, -1, text);
    }
    for (const auto& [peer, m] : receives_)
      if (!hollow_) m.unpack();
    return !hollow_;
  }

 private:
  struct piece {
    strided_copy copy{};
    std::byte* block = nullptr;
    std::int64_t offset = 0;  ///< of its bytes in the message
  };
  struct message {
    std::vector<piece> pieces;
    std::int64_t bytes = 0;
    std::int64_t staged = -1;  ///< its place in staging; -1: it is in its block
    std::byte* first = nullptr;
    byte_type type;

    std::int64_t add(const strided_copy& copy, std::byte* block) {
      pieces.push_back({copy, block, bytes});
      bytes += byte_count(copy);
      return pieces.back().offset;
    }
    bool is_one_run() const {
      return pieces.size() == 1 && pieces.front().copy.dims == 0 && pieces.front().block != nullptr;
    }
    void prepare(std::byte* staging, std::int64_t start_in_block) {
      first = staged >= 0 ? staging + staged : pieces.front().block + start_in_block;
      type = run_type(bytes);
      type.commit();
    }
    void pack() const {
      for (const piece& p : pieces)
        if (staged >= 0) copy_strided(p.copy, p.block, first + p.offset);
    }
    void unpack() const {
      for (const piece& p : pieces)
        if (staged >= 0 && p.block != nullptr) copy_strided(p.copy, first + p.offset, p.block);
    }
  };

  void start_send(std::pair<const int, message>& to, run_health health) {
    auto& [peer, m] = to;
    const bool is_sound = health == run_health::sound;
    if (is_sound) m.pack();
    posted_.push_back({peer, &m});
    check_mpi(MPI_Isend(m.first, is_sound ? 1 : 0, m.type.get(), peer, mpi_channel::data_tag, channel_.communicator(),
                        requests_.add()),
              "MPI_Isend");
  }

  void look_at_arrival(const MPI_Status& status, const message& m, int peer) {
    MPI_Count came = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &came);
    if (came == 0) hollow_ = true;
    if (came != 0 && came != m.bytes)
      throw mpi_error(mpi_code::call_failed, peer,
                      std::to_string(came) + " bytes came from " + channel_.name(peer) + " where " +
                          std::to_string(m.bytes) + " were expected");
  }

  const mpi_channel& channel_;
  std::map<int, message> sends_, receives_;  ///< by peer
  mpi_requests requests_;
  std::vector<std::pair<int, const message*>> posted_;  ///< receives, then sends, in the order of the requests
  std::size_t expected_ = 0;                            ///< messages that come
  bool hollow_ = false;                                 ///< one of them was empty
};

}}}  // namespace hyperparallel::v0_2::detail
