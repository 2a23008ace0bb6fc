// SPDX-License-Identifier: Apache-2.0
// processes: 3
#include <gtest/gtest.h>

#include <hyperparallel/mpi/messages.hpp>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;
using hp::detail::mpi_channel;
using hp::detail::mpi_messages;
using hp::detail::run_health;
using tested::error_of;

constexpr hp::mpi_transport of_messages[] = {hp::mpi_transport::derived_types, hp::mpi_transport::packed};

/// `rows` x 2 bytes out of the columns from `column` of a block of four columns, or into them.
hp::strided_copy columns(int rows, int column, bool out) {
  const hp::box_copy from{2, 1, {rows, 2}, {rows, 4}, {0, column}, {rows, 2}, {0, 0}};
  const hp::box_copy to{2, 1, {rows, 2}, {rows, 2}, {0, 0}, {rows, 4}, {0, column}};
  return hp::flatten(out ? from : to);
}

std::byte* bytes(std::vector<unsigned char>& block) { return reinterpret_cast<std::byte*>(block.data()); }

/// Everybody sends two boxes of two blocks to everybody else in one message, for each transport and twice.
TEST(mpi_messages, carry_pieces_of_several_blocks) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  const int me = channel.process(), n = channel.processes();
  for (const hp::mpi_transport transport : of_messages) {
    std::vector<unsigned char> first(8), second(12);
    std::vector<std::vector<unsigned char>> first_from(static_cast<std::size_t>(n), std::vector<unsigned char>(8)),
        second_from(static_cast<std::size_t>(n), std::vector<unsigned char>(12));
    mpi_messages messages(channel);
    for (int p = 0; p < n; ++p) {
      if (p == me) continue;
      messages.send(p, columns(2, 1, true), bytes(first));
      messages.send(p, columns(3, 2, true), bytes(second));
      messages.receive(p, columns(2, 0, false), bytes(first_from[static_cast<std::size_t>(p)]));
      messages.receive(p, columns(3, 1, false), bytes(second_from[static_cast<std::size_t>(p)]));
    }
    messages.prepare(transport);
    for (int run = 0; run < 2; ++run) {
      const auto value = [&](int process, int i) { return static_cast<unsigned char>(100 * run + 30 * process + i); };
      for (std::size_t i = 0; i < 8; ++i) first[i] = value(me, static_cast<int>(i));
      for (std::size_t i = 0; i < 12; ++i) second[i] = value(me, 10 + static_cast<int>(i));
      channel.agree("run");
      messages.start();
      EXPECT_TRUE(messages.finish(20s));
      for (int p = 0; p < n; ++p) {
        if (p == me) continue;
        const auto& a = first_from[static_cast<std::size_t>(p)];
        const auto& b = second_from[static_cast<std::size_t>(p)];
        for (int r = 0; r < 2; ++r)
          for (int c = 0; c < 4; ++c)
            EXPECT_EQ(a[static_cast<std::size_t>(4 * r + c)], c < 2 ? value(p, 4 * r + c + 1) : 0);
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 4; ++c)
            EXPECT_EQ(b[static_cast<std::size_t>(4 * r + c)], c == 1 || c == 2 ? value(p, 10 + 4 * r + c + 1) : 0);
      }
      channel.agree("checked");
    }
  }
}

TEST(mpi_messages, name_who_sends_another_number_of_bytes) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  std::vector<unsigned char> block(12);
  mpi_messages messages(channel);
  if (channel.process() == 1) messages.send(0, columns(2, 0, true), bytes(block));
  if (channel.process() == 0) messages.receive(1, columns(3, 0, false), bytes(block));
  messages.prepare(hp::mpi_transport::derived_types);
  messages.start();
  if (channel.process() == 0)
    EXPECT_EQ(error_of<hp::mpi_error>([&] { messages.finish(20s); }),
              "4 bytes came from process 1 where 6 were expected");
  else
    messages.finish(20s);
  channel.agree("end");
}

using block_bytes = std::vector<std::byte>;
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
  block_bytes block = block_bytes(8), run = block_bytes(3);
  std::vector<block_bytes> from = std::vector<block_bytes>(static_cast<std::size_t>(n), block_bytes(8));
  std::vector<std::int64_t> place = std::vector<std::int64_t>(static_cast<std::size_t>(n));
  mpi_messages messages{channel};
  hp::arena staging;

  exchange(const mpi_channel& c, hp::mpi_transport transport) : channel(c) {
    for (int p = 0; p < n; ++p) {
      if (p == me) continue;
      messages.send(p, columns(2, 1, true), block.data());
      messages.send(p, run_of(3), run.data());
      messages.receive(p, columns(2, 2, false), from[at(p)].data());
      place[at(p)] = messages.receive_staged(p, 3);
    }
    staging = hp::arena(messages.staging_bytes());
    messages.prepare(transport, staging.data());
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
      for (int i = 0; i < 3; ++i) EXPECT_EQ(staging.data()[place[at(p)] + i], value(p, round, 10 + i));
    }
  }
};

TEST(mpi_messages, can_be_in_flight_together) {
  const mpi_channel channel(MPI_COMM_WORLD, 20s);
  for (const hp::mpi_transport transport : of_messages) {
    exchange first(channel, transport), second(channel, transport);
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
}

TEST(mpi_messages, a_single_run_needs_no_staging) {
  const mpi_channel channel(MPI_COMM_WORLD, 20s);
  const int next = (channel.process() + 1) % channel.processes();
  const int before = (channel.process() + channel.processes() - 1) % channel.processes();
  mpi_messages messages(channel);
  block_bytes own(100, static_cast<std::byte>(channel.process() + 1)), other(100);
  messages.send(next, run_of(100), own.data());
  messages.receive(before, run_of(100), other.data());
  EXPECT_EQ(messages.staging_bytes(), 0);
  messages.prepare(hp::mpi_transport::packed);
  messages.start(run_health::sound);
  EXPECT_TRUE(messages.finish(20s));
  EXPECT_EQ(other, block_bytes(100, static_cast<std::byte>(before + 1)));
}

TEST(mpi_messages, who_fails_sends_empty_ones) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  for (const hp::mpi_transport transport : of_messages) {
    exchange e(channel, transport);
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
        block_bytes message(64);
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
}

TEST(mpi_messages, whoever_does_not_come_is_named) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  for (const hp::mpi_transport transport : of_messages) {
    exchange e(channel, transport);
    e.fill(3);
    if (e.me == 2) channel.agree("late");
    e.messages.start(run_health::sound);
    if (e.me != 2) {
      EXPECT_EQ(error_of<hp::mpi_error>([&] { e.messages.finish(50ms); }), "waited 50 ms for messages with process 2");
      channel.agree("late");
    }
    EXPECT_TRUE(e.messages.finish(20s));
    e.expect(3);
  }
}

/// The last test, because what it posts is never received.
TEST(mpi_messages, name_whose_message_does_not_come) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  std::string complaint;
  if (channel.process() == 0) {
    auto* const block = new std::vector<unsigned char>(8);  // the messages stay posted, so MPI may write here later
    auto* const messages = new mpi_messages(channel);
    for (const int p : {1, 2}) messages->receive(p, columns(2, 0, false), bytes(*block));
    messages->prepare(hp::mpi_transport::derived_types);
    messages->start();
    EXPECT_EQ(error_of<hp::mpi_error>([&] { messages->finish(50ms); }),
              "waited 50 ms for messages with process 1, process 2");
  }
  channel.agree("end");
}

}  // namespace
