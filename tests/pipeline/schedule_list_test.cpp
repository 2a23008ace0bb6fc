// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <hyperparallel/pipeline/replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace hp = hyperparallel;

namespace {

using code = hp::pipeline_code;

TEST(schedule_list, names_are_found_as_they_are_written_in_the_field) {
  for (const char* name : {"GPipe", "gpipe", "1F1B", "1f1b", "Interleaved1F1B", "interleaved-1f1b", "LoopedBFS",
                           "ZB-H1", "zbh2", "InterleavedZeroBubble", "ZBV", "V-min", "V-half", "ZB-V", "ZBVZeroBubble",
                           "DualPipeV", "dual pipe v", "dualpipe", "chimera"})
    EXPECT_NE(hp::schedule_called(name), nullptr) << name;
  for (const char* name : {"", "-", "1F1", "1F1BB", "dualpip"}) EXPECT_EQ(hp::schedule_called(name), nullptr) << name;
  for (const hp::named_schedule& s : hp::schedule_table.item) EXPECT_EQ(hp::schedule_called(s.name), &s);
}

TEST(schedule_list, what_exists_is_safe_and_what_is_refused_says_what_is_needed) {
  for (const hp::named_schedule& s : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 7; ++ranks)
      for (int chunks = 1; chunks <= 4; ++chunks)
        for (int m = 1; m <= 17; ++m) {
          const hp::pipeline_shape n{ranks, chunks, m};
          const hp::pipeline_status status = s.check(n);
          if (status.ok()) {
            EXPECT_TRUE(hp::check_schedule(s.generate(n, false)).ok())
                << s.name << ' ' << ranks << ' ' << chunks << ' ' << m;
            const hp::pipeline_schedule with_idle = s.generate(n, true);
            EXPECT_TRUE(hp::check_schedule(with_idle).ok());
            continue;
          }
          EXPECT_TRUE(status.code != code::chunks_are_fixed || status.needed != chunks);
          EXPECT_TRUE(status.code != code::too_few_micro_batches || status.needed > m);
          EXPECT_TRUE(status.code != code::micro_batches_do_not_divide || m % status.needed != 0);
          EXPECT_TRUE(status.code != code::ranks_do_not_divide || ranks % status.needed != 0);
          EXPECT_TRUE(status.code != code::directions_do_not_divide || m % status.needed != 0);
          EXPECT_GT(status.needed, 0) << s.name;
        }
}

/// Calls `law` for ranks, chunks, micro-batches, an account and the times of F, I and W.
void for_shapes(
    const char* name, int chunks, int most_ratio,
    const std::function<void(const hp::pipeline_shape&, const hp::pipeline_account&, const hp::stage_times&)>& law) {
  const hp::named_schedule& s = *hp::schedule_called(name);
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int ratio = 1; ratio <= most_ratio; ++ratio)
      for (const hp::stage_times t : {hp::stage_times{1, 1, 1}, {3, 2, 1}, {2, 3, 1}, {5, 4, 4}, {10, 11, 8}}) {
        const hp::pipeline_shape n{ranks, chunks, ranks * ratio};
        if (!s.check(n).ok()) continue;
        const hp::pipeline_account a = hp::replay(s.generate(n, false), hp::equal_stages(t));
        ASSERT_TRUE(a.ok());
        EXPECT_EQ(a.ideal, n.micro_batches * n.chunks * t.all());
        law(n, a, t);
      }
}

TEST(schedule_list, gpipe_and_1f1b_have_their_bubble_and_peaks) {
  for (const char* name : {"GPipe", "1F1B"})
    for_shapes(name, 1, 4, [&](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
      EXPECT_EQ(a.bubble(), (n.ranks - 1) * t.all());
      EXPECT_EQ(a.bubble_of_span(), a.bubble());
      for (int r = 0; r < n.ranks; ++r)
        EXPECT_EQ(a.rank[r].peak_until_weight_gradient,
                  name[0] == 'G' ? n.micro_batches : std::min(n.micro_batches, n.ranks - r));
    });
}

TEST(schedule_list, eager_1f1b_pays_latencies_of_fill_and_drain_alone) {
  for (int ranks = 1; ranks <= 7; ++ranks)
    for (int m = 1; m <= 25; ++m)
      for (int latency = 0; latency <= 3; ++latency) {
        const hp::pipeline_shape n{ranks, 1, m};
        const hp::pipeline_account a =
            hp::replay(hp::generate<hp::eager_1f1b>(n), hp::equal_stages({3, 2, 1}, latency));
        EXPECT_EQ(a.makespan, 6 * (m + ranks - 1) + 2 * (ranks - 1) * latency);
        for (int r = 0; r < ranks; ++r)
          EXPECT_EQ(a.rank[r].peak_until_weight_gradient, std::min(m, 2 * (ranks - r) - 1));
      }
}

