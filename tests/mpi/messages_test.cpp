// SPDX-License-Identifier: Apache-2.0
// processes: 3
#include <gtest/gtest.h>

#include <hyperparallel/runtime/mpi/messages.hpp>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;
using hp::detail::mpi_channel;
using hp::detail::mpi_messages;
using tested::error_of;

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
  for (const hp::mpi_transport transport : {hp::mpi_transport::derived_types, hp::mpi_transport::packed}) {
    std::vector<unsigned char> first(8), second(12);
    std::vector<std::vector<unsigned char>> first_from(static_cast<std::size_t>(n), std::vector<unsigned char>(8)),
        second_from(static_cast<std::size_t>(n), std::vector<unsigned char>(12));
    mpi_messages messages;
    EXPECT_TRUE(messages.empty());
    for (int p = 0; p < n; ++p) {
      if (p == me) continue;
      messages.send(p, columns(2, 1, true), bytes(first));
      messages.send(p, columns(3, 2, true), bytes(second));
      messages.receive(p, columns(2, 0, false), bytes(first_from[static_cast<std::size_t>(p)]));
      messages.receive(p, columns(3, 1, false), bytes(second_from[static_cast<std::size_t>(p)]));
    }
    messages.prepare(transport);
    EXPECT_FALSE(messages.empty());
    for (int run = 0; run < 2; ++run) {
      const auto value = [&](int process, int i) { return static_cast<unsigned char>(100 * run + 30 * process + i); };
      for (std::size_t i = 0; i < 8; ++i) first[i] = value(me, static_cast<int>(i));
      for (std::size_t i = 0; i < 12; ++i) second[i] = value(me, 10 + static_cast<int>(i));
      channel.agree("run");
      messages.start(channel);
      messages.finish(channel, 20s);
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
  mpi_messages messages;
  if (channel.process() == 1) messages.send(0, columns(2, 0, true), bytes(block));
  if (channel.process() == 0) messages.receive(1, columns(3, 0, false), bytes(block));
  messages.prepare(hp::mpi_transport::derived_types);
  messages.start(channel);
  if (channel.process() == 0)
    EXPECT_EQ(error_of<hp::mpi_error>([&] { messages.finish(channel, 20s); }),
              "4 bytes came from process 1 where 6 were expected");
  else
    messages.finish(channel, 20s);
  channel.agree("end");
}

/// The last test, because what it posts is never received.
TEST(mpi_messages, name_whose_message_does_not_come) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  std::string complaint;
  if (channel.process() == 0) {
    auto* const block = new std::vector<unsigned char>(8);  // the messages stay posted, so MPI may write here later
    auto* const messages = new mpi_messages;
    for (const int p : {1, 2}) messages->receive(p, columns(2, 0, false), bytes(*block));
    messages->prepare(hp::mpi_transport::derived_types);
    messages->start(channel);
    EXPECT_EQ(error_of<hp::mpi_error>([&] { messages->finish(channel, 50ms); }),
              "waited 50 ms for messages with process 1, process 2");
  }
  channel.agree("end");
}

}  // namespace
