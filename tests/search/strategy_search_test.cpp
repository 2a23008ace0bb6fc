// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/search/strategy_search.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../examples/models/deepseek_v3.hpp"
#include "../../examples/models/llama3_8b.hpp"
#include "../../examples/models/qwen3_30b_a3b.hpp"
#include "../../examples/models/training_graph.hpp"
#include "lowering/refused_hardware.hpp"
#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

struct plan_cost {
  hp::extent_t time = 0, memory = 0;
};

/// All candidates of all parts of all frames, each plan evaluated by itself.
std::vector<plan_cost> all_plans(const std::vector<hp::graph>& graphs, const hp::device_value& device,
                                 const hp::topology_value& topology, int devices, const hp::search_limits& limits) {
  std::vector<plan_cost> plans;
  const auto enter = [&](const hp::plan_evaluation& e) {
    if (e.ok()) plans.push_back({e.time, e.memory});
  };
  for (const hp::graph& g : graphs) {
    hp::plan_prices prices(device, topology);
    hp::detail::visit_frames(g, devices, limits, [&](const hp::plan_frame& f) {
      const bool turns = f.context == hp::context_form::ring && f.cp > 1;
      const hp::graph planned = turns ? hp::rotate_attention(g, f.cp) : g;
      hp::plan_space space;
      hp::detail::fill_space(space, planned, hp::detail::find_parts(planned), f, limits.reduced);
      int choice[hp::max_model_parts] = {};
      for (;;) {
        hp::strategy_value s;
        if (hp::detail::compose(space, choice, s)) enter(hp::evaluate_plan(g, s, f.pipeline, prices));
        int p = 0;
        while (p < space.parts && ++choice[p] == space.candidate[p].size) choice[p++] = 0;
        if (p == space.parts) return;
      }
    });
    if (!limits.named) continue;
    for (int p = 1; p <= limits.pipeline; ++p)
      if (devices % p == 0)
        hp::visit_named_strategies(devices / p,
                                   [&](const hp::strategy_value& s) { enter(hp::evaluate_plan(g, s, p, prices)); });
  }
  return plans;
}

/// The least time within a budget; 0: nothing fits.
hp::extent_t least_time(const std::vector<plan_cost>& plans, hp::extent_t budget) {
  hp::extent_t least = 0;
  for (const plan_cost& p : plans)
    if (p.memory <= budget && (least == 0 || p.time < least)) least = p.time;
  return least;
}

// The law, over random models, devices, topologies and budgets.
TEST(StrategySearch, EqualsBruteForce) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  std::mt19937 random(31);
  int infeasible = 0, feasible = 0, tight = 0, named = 0, accounted = 0;
  const int cases = exhaustive ? 300 : 30;
  for (int i = 0; i < cases; ++i) {
    searched::small_model m = searched::random_model(random, i % 5 == 0);
    m.unrolled = false;
    std::vector<hp::graph> graphs{m.build()};
    if (i % 4 == 1) {
      m.recomputed = !m.recomputed;
      graphs.push_back(m.build());
    }
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    const int devices = exhaustive && i % 6 == 0 ? 8 : random() % 12 == 0 ? 4 : 2;
    hp::search_limits limits;
    limits.reduced = devices > 2 || random() % 8 > 0;
    limits.tensor = devices == 2 ? 2 : static_cast<int>(searched::one_of(random, 2, 4));
    limits.context = static_cast<int>(searched::one_of(random, 1, 2));
    limits.pipeline = static_cast<int>(searched::one_of(random, 1, 2));
    limits.named = random() % 6 == 0;
    const auto say = [](const hp::search_progress&) {};
    const auto search = [&](hp::extent_t budget) {
      return hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), device, topology, devices, limits,
                                   budget, say);
    };
    const std::vector<plan_cost> plans = all_plans(graphs, device, topology, devices, limits);
    const hp::search_result free = search(hp::longest_time / 4);
    ASSERT_TRUE(free.ok());
    // Budgets around what the best plan holds: plans beyond are refused, or all of them.
    const hp::extent_t held = free.plan[0].evaluation.memory;
    for (const hp::extent_t budget : {hp::longest_time / 4, held - 1, held / 2}) {
      const hp::search_result r = budget > held ? free : search(budget);
      const hp::extent_t least = least_time(plans, budget);
      ASSERT_EQ(r.ok(), least > 0) << i;
      EXPECT_TRUE(r.certificate.complete) << i;
      EXPECT_EQ(r.certificate.law_breaks, 0) << i;
      if (!r.ok()) {
        ++infeasible;
        // What is told of the memory that lacks: a bound below all plans, and a plan that is there.
        const hp::search_certificate& c = r.certificate;
        EXPECT_GT(c.least_memory, 0);
        EXPECT_EQ(c.budget, budget);
        EXPECT_TRUE(c.least_memory > budget || c.least_peak > budget) << i;
        EXPECT_TRUE(c.least_memory != hp::not_counted || c.least_peak != hp::not_counted) << i;
        for (const plan_cost& p : plans) EXPECT_GE(p.memory, c.least_memory) << i;
        if (c.least_peak != hp::not_counted) {
          ++accounted;
          EXPECT_TRUE(
              std::any_of(plans.begin(), plans.end(), [&](const plan_cost& p) { return p.memory == c.least_peak; }));
        }
        continue;
      }
      ++feasible;
      tight += budget < held ? 1 : 0;
      const hp::found_plan& best = r.plan[0];
      named += best.named ? 1 : 0;
      EXPECT_EQ(best.evaluation.time, least) << i;
      EXPECT_EQ(r.certificate.lower_bound, least) << i;
      EXPECT_LE(best.evaluation.memory, budget);
      // The plan is what it says, and a program keeps every law under it.
      hp::plan_prices prices(device, topology);
      const hp::graph& g = graphs[static_cast<std::size_t>(best.graph)];
      EXPECT_EQ(hp::evaluate_plan(g, best.strategy, best.frame.pipeline, prices), best.evaluation);
      for (int k = 1; k < r.plan.size; ++k) EXPECT_GE(r.plan[k].evaluation.time, r.plan[k - 1].evaluation.time);
    }
  }
  EXPECT_GT(feasible, cases);
  EXPECT_GT(tight, cases / 3);
  EXPECT_GT(infeasible, 0);
  EXPECT_GT(accounted, 0);
  RecordProperty("named", named);
}