template <int Slices>
void expect_the_laws_of_sequence_1f1b() {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int m = Slices; m <= 6 * Slices; m += Slices)
      for (const hp::stage_times t : {hp::stage_times{1, 1, 1}, {3, 2, 1}, {2, 3, 4}}) {
        const hp::pipeline_account a =
            hp::replay(hp::generate<hp::sequence_1f1b<Slices>>({ranks, 1, m}), hp::equal_stages(t));
        ASSERT_TRUE(a.ok());
        EXPECT_EQ(a.bubble(), (ranks - 1) * t.all());
        for (int r = 0; r < ranks; ++r)
          EXPECT_EQ(a.rank[r].peak_until_weight_gradient, std::min(m, ranks - 1 - r + Slices));
      }
}

TEST(schedule_list, sequence_1f1b_has_a_slices_th_of_the_bubble_and_the_memory) {
  expect_the_laws_of_sequence_1f1b<1>();
  expect_the_laws_of_sequence_1f1b<2>();
  expect_the_laws_of_sequence_1f1b<4>();
  EXPECT_EQ(hp::check_shape_of<hp::sequence_1f1b<4>>({4, 1, 6}).code, code::slices_do_not_divide);
}

TEST(schedule_list, interleaved_1f1b_has_the_bubble_of_a_chunk_and_its_peaks) {
  for (int chunks = 1; chunks <= 4; ++chunks)
    for_shapes("Interleaved1F1B", chunks, 4,
               [&](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
                 EXPECT_EQ(a.bubble(), (n.ranks - 1) * t.all());
                 for (int r = 0; r < n.ranks; ++r)
                   EXPECT_EQ(a.rank[r].peak_until_weight_gradient,
                             std::min(n.micro_batches * chunks, (chunks - 1) * n.ranks + 2 * (n.ranks - 1 - r) + 1));
               });
}

TEST(schedule_list, looped_breadth_first_holds_everything) {
  for (int chunks = 1; chunks <= 3; ++chunks)
    for_shapes("LoopedBFS", chunks, 3,
               [&](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times&) {
                 EXPECT_EQ(a.peak_until_weight_gradient(), chunks * n.micro_batches);
               });
}

TEST(schedule_list, zb_h1_fills_the_bubble_with_w_at_the_memory_of_1f1b) {
  for_shapes("ZB-H1", 1, 4, [](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
    if (t.weight_gradient > std::min(t.forward, t.input_gradient)) return;
    EXPECT_EQ(a.bubble_of_span(), (n.ranks - 1) * (t.forward + t.input_gradient - t.weight_gradient));
    for (int r = 0; r < n.ranks; ++r) {
      EXPECT_EQ(a.rank[r].peak_until_weight_gradient, n.ranks);
      EXPECT_EQ(a.rank[r].peak_until_input_gradient, n.ranks - r);
    }
  });
}

TEST(schedule_list, zb_h2_has_no_bubble_of_the_span_for_twice_the_memory) {
  for_shapes("ZB-H2", 1, 4, [](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
    if (n.micro_batches < 2 * n.ranks - 1) return;
    EXPECT_EQ(a.bubble_of_span(),
              (n.ranks - 1) * std::max<std::int64_t>(0, t.forward + t.input_gradient - 2 * t.weight_gradient));
    for (int r = 0; r < n.ranks; ++r) {
      EXPECT_EQ(a.rank[r].peak_until_weight_gradient, 2 * n.ranks - 1);
      EXPECT_EQ(a.rank[r].peak_until_input_gradient, 2 * (n.ranks - r) - 1);
    }
  });
}

TEST(schedule_list, interleaved_zero_bubble_has_the_bubble_of_zb_h1_in_chunks) {
  for (int chunks = 1; chunks <= 3; ++chunks)
    for_shapes("InterleavedZeroBubble", chunks, 4,
               [&](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
                 if (t.weight_gradient > std::min(t.forward, t.input_gradient)) return;
                 EXPECT_EQ(a.bubble_of_span(), (n.ranks - 1) * (t.forward + t.input_gradient - t.weight_gradient));
                 EXPECT_EQ(a.peak_until_weight_gradient(), chunks * n.ranks);
               });
}

