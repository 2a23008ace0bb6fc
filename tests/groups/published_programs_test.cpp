// SPDX-License-Identifier: Apache-2.0
// Periods of programs beside each other against the phases and steps that verl prints (docs/advance/fully_async.md and
// one_step_off.md @1dda039b9), in 10 ms.
#include <hyperparallel/groups/program_period.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace hp = hyperparallel;

namespace {

struct phases {
  hp::extent_t generation = 0, log_probabilities = 0, reference = 0, update = 0, rest = 0;
};

/// All phases on all ranks, in turns; what is not printed is counted as the move of the weights.
constexpr hp::program_graph colocated(const phases& p) {
  hp::group_table t;
  t.world = 32;
  hp::add_group(t, "all", hp::rank_range{0, 31});
  hp::program_graph g;
  hp::add_program(g, "rollout", "all", p.generation);
  hp::add_program(g, "actor", "all", p.log_probabilities);
  hp::add_program(g, "reference", "all", p.reference);
  hp::add_program(g, "train", "all", p.update);
  const char* const names[] = {"samples", "probabilities", "references"};
  for (int e = 0; e < 3; ++e) hp::connect(g, {.name = names[e], .from = e, .to = e + 1});
  hp::connect(g, {.name = "weights", .from = 3, .to = 0, .ready = 1, .move = p.rest, .behind = 0});
  g.row = hp::rows_of(g, t);
  return g;
}

/// Generation beside training, `ahead` versions of the weights behind.
constexpr hp::program_graph beside(const phases& p, int ahead) {
  hp::group_table t;
  t.world = 32;
  hp::add_group(t, "generation", hp::rank_range{0, 15});
  hp::add_group(t, "training", hp::rank_range{16, 31});
  hp::program_graph g;
  hp::add_program(g, "rollout", "generation", p.generation);
  hp::add_program(g, "train", "training", p.log_probabilities + p.reference + p.update);
  hp::connect(g, {.name = "samples", .from = 0, .to = 1, .room = 1 + ahead});
  hp::connect(
      g,
      {.name = "weights", .from = 1, .to = 0, .ready = 1 + ahead, .room = 2 + ahead, .move = p.rest, .behind = ahead});
  g.row = hp::rows_of(g, t);
  return g;
}

constexpr hp::extent_t period(const hp::program_graph& g) {
  const hp::program_period p = hp::period_of(g);
  return p.status.ok() && p.firings == 1 && hp::is_least_period(g, p) ? p.time : -1;
}

// Colocated steps on 32, 64 and 128 devices (7B), and of a 30B model on 128: the phases one after the other.
static_assert(period(colocated({35'741, 10'771, 0, 26'980, 5'518})) == 79'010);
static_assert(period(colocated({15'072, 7'026, 0, 13'341, 1'089})) == 36'528);
static_assert(period(colocated({17'785, 5'392, 0, 11'381, 1'072})) == 35'630);
static_assert(period(colocated({34'805, 2'873, 2'086, 8'627, 1'398})) == 49'789);
static_assert(hp::utilisation_of_row(colocated({35'741, 10'771, 0, 26'980, 5'518}),
                                     hp::period_of(colocated({35'741, 10'771, 0, 26'980, 5'518})), 0) == 930'160,
              "93.0 %");

// Fully asynchronous with staleness 0 on 64 + 64 devices: generation, update and the rest are exactly serial.
static_assert(period(beside({12'847, 0, 0, 9'877, 410}, 0)) == 23'134);

double error(hp::extent_t predicted, hp::extent_t printed) {
  const double e = (static_cast<double>(predicted) - static_cast<double>(printed)) / static_cast<double>(printed);
  std::printf("  %6.2f s for printed %6.2f s (%+.1f %%)\n", static_cast<double>(predicted) / 100,
              static_cast<double>(printed) / 100, 100 * e);
  return e < 0 ? -e : e;
}

/// With staleness s, a share s of a batch is begun before the weights come: the rest of its prompts is waited for. Lengths
/// are not printed; without memory, all 16 responses of a share q of prompts are done at a quantile of the longest one's
/// expected time, ln(1 / (1 − q^(1/16))) ÷ H(512 · 16).
hp::extent_t waited_for(hp::extent_t all, double staleness) {
  double harmonic = 0;
  for (int i = 1; i <= 512 * 16; ++i) harmonic += 1.0 / i;
  const double share = -std::log(1 - std::pow(1 - staleness, 1.0 / 16)) / harmonic;
  return static_cast<hp::extent_t>(static_cast<double>(all) * share);
}

TEST(published_programs, staleness_of_asynchronous_rollout_is_predicted_from_that_without) {
  struct row {
    double staleness;
    hp::extent_t step;
  };
  for (const row& r : {row{0.1, 17'100}, row{0.3, 14'611}, row{0.5, 15'100}}) {
    const hp::extent_t predicted = period(beside({waited_for(12'847, r.staleness), 0, 0, 9'877, 410}, 0));
    EXPECT_LT(error(predicted, r.step), 0.15) << r.staleness;
  }
}

TEST(published_programs, generation_beside_training_takes_the_longer_of_both) {
  // Rollout begins with the hand-over and is waited for: it takes log-probabilities, update and the printed wait.
  EXPECT_LT(error(period(beside({4'500 + 10'800 + 33'700, 10'800, 0, 33'700, 0}, 1)), 52'000), 0.10) << "FSDP2";
  EXPECT_LT(error(period(beside({5'900 + 12'000 + 34'700, 12'000, 0, 34'700, 0}, 1)), 56'600), 0.10) << "Megatron";
  // From the colocated row alone, with half of its devices: generation twice as long as there.
  EXPECT_LT(error(period(beside({2 * 24'700, 10'800, 0, 33'700, 0}, 1)), 52'000), 0.10) << "FSDP2";
  // The same step with the weights of its own samples is serial: the gain is that of one step off.
  EXPECT_EQ(period(beside({49'000, 10'800, 0, 33'700, 0}, 0)), 93'500);
}

}  // namespace