// One clock: an account of a plan's program tells the time that the search compared.
TEST(StrategySearch, AccountsTellTheTimesOfItsPlans) {
  std::mt19937 random(77);
  int alike = 0, staged = 0, overlapping = 0;
  for (int i = 0; i < 24; ++i) {
    searched::small_model m = searched::random_model(random, i % 5 == 0);
    m.unrolled = false;
    const hp::graph g = m.build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    hp::search_limits limits;
    limits.tensor = 2;
    limits.pipeline = i % 3 == 0 ? 2 : 1;
    const hp::search_result r = hp::search_strategies(&g, 1, device, topology, i % 2 == 0 ? 4 : 2, limits,
                                                      hp::longest_time / 4, [](const hp::search_progress&) {});
    ASSERT_TRUE(r.ok()) << i;
    for (const hp::found_plan& plan : r.plan) {
      const hp::sharded_program p = hp::partition(g, plan.strategy);
      const hp::step_account a = hp::account_of(p, device, hp::on_topology(topology));
      hp::plan_prices prices(device, topology);
      EXPECT_EQ(a.times.total.picoseconds, hp::detail::evaluate_program(p, 1, prices).time) << i;
      if (plan.frame.pipeline == 1) {
        EXPECT_EQ(a.times.total.picoseconds, plan.evaluation.time) << i;
        ++alike;
      } else {
        EXPECT_EQ(hp::detail::evaluate_program(p, plan.frame.pipeline, prices), plan.evaluation) << i;
        ++staged;
      }
      overlapping += a.times.exposed < a.times.communication_busy ? 1 : 0;
    }
  }
  EXPECT_GT(alike, 40);
  EXPECT_GT(staged, 0);
  EXPECT_GT(overlapping, 20);
}

TEST(StrategySearch, NothingFits) {
  const hp::graph g = searched::small_model{}.build();
  const hp::search_result r = hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 4, {},
                                                    1000, [](const hp::search_progress&) {});
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.certificate.complete);
  EXPECT_EQ(r.certificate.frames, r.certificate.frames_too_large);
  EXPECT_GT(r.certificate.least_memory, 1000);
}

TEST(StrategySearch, HardwareThatCannotBeIsNotSearched) {
  const hp::graph g = searched::small_model{}.build();
  for (const refused::hardware& h : refused::each()) {
    const hp::search_result r = hp::search_strategies(&g, 1, h.device, h.topology, 8);
    EXPECT_EQ(r.hardware, hp::check_hardware(h.device, h.topology, 8)) << h.what;
    EXPECT_FALSE(r.hardware.ok() || r.ok() || r.certificate.complete) << h.what;
    EXPECT_EQ(r.certificate.least_memory, hp::not_counted) << h.what;
    EXPECT_EQ(r.certificate.frames, 0) << h.what;
  }
}