TEST(schedule_list, zb_v_has_no_bubble_where_f_i_and_w_take_alike) {
  for_shapes("ZB-V", 2, 4, [](const hp::pipeline_shape& n, const hp::pipeline_account& a, const hp::stage_times& t) {
    if (n.micro_batches < 2 * n.ranks - 1) return;
    for (int r = 0; r < n.ranks; ++r) EXPECT_EQ(a.rank[r].peak_until_weight_gradient, 2 * n.ranks);
    if (t != hp::stage_times{1, 1, 1}) return;
    EXPECT_EQ(a.bubble_of_span(), 0);
    EXPECT_EQ(a.bubble(), (n.ranks - 1) * t.forward);
  });
}

TEST(schedule_list, v_min_and_v_half_keep_a_third_and_a_half_of_the_memory) {
  for (int ranks = 1; ranks <= 12; ++ranks)
    for (const int m : {1, 2, ranks, ranks + 1, 2 * ranks, 3 * ranks, 4 * ranks})
      for (const bool half : {false, true}) {
        const hp::pipeline_shape n{ranks, 2, m};
        const hp::pipeline_account a =
            hp::replay(half ? hp::generate<hp::v_half>(n) : hp::generate<hp::v_min>(n), hp::equal_stages({1, 1, 1}));
        ASSERT_TRUE(a.ok());
        const int most = half ? 2 * ((ranks + 2) / 2) : 2 * ((ranks + 4) / 3);
        EXPECT_LE(a.peak_until_weight_gradient(), most);
        // What a micro-batch more costs is its work: the bubble does not grow with the number of them.
        if (m < 2 * ranks) continue;
        const hp::pipeline_shape more{ranks, 2, m + 1};
        const hp::pipeline_account b = hp::replay(half ? hp::generate<hp::v_half>(more) : hp::generate<hp::v_min>(more),
                                                  hp::equal_stages({1, 1, 1}));
        EXPECT_EQ(b.makespan - a.makespan, 6);
      }
  // What their authors' program makes of unit times: bubbles of the span 11, 17, 27 and 5, 11, 17.
  for (const auto& [ranks, min, half] : {std::tuple{4, 11, 5}, {6, 17, 11}, {8, 27, 17}}) {
    EXPECT_LE(hp::replay(hp::generate<hp::v_min>({ranks, 2, 3 * ranks})).bubble_of_span(), min);
    EXPECT_LE(hp::replay(hp::generate<hp::v_half>({ranks, 2, 3 * ranks})).bubble_of_span(), half);
  }
}

TEST(schedule_list, dual_pipe_v_idles_as_published_where_f_and_i_take_alike) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int m = 2 * ranks; m <= 5 * ranks; ++m)
      for (const hp::stage_times t : {hp::stage_times{1, 1, 1}, {2, 2, 1}, {5, 5, 4}, {3, 2, 1}})
        for (std::int64_t pair = t.all() - 1; pair <= t.all(); ++pair) {
          hp::pipeline_costs c = hp::equal_stages(t);
          c.overlapped_pair = pair;
          const hp::pipeline_account a = hp::replay(hp::generate<hp::dual_pipe_v>({ranks, 2, m}), c);
          ASSERT_TRUE(a.ok());
          std::int64_t idle = 0;
          for (int r = 0; r < ranks; ++r) {
            idle = std::max(idle, a.makespan - a.rank[r].busy);
            EXPECT_EQ(a.rank[r].peak_until_weight_gradient, 2 * ranks + 1);
          }
          // Not exact for I < F, against what is published: then the last ranks wait for F.
          const std::int64_t expected = t.forward == t.input_gradient
                                            ? (ranks - 1) * (pair + t.backward() - 3 * t.weight_gradient)
                                            : (ranks - 1) * (pair + t.forward - 2 * t.weight_gradient);
          EXPECT_EQ(idle, expected) << ranks << ' ' << m << ' ' << t.forward << ' ' << pair;
        }
}

std::int64_t idle_of_the_most_idle_rank(const hp::pipeline_account& a) {
  std::int64_t idle = 0;
  for (const hp::rank_account& r : a.rank) idle = std::max(idle, a.makespan - r.busy);
  return idle;
}

