// SPDX-License-Identifier: Apache-2.0
// processes: 3
#include <gtest/gtest.h>

#include <hyperparallel/runtime/mpi/overlapped_messages.hpp>

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;
using hp::detail::mpi_channel;
using hp::detail::overlapped_messages;
using hp::detail::run_health;
using bytes = std::vector<std::byte>;

/// Two columns from `column` of a block of rows x 4 bytes, or into it.
hp::strided_copy columns(int rows, int column, bool out) {
  const hp::box_copy from{2, 1, {rows, 2}, {rows, 4}, {0, column}, {rows, 2}, {0, 0}};
  const hp::box_copy to{2, 1, {rows, 2}, {rows, 2}, {0, 0}, {rows, 4}, {0, column}};
  return hp::flatten(out ? from : to);
}
hp::strided_copy run_of(int length) {
  hp::strided_copy one;
  one.run = length;
  return one;
}
std::byte value(int process, int round, int i) { return static_cast<std::byte>(100 * round + 30 * process + i + 1); }

/// Everybody sends everybody else two columns of a block and a run, in one message.
struct exchange {
  const mpi_channel& channel;
  int me = channel.process(), n = channel.processes();
  bytes block = bytes(8), run = bytes(3);
  std::vector<bytes> from = std::vector<bytes>(static_cast<std::size_t>(n), bytes(8));
  std::vector<std::int64_t> place = std::vector<std::int64_t>(static_cast<std::size_t>(n));
  overlapped_messages messages{channel};
  hp::arena staging;

  explicit exchange(const mpi_channel& c) : channel(c) {
    for (int p = 0; p < n; ++p) {
      if (p == me) continue;
      messages.send(p, columns(2, 1, true), block.data());
      messages.send(p, run_of(3), run.data());
      messages.receive(p, columns(2, 2, false), from[at(p)].data());
      place[at(p)] = messages.receive(p, run_of(3), nullptr);
    }
    staging = hp::arena(messages.staging_bytes());
    messages.prepare(staging.data());
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void fill(int round) {
    for (int i = 0; i < 8; ++i) block[at(i)] = value(me, round, i);
    for (int i = 0; i < 3; ++i) run[at(i)] = value(me, round, 10 + i);
  }
  void expect(int round) const {
    for (int p = 0; p < n; ++p) {
      if (p == me) continue;
      for (int i = 0; i < 8; ++i)
        EXPECT_EQ(from[at(p)][at(i)], i % 4 < 2 ? std::byte{} : value(p, round, i - 1)) << p << ", " << i;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(messages.arrived(p, place[at(p)])[i], value(p, round, 10 + i));
    }
  }
};

TEST(overlapped_messages, carry_pieces_and_can_be_in_flight_together) {
  const mpi_channel channel(MPI_COMM_WORLD, 20s);
  exchange first(channel), second(channel);
  for (int round = 0; round < 2; ++round) {
    first.fill(round);
    second.fill(round + 4);
    first.messages.start(run_health::sound);
    second.messages.start(run_health::sound);
    first.messages.look();
    // In another order than they were started.
    EXPECT_TRUE(second.messages.finish(20s));
    EXPECT_TRUE(first.messages.finish(20s));
    first.expect(round);
    second.expect(round + 4);
  }
}

TEST(overlapped_messages, a_single_run_needs_no_staging) {
  const mpi_channel channel(MPI_COMM_WORLD, 20s);
  const int next = (channel.process() + 1) % channel.processes();
  const int before = (channel.process() + channel.processes() - 1) % channel.processes();
  overlapped_messages messages(channel);
  bytes own(100, static_cast<std::byte>(channel.process() + 1)), other(100);
  messages.send(next, run_of(100), own.data());
  messages.receive(before, run_of(100), other.data());
  EXPECT_EQ(messages.staging_bytes(), 0);
  messages.prepare(nullptr);
  messages.start(run_health::sound);
  EXPECT_TRUE(messages.finish(20s));
  EXPECT_EQ(other, bytes(100, static_cast<std::byte>(before + 1)));
}

TEST(overlapped_messages, who_fails_sends_empty_ones) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  exchange e(channel);
  e.fill(1);
  e.messages.start(e.me == 1 ? run_health::stopped : run_health::sound);
  EXPECT_EQ(e.messages.finish(20s), e.me == 1);
  // A lost process expects nothing; what comes for it is taken up afterwards, so that no message is left.
  channel.agree("lost");
  if (e.me == 1) {
    e.messages.start(run_health::lost);
    EXPECT_TRUE(e.messages.finish(20s));
    for (const int p : {0, 2}) {
      MPI_Status status;
      int length = 0;
      bytes message(64);
      MPI_Recv(message.data(), 64, MPI_BYTE, p, mpi_channel::data_tag, channel.communicator(), &status);
      MPI_Get_count(&status, MPI_BYTE, &length);
      EXPECT_EQ(length, 7);
    }
  } else {
    e.messages.start(run_health::sound);
    EXPECT_FALSE(e.messages.finish(20s));
  }
  e.fill(2);
  e.messages.start(run_health::sound);
  EXPECT_TRUE(e.messages.finish(20s));
  e.expect(2);
}

TEST(overlapped_messages, whoever_does_not_come_is_named) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  exchange e(channel);
  e.fill(3);
  if (e.me == 2) channel.agree("late");
  e.messages.start(run_health::sound);
  if (e.me != 2) {
    std::string what = "nothing";
    try {
      e.messages.finish(50ms);
    } catch (const hp::mpi_error& error) {
      what = error.what();
    }
    EXPECT_EQ(what, "waited 50 ms for messages with process 2");
    channel.agree("late");
  }
  EXPECT_TRUE(e.messages.finish(20s));
  e.expect(3);
}

}  // namespace
