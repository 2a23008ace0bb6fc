// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/folded_period.hpp>

#include <search/search_models.hpp>

#include <hyperparallel/lowering/program_offload.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/price/period_part.hpp>
#include <hyperparallel/price/step_estimate.hpp>
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::extent_t everything = hp::extent_t{1} << 50;

hp::tier_hardware two_tiers(hp::extent_t budget, hp::extent_t bytes_per_second) {
  hp::tier_hardware h;
  const int in = h.link.push({bytes_per_second, 0}), out = h.link.push({bytes_per_second, 0});
  h.tier.push({budget, -1, -1});
  h.tier.push({everything, in, out});
  return h;
}

struct folded_step {
  hp::sharded_program p;
  hp::program_moves moves;
  hp::growing_array<hp::extent_t> block_duration;
  hp::step_times times;

  folded_step(const searched::small_model& model, const char* strategy, int ranks)
      : p(hp::partition(model.build(), hp::strategy_called(strategy, ranks).strategy)),
        moves(hp::kinds_of_moves(p, hp::on_topology(hp::generic_host::topology))) {
    EXPECT_EQ(p.status.code, hp::strategy_code::ok);
    const hp::interconnect net = hp::on_topology(hp::generic_host::topology);
    times = hp::estimate_step(p, moves, hp::detail::loads_of_moves(p, moves), hp::generic_host::device, net,
                              block_duration);
  }
  hp::folded_period period(const hp::folded_period_options& options, hp::extent_t budget = everything) const {
    return hp::folded_period_of(p, hp::storage_uses(p), moves, block_duration, two_tiers(budget, 1'000'000'000),
                                options);
  }
};

struct tried {
  searched::small_model model;
  const char* strategy;
  int ranks;
};

const std::vector<tried> worlds{
    {{.layers = 7}, "single", 1},
    {{.layers = 7, .recomputed = true}, "zero3", 4},
    {{.layers = 6}, "tp-sp", 4},
    {{.layers = 3, .wide_layers = 5, .experts = 4}, "zero1", 4},
    {{.layers = 9, .micro_batches = 3}, "zero2", 2},
    {{.layers = 2, .wide_layers = 8, .experts = 4, .latent = true}, "tp", 2},
};

TEST(FoldedPeriod, DurationsAddUpToTheStep) {
  for (const tried& w : worlds) {
    const folded_step s(w.model, w.strategy, w.ranks);
    hp::extent_t blocks = 0;
    for (const hp::extent_t d : s.block_duration) blocks += d;
    for (const int most : {1, 13, 40, 1000}) {
      hp::extent_t sum = 0;
      for (const hp::offload_operator& q : s.period({.most_operators = most}).problem.op) {
        EXPECT_GE(q.duration, 0);
        sum += q.duration;
      }
      EXPECT_EQ(sum, blocks);
    }
    if (w.model.micro_batches == 1) {
      EXPECT_EQ(blocks, s.times.total.picoseconds);
    }
  }
}

/// Bytes of tier 0 where everything is kept.
hp::extent_t kept_peak(const hp::folded_period& period) {
  EXPECT_EQ(hp::check(period.problem).code, hp::offload_code::ok);
  const hp::offload_timeline t = hp::timeline_of(period.problem, hp::keep_all(hp::chains_of(period.problem).gap.size));
  EXPECT_TRUE(t.feasible);
  return t.peak[0] + period.kept;
}

TEST(FoldedPeriod, HoldsWhatTheProgramHoldsAndAtMostOneChunkMore) {
  for (const tried& w : worlds) {
    const folded_step s(w.model, w.strategy, w.ranks);
    const hp::extent_t exact = hp::detail::memory_account_of(s.p, s.moves, hp::detail::storage_alignment).peak;
    const hp::extent_t finest = kept_peak(s.period({.most_operators = 1000}));
    EXPECT_GE(finest, exact);
    for (const int most : {1, 13, 20, 40}) {
      for (const hp::extent_t negligible : {hp::extent_t{0}, exact / 100}) {
        const hp::folded_period period = s.period({.most_operators = most, .negligible = negligible});
        const hp::extent_t kept = kept_peak(period);
        EXPECT_GE(kept, exact);
        // One operator more than what is left after it: an operator's storages at most.
        hp::extent_t used = 0;
        for (int q = 0; q < period.problem.op.size; ++q) {
          hp::extent_t bytes = 0;
          for (const hp::offload_storage& one : period.problem.storage)
            for (int a = 0; a < one.access_count; ++a)
              bytes += period.problem.access[one.first_access + a].op == q ? one.bytes : 0;
          used = std::max(used, bytes);
        }
        EXPECT_LE(kept, exact + used);
      }
    }
  }
}

TEST(FoldedPeriod, HomesAreWhole) {
  for (const tried& w : worlds) {
    const folded_step s(w.model, w.strategy, w.ranks);
    const hp::memory_account a = hp::detail::memory_account_of(s.p, s.moves, hp::detail::storage_alignment);
    hp::extent_t resident = 0;
    for (const hp::extent_t bytes : a.resident) resident += bytes;
    for (const int most : {1, 40, 1000})
      for (const hp::extent_t negligible : {hp::extent_t{0}, a.peak / 50}) {
        const hp::folded_period period = s.period({.most_operators = most, .negligible = negligible});
        hp::extent_t homes = period.kept;
        for (const hp::offload_storage& one : period.problem.storage) homes += one.persistent ? one.bytes : 0;
        EXPECT_EQ(homes, resident);
      }
  }
}

// ---- a plan of the folded program runs in the program written out ----

/// "layers.3.x" → {3, "layers.0-6.x"}; other names stay, with repetition -1.
std::pair<int, std::string> folded_name(const searched::small_model& model, std::string name) {
  const std::pair<std::string, hp::extent_t> stacks[] = {{"layers.", model.layers}, {"wide.", model.wide_layers}};
  for (const auto& [stack, layers] : stacks) {
    const std::size_t at = name.find(stack);
    if (at == std::string::npos) continue;
    std::size_t end = at + stack.size();
    const int repetition = std::atoi(name.c_str() + end);
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    return {repetition, name.replace(at + stack.size(), end - at - stack.size(), "0-" + std::to_string(layers - 1))};
  }
  return {-1, name};
}

/// The program written out, its steps in the order of the operators of a folded period.
struct written_out {
  hp::sharded_program p;
  std::vector<int> folded;  ///< of each step: the operator of the folded period