TEST(schedule_list, dual_pipe_idles_as_published_where_f_and_i_take_alike) {
  for (int ranks = 2; ranks <= 10; ranks += 2)
    for (int m = 2 * ranks; m <= 4 * ranks; m += 2)
      for (const hp::stage_times t : {hp::stage_times{1, 1, 1}, {2, 2, 1}, {5, 5, 4}, {3, 2, 1}, {5, 4, 4}, {4, 6, 3}})
        for (const std::int64_t pair : {std::max(t.forward, t.backward()), t.all() - 1, t.all()}) {
          hp::pipeline_costs c = hp::equal_stages(t);
          c.overlapped_pair = pair;
          const hp::pipeline_account a = hp::replay(hp::generate<hp::dual_pipe>({ranks, 1, m}), c);
          ASSERT_TRUE(a.ok());
          for (const hp::rank_account& r : a.rank) EXPECT_EQ(r.peak_until_weight_gradient, ranks + 1);
          const std::int64_t idle = idle_of_the_most_idle_rank(a);
          const std::int64_t published = (ranks / 2 - 1) * (pair + t.backward() - 3 * t.weight_gradient);
          const std::int64_t simulated = (ranks / 2 - 1) * (pair + t.forward - 2 * t.weight_gradient);
          // Between the two where I > F.
          EXPECT_TRUE(idle == published || t.input_gradient != t.forward);
          EXPECT_TRUE(idle == simulated || t.input_gradient >= t.forward);
          EXPECT_GE(idle, std::min(published, simulated));
          EXPECT_LE(idle, std::max(published, simulated));
          // Folded onto half of the ranks it is DualPipeV.
          EXPECT_EQ(hp::replay(hp::generate<hp::dual_pipe_v>({ranks / 2, 2, m / 2}), c).makespan, a.makespan);
        }
}

TEST(schedule_list, chimera_idles_in_the_middle_of_each_unit_and_holds_most_there) {
  for (int ranks = 2; ranks <= 10; ranks += 2)
    for (int units = 1; units <= 4; ++units)
      for (const hp::stage_times t : {hp::stage_times{2, 1, 1}, {1, 1, 1}, {5, 4, 4}, {6, 2, 1}, {3, 2, 1}}) {
        const int m = units * ranks;
        const hp::pipeline_account a = hp::replay(hp::generate<hp::chimera>({ranks, 1, m}), hp::equal_stages(t));
        ASSERT_TRUE(a.ok());
        const std::int64_t longer = std::max(t.forward, t.backward()), shorter = std::min(t.forward, t.backward());
        EXPECT_EQ(a.bubble(), (ranks - 2) * (longer + (units - 1) * (longer - shorter)));
        // The published rate, of the makespan.
        EXPECT_TRUE(longer != shorter || a.bubble() * (2 * m + ranks - 2) == (ranks - 2) * a.makespan);
        for (int r = 0; r < ranks; ++r)
          EXPECT_EQ(a.rank[r].peak_until_weight_gradient, ranks / 2 + 1 + std::min(r, ranks - 1 - r));
      }
}

/// DeepSeek-V3's pipeline: 16 ranks, F, I and W of a sixteenth of the model each as long, a pair as long as its parts. A chunk of
/// ZB-V is half a stage of DualPipe, so times and activations are in halves of a stage.
TEST(schedule_list, deepseek_v3_runs_shorter_as_zb_v_where_pairs_gain_nothing) {
  // The last: what a pair takes where DualPipe is ahead of ZB-V, in thousandths of F.
  for (const auto& [m, zb_v, dual_pipe, ahead] :
       {std::tuple{32, 207, 220, 2704}, {64, 399, 412, 2879}, {120, 735, 748, 2940}}) {
    const hp::pipeline_account v = hp::replay(hp::generate<hp::zero_bubble_v>({16, 2, m}));
    const hp::pipeline_account dual = hp::replay(hp::generate<hp::dual_pipe>({16, 1, m}), hp::equal_stages({2, 2, 2}));
    EXPECT_EQ(v.ideal, dual.ideal);
    EXPECT_EQ(v.makespan, zb_v);
    EXPECT_EQ(dual.makespan, dual_pipe);
    EXPECT_EQ(v.bubble_of_span(), 0);
    EXPECT_EQ(dual.bubble_of_span(), 28);
    EXPECT_EQ(v.peak_until_weight_gradient(), 2 * 16);
    EXPECT_EQ(2 * dual.peak_until_weight_gradient(), 2 * 17);
    hp::pipeline_costs c = hp::equal_stages({1000, 1000, 1000});
    for (c.overlapped_pair = ahead; c.overlapped_pair <= ahead + 1; ++c.overlapped_pair)
      EXPECT_EQ(hp::replay(hp::generate<hp::dual_pipe>({16, 1, m}), c).makespan < 500 * zb_v,
                c.overlapped_pair == ahead);
  }
}

}  // namespace
