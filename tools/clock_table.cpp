// SPDX-License-Identifier: Apache-2.0
//
// clock_table: prints docs/reference/plan-clock.md, the estimate of the account beside the clock of the plan that runs,
// for the example models under all named strategies.
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/lowering/lowered_offload.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/simulation.hpp>
#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "../examples/models/captioner.hpp"
#include "../examples/models/deepseek_v3.hpp"
#include "../examples/models/diffusion_transformer.hpp"
#include "../examples/models/llama3_8b.hpp"
#include "../examples/models/masked_diffusion.hpp"
#include "../examples/models/qwen3_30b_a3b.hpp"
#include "../examples/models/small_moe.hpp"
#include "../examples/models/training_graph.hpp"
#include "../examples/models/vision_transformer.hpp"

namespace hp = hyperparallel;

namespace {

constexpr int devices = 8;
using hardware = hp::h100;

const char* const head = R"(# The clock of a plan

`simulate(lowered, device)` (`price/clock.hpp`) is the time of the plan that runs: every task of it, in its queue, behind
what it waits for, with the prices of the [account](models.md#accounts). It plays one rank of the class, which has the times of all.

```cpp
const hp::lowered_program l = hp::lower_training(hp::partition(graph, strategy), {.topology = links});
const hp::run_times t = hp::simulate(l, hp::h100::device);
assert(t.ok() && t.makespan >= t.bound.most());  // picoseconds; no order of these tasks is faster than the bound
```

| name | is |
|---|---|
| `simulate(lowered, device[, synchronisation])` | of a step of training: of its one run, or of a run for each micro-batch and of the update. Domain: an unrolled program whose moves were chosen on the links of the hardware, which has its memory tiers; else `code` says why there is no time |
| `simulate(lowered, run, device[, synchronisation])` | of one run |
| `clocked(lowered, device)` | the program with `lowered.times`, which stay unknown otherwise. `train_step<…>::clock` has those of the step's plan |
| `prices_of_rows(lowered, run, device)` | what each row of the plan takes (`price/program_prices.hpp`): the rows of a move take together what the account says of it, copies between memory tiers what the link between them takes |
| `prices_of_steps(program, moves, device)` | what each step takes by itself: what a memory plan is made with |
| `play(plan, duration[, synchronisation])` | begin and end of every task, of the plan of the class or of all ranks |
| `run_times` | `makespan`; `busy` by kind of queue, of one rank; `exposed`, in which nothing is computed; `bound`: `work` of the busiest compute queue, of the busiest queue of `links` or copies, and the longest `path` of values that are made one from the other |
| `lower_fastest(program, options, device, memory)` | `price/lookahead.hpp`: the plan with the lookahead that is fastest within so many bytes, a `clocked_plan` |

`synchronisation` is added to every wait. O(rows + waits), whatever the number of ranks.

## Beside the estimate

`estimate_step` (`price/step_estimate.hpp`) is the time in accounts and searches. It has two queues in the order of the program,
where a step waits for the values that it reads and for the users of what it writes. It folds repeated layers, so it prices
what is too large to unroll. It knows nothing of addresses: a plan writes a block where another one lay, and waits until that one
has been read. So, of a step of one micro-batch that repeats nothing:

- **with memory without end the clock is the estimate**, to the picosecond: `PlanClock.IsTheEstimateWhereNoTwoStoragesShareAnAddress`
  holds it for all named strategies;
- with less memory no plan in the order of the program is faster than the estimate.

What lies between is what waits for memory cost. `looking_ahead<steps>` gives moves memory of their own for so many steps before
and after their turn, `looking_ahead_within<bytes>` as many as make the plan fastest. Below, the first columns are of the plan with the least memory; then that of `lower_fastest` within the memory
of the device, or within a tenth above the least where the least does not fit.

)";

const char* const offload_head = R"(## Beside the planner of memory tiers

A program [under a budget](offload.md#programs-under-a-budget) was planned by a clock of its own, as fast as a search needs it.
Both have the same prices (`prices_of_steps`). The plan that runs is at most as late as the planner says, and just as late
where one device computes and waits for no copy. The planner is later, where it is, because it starts operators in order,
whichever queue they have, and copies behind the operators that it chose; a run starts what its queue, its values and its
addresses allow. Out of the domain of this law, either may be later: several slower tiers; a store that is in the program and
not in the plan (`added_stores`); an operator of several results that is run again;
[parts of a pipeline](parts.md#under-a-budget-of-fast-memory-loweringoffloaded_programhpp) that wait for each other's copies.

```cpp
const hp::row_prices price = hp::prices_of_steps(p, hp::kinds_of_moves(p, links), hp::h100::device);
const hp::offloaded_program o =
    hp::offload(p, price.duration, hp::tiers_of(hp::h100::device, whole / 2), {.links = links});
const hp::lowered_program l = hp::lower_training(o, {.topology = links});
assert(hp::simulate(l, l.run[0], hp::h100::device).makespan <= o.period[0].time);
```

The budget is a share of the bytes that addresses take without one.

| model | strategy | budget | in and out, GB | planner, ms | clock, ms | gap | bound, ms |
|---|---|---|---|---|---|---|---|
)";

const char* const pipeline_head = R"(
## Pipelines, stage by stage

A pipeline does not run as one plan yet. `simulate_pipeline(decoder, plan, prices, memory)` (`planner/simulated_pipeline.hpp`) lowers
each stage that is not like another one, within the memory that further micro-batches in flight leave to it, and reads from its
clock what forward, backward and update take of embedding, layers and head (`price/stage_passes.hpp`). With these times and what
handing over takes it replays the plan's schedule (`price/stage_replay.hpp`): 1F1B, or any of
[those that hold each stage once](pipeline.md) by `--fix schedule=…`, with `chunks=…` stages on a rank. `hp plan` has such times where a
plan has several stages, and says "schedule replayed with simulated stages".

A schedule that puts off gradients of parameters (ZB-H1, ZB-H2, ZB-V, V-Half, V-Min) is played with the part of backward that no gradient of
an activation rests on. Layers are dealt evenly; where they do not divide by the stages and two more would, the first and the last stage
have one less, for embedding and head.

Bytes of a rank are the most along its row of the schedule (`price/row_memory.hpp`). Of each stage the program says by lifetime what F, I,
W and B of a micro-batch take at most and what they leave: between I and W the operands of the put-off products, the gradients of their
results, and what was computed again for both; under recomputation that is many times what is kept from F to I. What is handed over is there
an action longer, norm and update of a rank's stages stand beside each other, and on top come the gaps between the addresses of one
stage. A test holds it against the program of all stages, unrolled, on 1 544 ranks of twelve schedules, with and without recomputation, tensor
parallelism, ZeRO 1 and 3 and a tied table: from 1.1 % below what is alive there to 2.1 % above its addresses, and of the fullest rank,
with buffers of hand-overs, within 1.6 % of what is alive. Gaps between the addresses of the unrolled program are not counted.

A tied table has a home at either end, and each end accumulates its own gradient, since the stages' programs went through
[`accumulate_by_stage`](parts.md#a-parameter-that-two-stages-read). In the update the last stage waits for the first one: the gradient crosses, the table
is updated, its new value crosses back; where one rank has both ends nothing crosses. A test of twenty plans has this within 1.8 % of the
clock of the one program. Two things are not counted: of one micro-batch, that a gradient which waits for a reduction is
reduced before it crosses, so that a rank has up to 23 % too little with sequences of 64, and what is said above with 4 096; and that
under ZeRO 3 a rank with both ends keeps the gathered table from the F of one to that of the other, up to 17 %.

Searches compare plans of 1F1B; estimates, where nothing can be simulated, have its bubble. On 8, 16 and 32 A100, 42 published runs of 1F1B,
interleaved 1F1B, ZB-1p and ZB-2p (2401.10241; as ZB-H1 and ZB-H2, of the latter the span of a rank) are predicted within 5.5 % in the mean,
12 % at most, and the faster of two schedules is named in all 26 pairs that differ.

The estimate of a plan deals layers, embedding and head to all stages alike, and adds what all wait for the last stage, which has the head
(`price/stage_balance.hpp`): in each round but one. It lets each step take its share of what it takes on all layers, where a stage's
clock plays its own; and it adds the hand-over to every round, where in the replay it occupies no stage, which goes on with the
next pass. Below, the two are at most 1.4 % apart.

The bubble is what the busiest stage waits for, and GiB are of the first stage by the estimate, of the fullest by address.

| model | devices | plan | estimate, ms | replay, ms | by | bubble, ms | handed over, ms | GiB estimated | by address |
|---|---|---|---|---|---|---|---|---|---|
)";

double milliseconds(hp::extent_t picoseconds) { return static_cast<double>(picoseconds) * 1e-9; }
/// By how much `less` is below a clock, in percent.
double gap(hp::extent_t clock, hp::extent_t less) {
  return 100 * (1 - static_cast<double>(less) / static_cast<double>(clock));
}

template <class Build>
hp::graph graph_of(const Build& build) {
  hp::step_settings settings = models::training_settings(1, false);
  settings.build.unrolled = true;
  hp::model_builder m(settings.build);
  build(m);
  return hp::training_graph(std::move(m.graph), hp::adamw::value, settings);
}

template <class Build>
void print_budgets(const char* name, std::initializer_list<const char*> strategies, const Build& build) {
  const hp::graph graph = graph_of(build);
  const hp::interconnect links = hp::interconnect_of(hardware::topology);
  for (const char* const strategy : strategies) {
    const hp::sharded_program p = hp::partition(graph, hp::strategy_called(strategy, devices).strategy);
    const hp::program_moves moves = hp::kinds_of_moves(p, links);
    const hp::row_prices price = hp::prices_of_steps(p, moves, hardware::device);
    const hp::extent_t whole = hp::plan_addresses(p, moves).high_water[0];
    for (const int percent : {75, 50}) {
      const hp::offloaded_program o =
          hp::offload(p, price.duration, hp::tiers_of(hardware::device, whole / 100 * percent),
                      {.planning = {.effort = 20'000}, .links = links});
      if (!o.ok()) {
        fmt::print("| {} | {} | {} % | {} | | | | |\n", name, strategy, percent, to_text(o.code));
        continue;
      }
      const hp::lowered_program l = hp::lower_training(o, {.topology = links});
      const hp::run_times clock = hp::simulate(l, hardware::device);
      const hp::offload_certificate& planner = o.period[0];
      fmt::print("| {} | {} | {} % | {:.2f}, {:.2f} | {:.3f} | {:.3f} | {:+.1f} % | {:.3f} |\n", name, strategy,
                 percent, static_cast<double>(planner.bytes_in) * 1e-9, static_cast<double>(planner.bytes_out) * 1e-9,
                 milliseconds(planner.time), milliseconds(clock.makespan),
                 100 * (static_cast<double>(planner.time) / static_cast<double>(clock.makespan) - 1),
                 milliseconds(clock.bound.most()));
    }
  }
}

template <class Build>
void print_model(const char* name, const Build& build) {
  const hp::graph graph = graph_of(build);
  std::printf("### %s\n\n", name);
  std::puts(
      "| strategy | estimate, ms | least memory, GiB | clock, ms | gap | lookahead | memory | clock, ms | gap | clock "
      "/ bound |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|");
  int refused = 0, not_lowered = 0;
  double largest = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p =
        hp::partition(graph, hp::strategy_called(hp::named_strategy_at(i).name, devices).strategy);
    if (p.status.code != hp::strategy_code::ok) {
      ++refused;
      continue;
    }
    const hp::lowering_options how{.topology = hp::interconnect_of(hardware::topology)};
    const hp::lowered_program least = hp::clocked(hp::lower_training(p, how), hardware::device);
    const hp::extent_t bytes = least.addresses.high_water[0], has = hardware::device.tier[0].bytes;
    const hp::clocked_plan fastest =
        hp::lower_fastest(p, how, hardware::device, bytes <= has ? has : bytes + bytes / 10);
    if (!fastest.ok()) {
      ++not_lowered;
      continue;
    }
    const hp::extent_t estimate = fastest.unhindered, best = fastest.lowered.times.makespan;
    const double left = gap(best, estimate);
    largest = left > largest ? left : largest;
    fmt::print("| {} | {:.3f} | {:.1f} | {:.3f} | {:.1f} % | {} | {:+.1f} % | {:.3f} | {:.1f} % | {:.2f} |\n",
               hp::named_strategy_at(i).name, milliseconds(estimate), static_cast<double>(bytes) / hp::GiB,
               milliseconds(least.times.makespan), gap(least.times.makespan, estimate), fastest.lookahead,
               100 * (static_cast<double>(fastest.bytes()) / static_cast<double>(bytes) - 1), milliseconds(best), left,
               static_cast<double>(best) / static_cast<double>(fastest.lowered.times.bound.most()));
  }
  fmt::print("\nThe largest gap is {:.1f} %. {} strategies do not fit the model, {} are not lowered.\n\n", largest,
             refused, not_lowered);
}

void print_pipeline(const char* name, const hp::decoder& d, const hp::decoder_plan& plan) {
  hp::plan_prices prices(hardware::device, hardware::topology);
  const hp::plan_estimate e = hp::estimate_plan(d, plan, prices);
  const hp::simulated_pipeline s = hp::simulate_pipeline(d, plan, prices, hardware::device.tier[0].bytes);
  const hp::extent_t clock = s.replay.makespan(), estimate = e.evaluation.time;
  fmt::print(
      "| {} | {} | tp={},pp={},dp={},zero={},micro_batches={} | {:.3f} | {:.3f} | {:+.1f} % | {:.3f} | {:.3f} | "
      "{:.1f} | {:.1f} |\n",
      name, hp::device_count_of(plan), plan.tp, plan.pp, plan.dp, plan.zero, plan.micro_batches, milliseconds(estimate),
      milliseconds(clock), 100 * (static_cast<double>(clock) / static_cast<double>(estimate) - 1),
      milliseconds(s.replay.bubble), milliseconds(s.replay.handed), static_cast<double>(e.evaluation.memory) / hp::GiB,
      static_cast<double>(s.bytes()) / hp::GiB);
}

void print_pipelines() {
  std::fputs(pipeline_head, stdout);
  hp::decoder llama{.vocabulary = 128256,
                    .hidden = 4096,
                    .layers = 32,
                    .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
                    .feed_forward = {.width = 14336}};
  for (const int of_all : {16, 64})
    for (const int pp : {2, 4, 8})
      print_pipeline(
          "Llama 3 8B", llama,
          {.tp = 2, .pp = pp, .dp = of_all / 2 / pp, .zero = 1, .micro_batches = 16, .batch = 256, .sequence = 4096});
  llama.hidden = 8192;
  llama.layers = 80;
  llama.attention.query_heads = 64;
  llama.feed_forward.width = 28672;
  for (const int pp : {2, 4, 8})
    print_pipeline("Llama 3 70B", llama,
                   {.tp = 8,
                    .pp = pp,
                    .dp = 8 / pp,
                    .zero = pp == 8 ? 0 : 1,
                    .micro_batches = 64,
                    .batch = 256,
                    .sequence = 4096});
}

}  // namespace

int main() {
  std::fputs(head, stdout);
  fmt::print(
      "Printed by `tools/clock_table.cpp`: {} devices of `h100`, layers unrolled, activations in bf16, AdamW.\n\n",
      devices);
  print_model("Llama 3 8B, 8 sequences of 4 096", [](auto& m) { models::llama3_8b<8, 4096>::build(m); });
  print_model("Qwen3-30B-A3B, 8 sequences of 4 096", [](auto& m) { models::qwen3_30b_a3b<8, 4096>::build(m); });
  print_model("DeepSeek-V3, 8 sequences of 4 096", [](auto& m) { models::deepseek_v3<8, 4096>::build(m); });
  print_model("Masked diffusion, 8 sequences of 4 096", [](auto& m) { models::masked_diffusion<8, 4096>::build(m); });
  print_model("Vision transformer", [](auto& m) { models::vision_transformer<>::build(m); });
  print_model("Diffusion transformer", [](auto& m) { models::diffusion_transformer<>::build(m); });
  print_model("Captioner", [](auto& m) { models::captioner<>::build(m); });
  print_model("Small model of experts", [](auto& m) { models::small_moe<>::build(m); });
  std::fputs(offload_head, stdout);
  print_budgets("Vision transformer", {"single"}, [](auto& m) { models::vision_transformer<>::build(m); });
  print_budgets("Masked diffusion", {"single", "zero3"}, [](auto& m) { models::masked_diffusion<8, 4096>::build(m); });
  print_budgets("Small model of experts", {"single", "dp", "ep-tp"}, [](auto& m) { models::small_moe<>::build(m); });
  print_budgets("Llama 3 8B", {"tp-sp", "zero3"}, [](auto& m) { models::llama3_8b<8, 4096>::build(m); });
  print_pipelines();
  return 0;
}