  written_out(const searched::small_model& model, const folded_step& s, const hp::folded_period& period) {
    searched::small_model unrolled = model;
    unrolled.unrolled = true;
    p = hp::partition(unrolled.build(), hp::strategy_called("single", 1).strategy);
    const hp::storage_uses uses(s.p);
    std::map<std::pair<std::string, hp::graph_phase>, int> block;  // of each operator of the folded graph
    for (int i = 0; i < s.p.step.size; ++i)
      block[{s.p.graph.name_of_op(s.p.compute[s.p.step[i].index].op), s.p.step[i].phase}] = uses.block_of[i];
    std::vector<std::pair<int, int>> order;
    std::map<int, int> made_by;  // of each value: the operator of the folded period
    for (int i = 0; i < p.step.size; ++i) {
      const auto [repetition, name] = folded_name(model, p.graph.name_of_op(p.compute[p.step[i].index].op));
      const auto found = block.find({name, p.step[i].phase});
      int own = -1;
      for (int q = 0; q < period.op.size && found != block.end(); ++q)
        if (period.op[q].block == found->second && (repetition < 0) == (uses.blocks[found->second].segment < 0) &&
            (repetition < 0 ||
             (period.op[q].first <= repetition && repetition < period.op[q].first + period.op[q].count)))
          own = q;
      // What has another name there stands where its operands are complete.
      const bool placed = own >= 0;
      hp::detail::visit_values(p, p.step[i], [&](int v, bool written) {
        if (!placed && !written && made_by.contains(v)) own = std::max(own, made_by[v]);
      });
      EXPECT_GE(own, 0) << name;
      hp::detail::visit_values(p, p.step[i], [&](int v, bool written) {
        if (written) made_by[v] = own;
      });
      order.push_back({own, i});
    }
    EXPECT_EQ(order.size(), static_cast<std::size_t>(p.step.size));
    std::sort(order.begin(), order.end());
    const hp::growing_array<hp::program_step> step = p.step;
    for (std::size_t i = 0; i < order.size(); ++i) {
      p.step[static_cast<int>(i)] = step[order[i].second];
      folded.push_back(order[i].first);
    }
  }
};

using signature = std::tuple<hp::memory_class, bool, std::vector<int>>;

/// How a storage is used by the folded period's operators.
template <class OpOf>
signature signature_of(const hp::offload_program& o, int s, hp::memory_class kind, const OpOf& op_of) {
  std::vector<int> used;
  for (int a = 0; a < o.storage[s].access_count; ++a) {
    const hp::storage_access& one = o.access[o.storage[s].first_access + a];
    const int q = op_of(one.op);
    if (used.empty() || used.back() != q) used.push_back(q);
  }
  return {kind, o.storage[s].persistent, used};
}

/// The plan of the folded period, gap by gap, for the period written out. A fetch enters its queue when the operator
/// has ended that had ended before it started there: an operator written out takes its room by and by, and what comes
/// sooner might take it first.
hp::offload_plan spread(const hp::folded_period& period, const hp::offload_plan& plan, const hp::offload_program& fine,
                        const std::vector<int>& folded, const hp::storage_uses& uses) {
  const hp::use_chains coarse_chains = hp::chains_of(period.problem), chains = hp::chains_of(fine);
  std::map<signature, int> storage;
  for (int s = 0; s < period.problem.storage.size; ++s)
    storage[signature_of(period.problem, s, period.group[s].kind, [](int q) { return q; })] = s;
  const auto op_of = [&](int q) { return folded[static_cast<std::size_t>(q)]; };
  const auto last_of = [&](int coarse) {
    return static_cast<int>(std::upper_bound(folded.begin(), folded.end(), coarse) - folded.begin()) - 1;
  };
  const hp::offload_timeline t = hp::timeline_of(period.problem, plan);
  const auto ended_by = [&](hp::extent_t time) {
    int q = -1;
    while (q + 1 < t.op.size && t.op[q + 1].end <= time) ++q;
    return q;
  };
  hp::offload_plan out = hp::keep_all(chains.gap.size);
  for (int g = 0; g < chains.gap.size; ++g) {
    const hp::storage_gap& gap = chains.gap[g];
    const int s = fine.storage[gap.storage].label;
    if (s >= uses.use.size) continue;
    const auto found = storage.find(signature_of(fine, gap.storage, uses.class_of(s), op_of));
    if (found == storage.end()) continue;  // used by one operator only
    for (int c = coarse_chains.first_gap[found->second]; c < coarse_chains.first_gap[found->second + 1]; ++c) {
      const hp::storage_gap& coarse = coarse_chains.gap[c];
      const hp::gap_decision& d = plan.gap[c];
      if (coarse.from != op_of(gap.from) || coarse.to != op_of(gap.to) || coarse.wraps != gap.wraps ||
          d.choice != hp::gap_choice::offload)
        continue;
      const int store = std::min(last_of(d.store_after), gap.from);
      const int ended = ended_by(t.fetch[c].start);
      const int fetch = ended < 0 ? -1 : last_of(ended);
      out.gap[g] = {d.choice, d.tier, std::max(store, gap.last_write), std::max(fetch, gap.wraps ? -1 : gap.from)};
    }
  }
  return out;
}

struct written_out_runs {
  int plans = 0, moved = 0;