// Degrees that divide nothing make no frame, others are refused with the dim.
TEST(StrategySearch, SaysWhatIsNotLegal) {
  const hp::graph g = searched::small_model{}.build();
  hp::search_limits limits;
  limits.named = false;
  limits.tensor = 1;
  const auto search = [&](const hp::topology_value& t, int devices) {
    return hp::search_strategies(&g, 1, hp::generic_host::device, t, devices, limits).certificate;
  };
  const hp::search_certificate none = search(hp::generic_host::topology, 11);
  EXPECT_EQ(none.frames, 0);
  EXPECT_EQ(none.devices, 11);
  EXPECT_EQ(none.budget, hp::generic_host::device.tier[0].bytes);
  EXPECT_EQ(none.price, hp::cost_code::ok);

  limits.tensor = 16;
  const hp::search_certificate refused = search(hp::generic_host::topology, 11);
  EXPECT_GT(refused.frames, 0);
  EXPECT_EQ(refused.frames_refused, refused.frames);
  EXPECT_EQ(refused.refused.code, hp::strategy_code::dim_does_not_divide);
  EXPECT_EQ(refused.refused.pieces, 11);
  EXPECT_STREQ(refused.refused_dim.text, "vocab");
  EXPECT_EQ(refused.least_memory, hp::not_counted);
}

// Where no degrees are legal, frames are refused for that, however little memory there is.
TEST(StrategySearch, MemoryIsNotBlamedForDegreesThatAreNotLegal) {
  const hp::graph g = searched::small_model{}.build();
  const auto search = [&](int devices) {
    return hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, devices, {}, 1000,
                                 [](const hp::search_progress&) {});
  };
  for (const int devices : {7, 11, 13}) {
    const hp::search_result r = search(devices);
    EXPECT_FALSE(r.ok()) << devices;
    EXPECT_GT(r.certificate.frames, 0) << devices;
    EXPECT_EQ(r.certificate.frames_refused, r.certificate.frames) << devices;
    EXPECT_FALSE(r.certificate.has_legal_frames()) << devices;
    EXPECT_EQ(r.certificate.extents, (hp::degree_extents{.batch = 8, .sequence = 8, .layers = 2}));
  }
  EXPECT_TRUE(search(8).certificate.has_legal_frames());
}

TEST(StrategySearch, SaysWhereItIs) {
  const hp::graph g = searched::small_model{}.build();
  int calls = 0;
  hp::extent_t best = 0;
  const auto say = [&](const hp::search_progress& p) {
    EXPECT_EQ(p.frames, ++calls);
    if (best > 0) {
      EXPECT_LE(p.best, best);
    }
    best = p.best;
  };
  const hp::search_result r =
      hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 4, {}, hp::GiB, say);
  EXPECT_EQ(calls, r.certificate.frames);
  EXPECT_GT(best, 0);
}

// The same search in a constant expression: a block of feed-forward between an embedding and a head.
constexpr hp::graph tiny_graph() {
  hp::model_builder m;
  const int b = m.dim("batch", 3), s = m.dim("seq", 4);
  const int ids = m.index_input("ids", {b, s}), labels = m.index_input("labels", {b, s});
  int x = hp::token_embedding{.vocabulary = 8, .hidden = 8}(m, ids);
  x = hp::residual_branch(m, "norm", "residual", 1e-6, x, hp::swiglu_layer{.width = 8});
  hp::language_head{.vocabulary = 8}(m, x, labels);
  hp::differentiate(m.graph);
  return static_cast<hp::graph&&>(m.graph);
}
constexpr hp::search_limits few{.reduced = true, .tensor = 2, .context = 1, .pipeline = 1, .named = false};
constexpr hp::search_result search_tiny() {
  const hp::graph g = tiny_graph();
  return hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 2, few);
}
constexpr hp::search_result constant = search_tiny();
static_assert(constant.ok() && constant.certificate.complete && constant.certificate.plans >= 8);
static_assert(constant.certificate.lower_bound == constant.plan[0].evaluation.time);

TEST(StrategySearch, ConstantExpressionsAgree) {
  const hp::search_result now = search_tiny();
  EXPECT_EQ(now, constant);
}

