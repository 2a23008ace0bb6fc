// SPDX-License-Identifier: Apache-2.0
// processes: 4 1
#include <gtest/gtest.h>

#include <hyperparallel/mpi/channel.hpp>

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;
using hp::detail::mpi_channel;

/// The error of a round; fails where there is none.
template <class Round>
hp::mpi_error error_of(const Round& round) {
  try {
    round();
  } catch (const hp::mpi_error& e) {
    return e;
  }
  ADD_FAILURE() << "the round is agreed on";
  return {hp::mpi_code::call_failed, -1, ""};
}

TEST(mpi_channel, agrees_round_after_round) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  for (int i = 0; i < 100; ++i) channel.agree("round " + std::to_string(i), "a\nb");
}

/// One clock for all processes of the machine, which MPI_Wtime need not be.
double seconds() { return std::chrono::duration<double>(hp::detail::mpi_clock::now().time_since_epoch()).count(); }

/// What is written before a round is there after it.
TEST(mpi_channel, is_a_barrier) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  for (int i = 0; i < 20; ++i) {
    int mine = channel.process() == i % channel.processes() ? i : -1, all = -1;
    if (mine == i) std::this_thread::sleep_for(1ms);
    const double before = seconds();
    channel.agree("late");
    const double after = seconds();
    double latest_before = 0, earliest_after = 0;
    MPI_Allreduce(&before, &latest_before, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&after, &earliest_after, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    EXPECT_LE(latest_before, earliest_after);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(all, i);
  }
}

TEST(mpi_channel_on_4_processes, names_the_first_that_differs_to_all) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  const char* const statement = channel.process() >= 2 ? "shape 4\nelement 8" : "shape 4\nelement 2";
  const hp::mpi_error e = error_of([&] { channel.agree("plan", statement); });
  EXPECT_STREQ(e.what(), "process 2 has \"element 8\" where process 0 has \"element 2\"");
  EXPECT_EQ(e.code, hp::mpi_code::processes_disagree);
  EXPECT_EQ(e.process, 2);
  EXPECT_FALSE(e.is_final);
  channel.agree("and goes on");
  const hp::mpi_error other = error_of([&] { channel.agree(channel.process() == 1 ? "one thing" : "another"); });
  EXPECT_STREQ(other.what(), "process 1 has \"one thing\" where process 0 has \"another\"");
  const hp::mpi_error shorter = error_of([&] { channel.agree("plan", channel.process() == 3 ? "a" : "a\nb"); });
  EXPECT_STREQ(shorter.what(), "process 3 has \"\" where process 0 has \"b\"");
}

TEST(mpi_channel, tells_a_complaint_to_all) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  const int last = channel.processes() - 1;
  channel.rename(last, "the last one");
  const std::string complaint = channel.process() == last ? "disk on fire" : "";
  const hp::mpi_error e = error_of([&] { channel.agree("work", channel.process() == 0 ? "x" : "y", complaint); });
  EXPECT_STREQ(e.what(), "the last one: disk on fire");
  EXPECT_EQ(e.code, hp::mpi_code::process_failed);
  EXPECT_FALSE(e.is_final);
  channel.agree("and goes on");
}

TEST(mpi_channel, is_broken_by_a_complaint_after_messages) {
  mpi_channel channel(MPI_COMM_WORLD, 20s);
  const hp::mpi_error e =
      error_of([&] { channel.agree_after_messages("end", channel.process() == 0 ? "message lost" : ""); });
  EXPECT_STREQ(e.what(), "process 0: message lost");
  EXPECT_TRUE(e.is_final);
  EXPECT_TRUE(channel.broken());
  EXPECT_EQ(error_of([&] { channel.agree("more"); }).code, hp::mpi_code::world_is_broken);
}

/// Process 3 comes when the others have given it up: it hears the verdict that the others heard.
TEST(mpi_channel_on_4_processes, names_who_does_not_answer_to_all) {
  mpi_channel channel(MPI_COMM_WORLD, 300ms);
  channel.agree("together");
  if (channel.process() == 3) std::this_thread::sleep_for(500ms);
  const auto begin = hp::detail::mpi_clock::now();
  const hp::mpi_error e = error_of([&] { channel.agree("apart"); });
  EXPECT_STREQ(e.what(), "no answer from process 3 within 300 ms");
  EXPECT_EQ(e.code, hp::mpi_code::no_answer);
  EXPECT_EQ(e.lost, std::vector<int>{3});
  EXPECT_TRUE(e.is_final);
  EXPECT_LT(hp::detail::mpi_clock::now() - begin, 5s);
}

TEST(mpi_channel_on_4_processes, names_the_coordinator_that_does_not_answer) {
  MPI_Barrier(MPI_COMM_WORLD);  // process 3 is late from the test before
  mpi_channel channel(MPI_COMM_WORLD, 200ms);
  channel.agree("together");
  if (channel.process() == 0) {
    std::this_thread::sleep_for(1s);
    return;
  }
  const hp::mpi_error e = error_of([&] { channel.agree("apart"); });
  EXPECT_STREQ(e.what(), "no answer from process 0 within 400 ms");
  EXPECT_EQ(e.lost, std::vector<int>{0});
}

}  // namespace
