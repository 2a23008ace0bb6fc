// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/pipeline.hpp>

#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<8>, hp::micro_batches<16>>;
static_assert(plan::ranks == 4 && plan::shape == hp::pipeline_shape{4, 2, 16});
static_assert(plan::ideal == 96 && plan::makespan == 99 && plan::bubble == 3 && plan::bubble_of_span == 0);
static_assert(plan::peak_activations == 8 && plan::peak_bytes == 0);

// The paper's formula, with times of their own and a latency.
using h1 = hp::pipeline<hp::zero_bubble_h1, hp::stages<6>, hp::micro_batches<12>, hp::equal_times<10, 11, 8>>;
static_assert(h1::bubble_of_span == 5 * (10 + 11 - 8));
using far =
    hp::pipeline<hp::one_forward_one_backward, hp::stages<2>, hp::micro_batches<1>, hp::equal_times<1, 1, 1, 100>>;
static_assert(far::makespan == 6 + 200);

using megatron =
    hp::pipeline<hp::interleaved_1f1b, hp::stages<16>, hp::chunks<4>, hp::micro_batches<8>, hp::activation_bytes<5, 3>>;
static_assert(megatron::ranks == 4 && megatron::bubble == 3 * 3 &&
              megatron::peak_bytes == 8 * megatron::peak_activations);

using pairs = hp::pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<8>, hp::overlapped_time<2>>;
static_assert(pairs::makespan < hp::pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<8>>::makespan);

/// Costs of one's own: the last stage has the head.
struct heavy_head {
  static constexpr void apply(hp::pipeline_request& p) {
    for (int s = 0; s < p.stages; ++s)
      p.costs.times.push(s + 1 < p.stages ? hp::stage_times{2, 2, 2} : hp::stage_times{3, 3, 3});
  }
};
using uneven = hp::pipeline<hp::one_forward_one_backward, hp::stages<4>, hp::micro_batches<16>, heavy_head>;
static_assert(uneven::makespan >= 16 * 9 && uneven::ideal == (16 * (3 * 6 + 9) + 3) / 4);

template <class Schedule, class... Options>
constexpr bool valid = hp::valid_pipeline<Schedule, Options...>;
static_assert(valid<hp::gpipe, hp::stages<4>, hp::micro_batches<1>>);
static_assert(!valid<hp::gpipe, hp::stages<4>>);
static_assert(!valid<hp::gpipe, hp::stages<4>, hp::chunks<2>, hp::micro_batches<4>>);
static_assert(!valid<hp::interleaved_1f1b, hp::stages<5>, hp::chunks<2>, hp::micro_batches<4>>);
static_assert(!valid<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<7>>);
static_assert(valid<hp::dual_pipe, hp::stages<4>, hp::micro_batches<8>>);
static_assert(!valid<hp::dual_pipe, hp::stages<5>, hp::micro_batches<10>>);
static_assert(!valid<hp::dual_pipe, hp::stages<4>, hp::micro_batches<9>>);
static_assert(!valid<hp::dual_pipe, hp::stages<4>, hp::micro_batches<6>>);
static_assert(!valid<hp::dual_pipe, hp::stages<4>, hp::chunks<2>, hp::micro_batches<8>>);
static_assert(valid<hp::chimera, hp::stages<4>, hp::micro_batches<2>>);
static_assert(!valid<hp::chimera, hp::stages<3>, hp::micro_batches<6>>);
static_assert(!valid<int, hp::stages<8>, hp::micro_batches<7>>);
static_assert(!valid<hp::gpipe, int>);

/// More actions than there are: forwards twice.
struct twice {
  static constexpr const char* name = "twice";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int i = 0; i < 5; ++i)
      for (int k = 0; k < n.micro_batches; ++k) out.forward(rank, k);
  }
};
static_assert(!valid<twice, hp::stages<2>, hp::micro_batches<4>>);