/// One step of so many sequences, in 1, 4 and 16 micro-batches, with and without recomputation.
template <template <hp::extent_t, hp::extent_t> class Model, hp::extent_t Sequences>
std::vector<hp::graph> step_of() {
  std::vector<hp::graph> graphs;
  for (const bool recomputed : {false, true}) {
    graphs.push_back(models::training_graph<Model<Sequences, 4096>>(1, recomputed));
    graphs.push_back(models::training_graph<Model<Sequences / 4, 4096>>(4, recomputed));
    graphs.push_back(models::training_graph<Model<Sequences / 16, 4096>>(16, recomputed));
  }
  return graphs;
}

void print_plan(const char* title, const hp::found_plan& p) {
  std::string mesh, families;
  for (int a = 0; a < p.strategy.mesh.shape.axis_count; ++a)
    mesh += std::string(p.strategy.mesh.label[a].text) + std::to_string(p.strategy.mesh.shape.size[a]) + " ";
  for (int i = 0; i < p.family.size; ++i) families += std::string(i == 0 ? "" : " / ") + p.family.item[i].text;
  std::printf("  %-14s %-10s %-22s pp %-3d zero %d graph %d  %9.3f s %6.1f GiB  %s\n", title, p.strategy.name.text,
              mesh.c_str(), p.frame.pipeline, p.frame.zero, p.graph, static_cast<double>(p.evaluation.time) * 1e-12,
              static_cast<double>(p.evaluation.memory) / static_cast<double>(hp::GiB), families.c_str());
  std::fflush(stdout);
}

hp::search_result search_machine(const std::vector<hp::graph>& graphs, int devices, const hp::search_limits& limits) {
  return hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), hp::matrix384::device,
                               hp::matrix384::topology, devices, limits);
}

/// The best strategy by name that fits, under all degrees, from the definition.
hp::search_result best_by_name(const std::vector<hp::graph>& graphs, int devices, const hp::search_limits& limits) {
  hp::search_result best;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
    for (int p = 1; p <= limits.pipeline; ++p) {
      if (devices % p != 0) continue;
      hp::visit_named_strategies(devices / p, [&](const hp::strategy_value& s) {
        hp::found_plan found;
        found.evaluation = hp::evaluate_plan(graphs[i], s, p, prices);
        if (!found.evaluation.ok()) return;
        ++best.certificate.named;
        if (found.evaluation.memory > hp::matrix384::device.tier[0].bytes) return;
        found.strategy = s;
        found.frame.pipeline = p;
        found.graph = static_cast<int>(i);
        hp::detail::enter_plan(best.plan, found);
      });
    }
  }
  return best;
}

// Names do not compete inside this search: what it finds by parts is set against them.
void expect_never_loses(const char* model, const std::vector<hp::graph>& graphs, int devices,
                        const hp::search_limits& limits) {
  const hp::search_result parts = search_machine(graphs, devices, limits);
  const hp::search_result names = best_by_name(graphs, devices, limits);
  std::printf("%s on %d dies: %lld law breaks, complete %d, %lld strategies by name\n", model, devices,
              static_cast<long long>(parts.certificate.law_breaks), parts.certificate.complete ? 1 : 0,
              static_cast<long long>(names.certificate.named));
  EXPECT_EQ(parts.certificate.law_breaks, 0) << model;
  EXPECT_TRUE(parts.certificate.complete) << model;
  if (parts.ok()) print_plan("by parts", parts.plan[0]);
  if (!names.ok()) return;
  print_plan("best by name", names.plan[0]);
  ASSERT_TRUE(parts.ok()) << model;
  EXPECT_LE(parts.plan[0].evaluation.time, names.plan[0].evaluation.time) << model;
}

TEST(StrategySearch, NeverLosesToAName) {
  hp::search_limits limits;
  limits.named = false;
  limits.context = 1;
  limits.pipeline = 2;
  limits.orders = 2;
  if (std::getenv("HYPERPARALLEL_EXHAUSTIVE") == nullptr) {
    limits.tensor = 4;
    std::vector<hp::graph> graphs;
    graphs.push_back(models::training_graph<models::llama3_8b<64, 4096>>(1, true));
    graphs.push_back(models::training_graph<models::llama3_8b<16, 4096>>(4, true));
    expect_never_loses("Llama-3-8B", graphs, 8, limits);
    return;
  }
  limits.pipeline = 4;
  expect_never_loses("Llama-3-8B", step_of<models::llama3_8b, 64>(), 8, limits);
  expect_never_loses("Qwen3-30B-A3B", step_of<models::qwen3_30b_a3b, 64>(), 8, limits);
  expect_never_loses("DeepSeek-V3", step_of<models::deepseek_v3, 64>(), 8, limits);
  expect_never_loses("Llama-3-8B", step_of<models::llama3_8b, 128>(), 16, limits);
  expect_never_loses("Qwen3-30B-A3B", step_of<models::qwen3_30b_a3b, 128>(), 16, limits);
  expect_never_loses("DeepSeek-V3", step_of<models::deepseek_v3, 128>(), 16, limits);
  limits.tensor = 4;
  limits.orders = 1;
  expect_never_loses("Llama-3-8B", step_of<models::llama3_8b, 2048>(), 512, limits);
  expect_never_loses("Qwen3-30B-A3B", step_of<models::qwen3_30b_a3b, 2048>(), 512, limits);
  expect_never_loses("DeepSeek-V3", step_of<models::deepseek_v3, 2048>(), 512, limits);
}

