// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_program.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

hp::step_account account() {
  hp::step_account a;
  const char* const names[] = {"dp", "tp"};
  const int sizes[] = {4, 2};
  a.mesh = hp::make_mesh(names, 2, sizes, 2).mesh;
  a.links = hp::on_topology(hp::matrix384::topology);
  a.memory.peak = 3 * hp::GiB;
  a.memory.peak_step = 7;
  a.memory.resident[0] = a.memory.at_peak[0] = a.memory.most[0] = hp::GiB;
  a.memory.at_peak[3] = 2 * hp::GiB;
  a.memory.most[3] = 3 * hp::GiB;
  a.work.flops[0] = 2'500'000'000'000;
  a.work.flops[1] = 12'340'000;
  a.work.bytes[0] = 3 * hp::MiB;
  a.work.bytes[1] = hp::MiB;
  a.traffic.bytes = 4 * hp::MiB;
  a.traffic.moves = 5;
  a.traffic.by_class[1] = 3 * hp::MiB;
  a.traffic.by_class[2] = hp::MiB;
  a.traffic.by_axes.push({1, 3 * hp::MiB, 4});
  a.traffic.by_axes.push({3, hp::MiB, 1});
  a.traffic.by_level[1] = 4 * hp::MiB;
  a.times.total.picoseconds = 20 * hp::millisecond;
  a.times.by_unit[0] = 15 * hp::millisecond;
  a.times.by_unit[1] = 2 * hp::millisecond;
  a.times.compute_busy = 17 * hp::millisecond;
  a.times.communication_busy = 6 * hp::millisecond;
  a.times.exposed = 3 * hp::millisecond;
  a.matrix_peak = 250 * hp::teraflops;
  a.memory_bytes = 64 * hp::GiB;
  return a;
}

TEST(format_program, of_refused_hardware_says_what_is_wrong) {
  hp::step_account a = account();
  a.hardware.device = {hp::device_code::has_no_vector_rate, 0, 0, 1};
  EXPECT_EQ(fmt::format("{}", a), "8 devices: dp 4, tp 2; the rate of vector work is 0 flop/s, expected at least 1\n");
}

TEST(format_program, golden) {
  EXPECT_EQ(fmt::format("{}", account()),
            R"(8 devices: dp 4, tp 2

memory of a device  at the peak     most   always
------------------  -----------  -------  -------
parameters              1.0 GiB  1.0 GiB  1.0 GiB
activations             2.0 GiB  3.0 GiB      0 B
all                     3.0 GiB  3.0 GiB  1.0 GiB

work of a device   operations    bytes
----------------  -----------  -------
matrix             2.50 Tflop  3.0 MiB
vector            12.34 Mflop  1.0 MiB
all                2.50 Tflop  4.0 MiB

received by a device           bytes     share  moves
---------------------------  -------  --------  -----
gradients                    3.0 MiB   75.00 %
activations                  1.0 MiB   25.00 %
along dp                     3.0 MiB   75.00 %      4
along dp and tp              1.0 MiB   25.00 %      1
fastest, over ub_one_switch  4.0 MiB  100.00 %
all                          4.0 MiB  100.00 %      5

time of a step, estimated       busy     share
-------------------------  ---------  --------
matrix                     15.000 ms   75.00 %
vector                      2.000 ms   10.00 %
moves                       6.000 ms   30.00 %
exposed of it               3.000 ms   15.00 %
all                        20.000 ms  100.00 %

memory in use 4.69 % of 64.0 GiB, matrix operations 50.00 % of the bf16 peak
)");
}

TEST(format_program, prints_the_clock_of_a_plan_beside_its_bounds) {
  hp::run_times t{.makespan = 20'000'000'000, .exposed = 4'000'000'000};
  t.busy[static_cast<int>(hp::resource::aic)] = 16'000'000'000;
  t.busy[static_cast<int>(hp::resource::link)] = 6'000'000'000;
  t.bound = {.work = 16'000'000'000, .links = 6'000'000'000, .path = 18'000'000'000};
  EXPECT_EQ(fmt::format("{}", t), R"(time of the plan                busy     share
-------------------------  ---------  --------
matrix queue               16.000 ms   80.00 %
moves                       6.000 ms   30.00 %
nothing computes            4.000 ms   20.00 %
bound by work              16.000 ms   80.00 %
bound by moves              6.000 ms   30.00 %
bound by the longest path  18.000 ms   90.00 %
all                        20.000 ms  100.00 %
)");
  t.code = hp::cost_code::ranks_are_not_connected;
  EXPECT_EQ(fmt::format("{}", t), "no link level joins the ranks\n");
}

TEST(format_program, says_what_is_missing) {
  hp::step_account a = account();
  a.times.total.code = hp::cost_code::ranks_are_not_connected;
  EXPECT_EQ(fmt::format("{}", a.times), "no link level joins the ranks\n");
  a.status.code = hp::strategy_code::dim_does_not_divide;
  EXPECT_EQ(fmt::format("{}", a), "8 devices: dp 4, tp 2; the strategy is refused\n");
  EXPECT_EQ(hp::report::share_text(1, 0), "-");
}

}  // namespace