  void expect(const searched::small_model& model, int most, int percent) {
    const folded_step s(model, "single", 1);
    const hp::extent_t peak = hp::detail::memory_account_of(s.p, s.moves, hp::detail::storage_alignment).peak;
    const hp::tier_hardware hardware = two_tiers(peak * percent / 100, 4'000'000'000);
    hp::folded_period period = s.period({.most_operators = most}, hardware.tier[0].capacity);
    period.problem.link = hardware.link;
    const written_out w(model, s, period);
    const hp::program_moves moves = hp::kinds_of_moves(w.p);
    const hp::growing_array<hp::extent_t> duration = hp::step_durations(w.p, moves);
    for (hp::offload_operator& q : period.problem.op) q.duration = 0;
    for (int i = 0; i < w.p.step.size; ++i)
      period.problem.op[w.folded[static_cast<std::size_t>(i)]].duration += duration[i];
    const hp::planned_offload planned = hp::plan_offload(period.problem, {.effort = 100'000});
    const hp::offload_certificate& c = planned.certificate;
    if (!c.feasible) {
      EXPECT_GT(c.least_budget, period.problem.tier[0].capacity);
      return;
    }
    const hp::offload_period fine = hp::offload_period_of(w.p, moves, duration, hardware, {});
    const hp::offload_plan plan = spread(period, planned.plan, fine.problem, w.folded, hp::storage_uses(w.p));
    ASSERT_EQ(hp::check(fine.problem, plan).code, hp::offload_plan_code::ok);
    const hp::offload_timeline t = hp::timeline_of(fine.problem, plan);
    ASSERT_TRUE(t.feasible);
    EXPECT_LE(t.peak[0], fine.problem.tier[0].capacity);
    EXPECT_LE(t.makespan, c.time);
    EXPECT_LE(t.bytes_in, c.bytes_in);
    EXPECT_GE(t.bytes_in, c.bytes_in / 10 * 9);  // a few sums have other names, and stay
    ++plans;
    moved += t.bytes_in > 0 ? 1 : 0;
  }
};

TEST(FoldedPeriod, APlanRunsInTheProgramWrittenOut) {
  written_out_runs runs;
  for (const searched::small_model& model :
       {searched::small_model{.layers = 5}, searched::small_model{.layers = 8, .recomputed = true},
        searched::small_model{.layers = 3, .wide_layers = 4, .experts = 4}})
    for (const int most : {14, 40, 1000})
      for (const int percent : {90, 70, 50, 30}) {
        SCOPED_TRACE(std::to_string(most) + " operators, " + std::to_string(percent) + " %");
        runs.expect(model, most, percent);
      }
  EXPECT_GE(runs.plans, 24);
  EXPECT_GE(runs.moved, 20);
}

TEST(FoldedPeriod, PlansOfRandomModelsRunWrittenOut) {
  const int rounds = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 1000 : 40;
  std::mt19937 random(11);
  written_out_runs runs;
  for (int round = 0; round < rounds; ++round) {
    searched::small_model model = searched::random_model(random, round % 2 == 1);
    model.micro_batches = 1;
    model.unrolled = false;
    if (model.layers == 1) model.layers = 4;
    if (model.wide_layers == 1) model.wide_layers = 2;
    const int most = static_cast<int>(searched::one_of(random, 16, 30, 60, 1000));
    const int percent = static_cast<int>(searched::one_of(random, 95, 80, 60, 40));
    SCOPED_TRACE(std::to_string(round) + ": " + std::to_string(most) + " operators, " + std::to_string(percent) + " %");
    runs.expect(model, most, percent);
  }
  EXPECT_GE(runs.plans, rounds / 2);
  EXPECT_GE(runs.moved, rounds / 2);
}

}  // namespace