void expect_different_rows(const hp::search_result& r, const std::string& what) {
  for (int i = 0; i < r.plan.size; ++i)
    for (int k = 0; k < i; ++k)
      EXPECT_FALSE(hp::detail::same_plan(r.plan[i], r.plan[k])) << what << ", rows " << k << " and " << i;
}

// Rows are different meshes or different memory, whatever axes and families are called.
TEST(StrategySearch, RowsAreDifferentPlans) {
  hp::search_limits limits;
  limits.tensor = 4;
  limits.context = 1;
  limits.pipeline = 2;
  limits.orders = 2;
  const auto search = [&](const char* model, const std::vector<hp::graph>& graphs, int devices) {
    const hp::search_result r = search_machine(graphs, devices, limits);
    ASSERT_TRUE(r.ok()) << model;
    EXPECT_EQ(r.plan.size, hp::most_found_plans) << model;
    expect_different_rows(r, model);
  };
  using namespace models;
  search("Llama-3-8B", {sized_training_graph<llama3_8b>(64, 1, true), sized_training_graph<llama3_8b>(16, 4, true)}, 8);
  search("Qwen3-30B-A3B", {sized_training_graph<qwen3_30b_a3b>(128, 1, true)}, 16);
  limits.pipeline = 1;
  limits.orders = 1;
  search("DeepSeek-V3", {sized_training_graph<deepseek_v3>(256, 1, true)}, 256);
  std::mt19937 random(12);
  for (int i = 0; i < 20; ++i) {
    const hp::graph g = searched::random_model(random, i % 4 == 0).build();
    const hp::search_result r =
        hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, i % 2 == 0 ? 4 : 2, limits);
    expect_different_rows(r, std::to_string(i));
  }
}

// The published pattern for dense models is tensor degree 8 on a machine of 8, 16 on larger ones with a short pipeline.
// The counter-proof: by the clock of accounts a plan of a smaller degree is faster than all plans of the pattern, by 29 %
// on 8 dies and 79 % on 16; on 8192 the two are within 1 %.
TEST(StrategySearch, PublishedPatternIsNotTheFastest) {
  const auto compare = [](const std::vector<hp::graph>& graphs, int devices, int tensor, int pipeline) {
    hp::search_limits limits;
    limits.tensor = 16;
    limits.context = 1;
    limits.pipeline = pipeline;
    limits.orders = 1;
    limits.named = false;
    std::printf("Llama-3-8B on %d dies\n", devices);
    const hp::search_result best = search_machine(graphs, devices, limits);
    ASSERT_TRUE(best.ok());
    EXPECT_TRUE(best.certificate.complete);
    print_plan("winner", best.plan[0]);
    limits.least_tensor = tensor;
    const hp::search_result pattern = search_machine(graphs, devices, limits);
    ASSERT_TRUE(pattern.ok());
    EXPECT_TRUE(pattern.certificate.complete);
    print_plan("pattern", pattern.plan[0]);
    EXPECT_GE(pattern.plan[0].frame.x * pattern.plan[0].frame.tp, tensor);
    EXPECT_LT(best.plan[0].frame.x * best.plan[0].frame.tp, tensor);
    EXPECT_LT(best.plan[0].evaluation.time, pattern.plan[0].evaluation.time);
  };
  if (std::getenv("HYPERPARALLEL_EXHAUSTIVE") == nullptr) {
    std::vector<hp::graph> graphs;
    graphs.push_back(models::training_graph<models::llama3_8b<16, 4096>>(1, false));
    graphs.push_back(models::training_graph<models::llama3_8b<4, 4096>>(4, false));
    compare(graphs, 8, 8, 1);
    return;
  }
  compare(step_of<models::llama3_8b, 16>(), 8, 8, 8);
  compare(step_of<models::llama3_8b, 16>(), 16, 16, 8);
  compare(step_of<models::llama3_8b, 1024>(), 8192, 16, 16);
}

}  // namespace