/// Recomputes each activation, which needs room for one action more.
struct recomputing {
  static constexpr const char* name = "recomputing";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr int entries(const hp::pipeline_shape& n) { return 3 * n.stages() * n.micro_batches; }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int k = 0; k < n.micro_batches; ++k) out.forward(rank, k);
    for (int k = 0; k < n.micro_batches; ++k) {
      out.put({hp::action_kind::recompute, rank, k});
      out.backward(rank, k);
    }
  }
};
struct recompute_time {
  static constexpr void apply(hp::pipeline_request& p) { p.costs.recompute = 1; }
};
static_assert(hp::pipeline<recomputing, hp::stages<1>, hp::micro_batches<4>, recompute_time>::makespan == 16);

/// Lists its own transfers: a send before the receive that the other rank's send waits for.
struct sends_first {
  static constexpr const char* name = "sends first";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr int entries(const hp::pipeline_shape&) { return 16; }
  static constexpr void row(auto& out, const hp::pipeline_shape&, int rank) {
    using enum hp::action_kind;
    for (int k = 0; k < 2; ++k) {
      if (rank == 1) out.put({receive_forward, 1, k});
      out.forward(rank, k);
      if (rank == 0) out.put({send_forward, 0, k});
      if (rank == 1) out.backward(rank, k);
      if (rank == 1) out.put({send_backward, 1, k});
    }
    for (int k = 0; k < 2 && rank == 0; ++k) {
      out.put({receive_backward, 0, k});
      out.backward(0, k);
    }
  }
};
// Each stage on two ranks: costs by stage serve both copies, and all transports carry both directions.
using twice_held = hp::pipeline<hp::dual_pipe, hp::stages<4>, hp::micro_batches<8>>;
static_assert(twice_held::ranks == 4 && twice_held::bubble == 2 && twice_held::peak_activations == 5);
static_assert(hp::pipeline<hp::dual_pipe, hp::stages<4>, hp::micro_batches<8>, heavy_head>::ideal == (8 * 27 + 3) / 4);
static_assert(hp::deadlock_free<twice_held, hp::blocking_rows> && hp::deadlock_free<twice_held, hp::buffered<1>>);
static_assert(hp::pipeline<hp::chimera, hp::stages<4>, hp::micro_batches<8>, hp::over<hp::ordered_queues>>::makespan ==
              hp::pipeline<hp::chimera, hp::stages<4>, hp::micro_batches<8>>::makespan);

using listed = hp::pipeline<sends_first, hp::stages<2>, hp::micro_batches<2>>;
static_assert(hp::deadlock_free<listed, hp::ordered_queues> && hp::deadlock_free<listed, hp::buffered<1>>);
static_assert(!hp::deadlock_free<listed, hp::blocking_rows>);
static_assert(hp::deadlock_free<plan, hp::blocking_rows>);

template <class Schedule>
void expect_the_same_at_run_time() {
  constexpr hp::pipeline_shape n{4, Schedule::placement == hp::stage_placement::v ? 2 : 1, 10};
  using type = hp::pipeline<Schedule, hp::stages<n.stages()>, hp::micro_batches<10>, hp::equal_times<5, 4, 3, 2>>;
  const hp::pipeline_account a = hp::replay(hp::generate<Schedule>(n), hp::equal_stages({5, 4, 3}, 2));
  EXPECT_EQ(type::makespan, a.makespan);
  EXPECT_EQ(type::bubble_of_span, a.bubble_of_span());
  for (int r = 0; r < n.ranks; ++r) EXPECT_EQ(type::account.rank[r], a.rank[r]);
  const auto made = type::make();
  const hp::pipeline_schedule grown = hp::generate<Schedule>(n);
  ASSERT_EQ(made.action.size, grown.action.size);
  for (int i = 0; i < grown.action.size; ++i) EXPECT_EQ(made.action[i], grown.action[i]);
}

TEST(pipeline, the_type_says_what_run_time_says) {
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, hp::published_schedules>>([](auto one) {
    using schedule = typename decltype(one)::type;
    expect_the_same_at_run_time<schedule>();
  });
}

}  // namespace
