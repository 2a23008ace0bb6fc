// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/lower_pipeline.hpp>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/taskflow/owned.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A lowered pipeline on its machine: proved, and simulated.
struct run_of_flow {
  hp::verify_status safety{};
  hp::simulation_result times{};
  std::vector<std::int64_t> start, end;  // by task
  std::vector<hp::task> task;
};
run_of_flow run_flow(const hp::pipeline_schedule& s, const hp::pipeline_costs& c, bool links) {
  const auto build = [&](auto& f) { hp::lower_pipeline(f, s, c, links); };
  const hp::taskflow_size n = hp::measure(build);
  hp::owned_taskflow f(n);
  build(f);
  EXPECT_EQ(f.size, n);  // what is counted is what is filled
  hp::seal(f);
  const std::int64_t room = INT64_MAX;
  hp::detail::owned_flow_scratch checked(n);
  EXPECT_EQ(hp::check_flow(f, s.ranks, &room, 1, checked), hp::flow_status{});
  for (int i = 1; i < n.slots; ++i) EXPECT_TRUE(hp::detail::before(f.slot[i - 1], f.slot[i]));
  const hp::machine_shape machine = hp::detail::pipeline_machine(s.ranks);
  const int queues = hp::queue_count(machine);
  hp::owned_schedule plan(n.tasks, queues);
  hp::owned_schedule_scratch x(n, queues);
  run_of_flow r;
  EXPECT_EQ(hp::list_schedule(f, machine, {hp::priority::listed_queues}, plan, x).code, hp::schedule_code::ok);
  hp::detail::owned_verify_scratch v(n, queues);
  r.safety = hp::verify(f, plan, v);
  hp::owned_timeline line(n.tasks);
  hp::owned_simulation_scratch y(n, queues);
  r.times = hp::simulate(f, plan, {.synchronisation = links ? 0 : c.latency}, line, y);
  for (int i = 0; i < n.tasks; ++i) {
    r.start.push_back(line.start[i]);
    r.end.push_back(line.end[i]);
    r.task.push_back(f.task[i]);
  }
  return r;
}

hp::pipeline_costs any_costs(std::mt19937& random, const hp::pipeline_schedule& s) {
  hp::pipeline_costs c;
  const int lengths[] = {1, s.stages, s.stages * s.micro_batches};
  for (int i = lengths[random() % 3]; i > 0; --i)
    c.times.push(
        {1 + static_cast<int>(random() % 9), 1 + static_cast<int>(random() % 9), 1 + static_cast<int>(random() % 9)});
  c.latency = random() % 4;
  c.overlapped_pair = random() % 2 == 0 ? -1 : 1 + static_cast<int>(random() % 20);
  return c;
}

/// The flow is sound, safe and as large as counted, and each task starts when the replay says.
void expect_laws(const hp::pipeline_schedule& s, const hp::pipeline_costs& c) {
  const int m = s.micro_batches;
  hp::growing_array<std::int64_t> starts;
  const hp::pipeline_account account = hp::replay(s, c, {}, &starts);
  ASSERT_TRUE(account.ok());
  const run_of_flow flow = run_flow(s, c, false);
  EXPECT_EQ(flow.safety.code, hp::verify_code::ok);
  EXPECT_EQ(flow.times.makespan, account.makespan);
  // Each start, not the last end alone.
  hp::growing_array<std::int64_t> start_of;
  start_of.resize(hp::detail::action_kinds * s.stages * m, -1);
  for (int i = 0; i < s.action.size; ++i)
    if (s.action[i] >= 0) start_of[s.action[i]] = starts[i];
  for (std::size_t t = 0; t < flow.task.size(); ++t)
    EXPECT_EQ(flow.start[t], start_of[flow.task[t].operation * s.stages * m + flow.task[t].item]);
  const run_of_flow linked = run_flow(s, c, true);
  EXPECT_EQ(linked.safety.code, hp::verify_code::ok);
  EXPECT_GE(linked.times.makespan, account.makespan);
  hp::pipeline_costs at_once = c;
  at_once.latency = 0;
  EXPECT_EQ(run_flow(s, at_once, true).times.makespan, hp::replay(s, at_once).makespan);
}

TEST(lower_pipeline, the_flow_is_safe_and_takes_what_the_replay_says) {
  std::mt19937 random(5);
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks)
        for (const int m : {1, 2, ranks, 2 * ranks, 2 * ranks + 1, 3 * ranks}) {
          const hp::pipeline_shape n{ranks, chunks, m};
          if (!named.check(n).ok()) continue;
          SCOPED_TRACE(testing::Message() << named.name << ' ' << ranks << ' ' << chunks << ' ' << m);
          const hp::pipeline_schedule s = named.generate(n, random() % 2 == 0);
          expect_laws(s, any_costs(random, s));
        }
}

/// Any order of any placement that never waits for ever: each step takes one of the actions that can run, B or I and W;
/// a recomputation here and there.
hp::pipeline_schedule any_schedule(std::mt19937& random, const hp::pipeline_shape& n) {
  using kind = hp::action_kind;
  const int m = n.micro_batches;
  hp::pipeline_schedule s = hp::empty_schedule(n, hp::stage_placement::loop);
  for (int t = 0; t < s.stages; ++t) s.rank_of_stage[t] = static_cast<int>(random() % static_cast<unsigned>(n.ranks));
  std::vector<std::vector<int>> row(static_cast<std::size_t>(n.ranks));
  std::vector<int> done(static_cast<std::size_t>(s.stages * m));  // 1: F, 2: I, 3: all
  const auto state = [&](int t, int k) -> int& { return done[static_cast<std::size_t>(t * m + k)]; };
  for (;;) {
    std::vector<hp::pipeline_action> able;
    for (int t = 0; t < s.stages; ++t)
      for (int k = 0; k < m; ++k) {
        if (state(t, k) == 0 && (t == 0 || state(t - 1, k) > 0)) able.push_back({kind::forward, t, k});
        if (state(t, k) == 1 && (t + 1 == s.stages || state(t + 1, k) > 1))
          able.push_back({random() % 2 == 0 ? kind::backward : kind::input_gradient, t, k});
        if (state(t, k) == 2) able.push_back({kind::weight_gradient, t, k});
      }
    if (able.empty()) break;
    const hp::pipeline_action a = able[random() % able.size()];
    state(a.stage, a.micro_batch) = a.kind == kind::forward ? 1 : a.kind == kind::input_gradient ? 2 : 3;
    auto& list = row[static_cast<std::size_t>(s.rank_of_stage[a.stage])];
    if (a.kind == kind::backward && random() % 4 == 0)
      list.push_back(s.coding().code({kind::recompute, a.stage, a.micro_batch}));
    list.push_back(s.coding().code(a));
  }
  for (const std::vector<int>& list : row) {
    for (const int code : list) s.action.push(code);
    s.first.push(s.action.size);
  }
  return s;
}

TEST(lower_pipeline, any_order_on_any_ranks) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    const hp::pipeline_schedule s = any_schedule(random, {up_to(4), up_to(3), up_to(4)});
    hp::pipeline_costs c = any_costs(random, s);
    c.recompute = static_cast<int>(random() % 3);
    expect_laws(s, c);
  }
}

TEST(lower_pipeline, a_flow_takes_a_second_pipeline_behind_the_first) {
  const hp::pipeline_schedule s = hp::generate<hp::dual_pipe_v>({3, 2, 6});
  const hp::pipeline_costs c;
  const auto build = [&](auto& f) {
    hp::lower_pipeline(f, s, c, true);
    hp::lower_pipeline(f, s, c);
  };
  const hp::taskflow_size n = hp::measure(build);
  hp::owned_taskflow f(n);
  build(f);
  hp::seal(f);
  EXPECT_EQ(f.size, n);
  const std::int64_t room = INT64_MAX;
  hp::detail::owned_flow_scratch x(n);
  // The second one's slots begin again at rank 0, behind those of the first.
  EXPECT_EQ(hp::check_flow(f, 3, &room, 1, x), hp::flow_status{});
}

TEST(lower_pipeline, transfers_in_the_lists_are_left_to_the_flow) {
  const hp::pipeline_schedule s = hp::generate<hp::zero_bubble_v>({3, 2, 6});
  const run_of_flow plain = run_flow(s, {}, false), placed = run_flow(hp::place_transfers(s), {}, false);
  EXPECT_EQ(placed.times.makespan, plain.times.makespan);
  EXPECT_EQ(placed.task.size(), plain.task.size());
}

TEST(lower_pipeline, a_message_without_its_wait_is_refused) {
  const hp::pipeline_schedule s = hp::generate<hp::one_forward_one_backward>({3, 1, 4});
  const auto build = [&](auto& f) { hp::lower_pipeline(f, s, {}); };
  const hp::taskflow_size n = hp::measure(build);
  const int queues = hp::queue_count(hp::detail::pipeline_machine(3));
  for (int dropped = 0; dropped < n.waits; ++dropped) {
    hp::owned_taskflow f(n);
    build(f);
    hp::seal(f);
    for (int t = 0; t < n.tasks; ++t)
      if (f.task[t].wait_begin == dropped) f.task[t].wait_begin = f.task[t].wait_end;
    hp::owned_schedule plan(n.tasks, queues);
    hp::owned_schedule_scratch x(n, queues);
    hp::list_schedule(f, hp::detail::pipeline_machine(3), {hp::priority::reference_order}, plan, x);
    hp::detail::owned_verify_scratch v(n, queues);
    EXPECT_EQ(hp::verify(f, plan, v).code, hp::verify_code::conflict_is_not_ordered) << dropped;
  }
}

// The type evaluates its taskflow only where it is asked for.
using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<8>, hp::micro_batches<12>, hp::equal_times<3, 2, 2, 1>>;
static_assert(hp::pipeline_taskflow<plan, true>::safety.code == hp::verify_code::ok);
static_assert(hp::pipeline_taskflow<plan, true>::makespan >= plan::makespan);
static_assert(hp::pipeline_taskflow<plan>::makespan == plan::makespan, "the latency is between a signal and its wait");
using unit = hp::pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<12>>;
static_assert(hp::pipeline_taskflow<unit>::makespan == unit::makespan);

}  // namespace
