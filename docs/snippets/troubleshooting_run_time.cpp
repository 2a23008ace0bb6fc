// SPDX-License-Identifier: Apache-2.0
// docs/troubleshooting.md, part 2: every text that a run can end with, as it really reads.
#undef NDEBUG
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <hyperparallel/controller.hpp>
#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/interop/dlpack_import.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiers/saved_tensors.hpp>
#include <hyperparallel/transfer/kv_transfer.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/taskflow_world.hpp>
#include <hyperparallel/world/world.hpp>

namespace hp = hyperparallel;

// What `work` throws as an `Error`, in its own words.
template <class Error, class Work>
std::string text_of(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// Task 0 writes a block and signals, task 1 waits and reads it.
struct chain {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int done = hp::add_event(f, 0), block = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, done);
    hp::add_access(f, block, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aic, 0, 10, 1, 0);
    hp::add_wait(f, done);
    hp::add_access(f, block, 0, 64, hp::access_mode::read);
  }
};

constexpr hp::machine_shape one_core{1, {1, 0, 0, 0, 0}};
constexpr auto flow = hp::build_fixed<hp::measure(chain{})>(chain{});
constexpr auto good = hp::schedule_fixed<1>(flow, one_core);

constexpr auto swapped() {
  auto s = good;
  s.queue_task[0] = s.order[0] = 1;
  s.queue_task[1] = s.order[1] = 0;
  return s;
}
constexpr auto bad = swapped();
static_assert(hp::verify(flow, bad).code == hp::verify_code::wait_is_never_satisfied);

constexpr const char* operations[] = {"GMM1", "SwiGLU"};
constexpr const char* slots[] = {"gate_up[0]"};

void work(const hp::kernel_call&) {}
void fail(const hp::kernel_call&) { throw std::runtime_error("the tile is all NaN"); }

hp::taskflow_world_options named() {
  hp::taskflow_world_options o;
  o.execution.names = {operations, 2, slots, 1};
  return o;
}

void task_error() {
  hp::taskflow_world world(flow, good, named());
  world.bind(0, &fail);
  world.bind(1, &work);
  assert(text_of<hp::task_error>([&] { world.run(); }) ==
         "task 0 on rank 0: GMM1 writing gate_up[0] failed: the tile is all NaN");
  world.bind(0, &work);
  assert(world.run() == hp::run_result::complete);  // the world is as good as new
}

void unsafe_plan_error() {
  assert(text_of<hp::unsafe_plan_error>([&] { hp::taskflow_world world(flow, bad, named()); }) ==
         "the plan is not proved safe: a wait needs a signal that comes later in the plan's order, task 1 on rank 0 "
         "(SwiGLU), event 0; hp::unchecked runs it without proof");
}

void deadlock_error() {
  hp::taskflow_world world(hp::unchecked, flow, bad, named());
  world.bind(0, &work);
  world.bind(1, &work);
  assert(text_of<hp::deadlock_error>([&] { world.run(); }) ==
         "no task can run: task 1 on rank 0 (SwiGLU) waits for event 0, which has 0 of 1 signals; still to signal it: "
         "task 0 on rank 0 (GMM1)");
}

void stall_error() {
  hp::taskflow_world_options o = named();
  o.execution.watchdog = 100;  // ms
  hp::taskflow_world world(flow, good, o);
  world.bind(0, [](const hp::kernel_call& call) {
    while (!call.stopping()) std::this_thread::yield();  // never done, but polite
  });
  world.bind(1, &work);
  assert(text_of<hp::stall_error>([&] { world.run(); }) ==
         "no task has ended for 100 ms; running: task 0 on rank 0 (GMM1)");
  world.bind(0, &work);
  assert(world.run() == hp::run_result::complete);
}

void bind_error() {
  hp::taskflow_world world(flow, good, named());
  world.bind(0, &work);
  assert(text_of<hp::bind_error>([&] { world.run(); }) == "no kernel is bound to SwiGLU");
}

void arena_error() {
  const std::vector<std::int64_t> tiers = {32};
  hp::taskflow_world_options small = named();
  small.tier_bytes = tiers;
  assert(text_of<hp::arena_error>([&] { hp::taskflow_world world(flow, good, small); }) ==
         "arena of rank 0, tier 0: 64 bytes asked at offset 0, 32 bytes free");
}

void exchange_error() {
  float number = 0;
  hp::interop::dlpack::managed_tensor foreign{};
  foreign.tensor = {&number, {2, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0};
  assert(text_of<hp::interop::exchange_error>([&] { hp::interop::from_dlpack(&foreign); }) ==
         "device_is_not_the_host: device type 2 (CUDA), device 0; expected 1 (CPU): copy it to the host first");
  assert(text_of<hp::interop::exchange_error>([&] {
           hp::interop::to_dlpack(hp::tensor_view<float>{&number, hp::shape{1}}, nullptr);
         }) == "owner_is_missing: nothing keeps the block of extents (1) alive; expected an owner");
}

void kv_transfer_error() {
  const hp::kv_pool prefill{hp::grouped_cache(32, 8, 128, 2), {8, 0}, 16, 100};
  hp::kv_pool decode{hp::grouped_cache(32, 8, 128, 2), {3, 8}, 16, 100};
  const int from[] = {4, 9, 2}, to[] = {7, 3};
  const hp::kv_sequence one{40, from, to};
  assert(text_of<hp::kv_transfer_error>([&] { hp::plan_kv_transfer(prefill, decode, {&one, 1}); }) ==
         "decode: 8 heads over 3 ranks: neither divides the other");
  decode.ranks = {4, 8};
  assert(text_of<hp::kv_transfer_error>([&] { hp::plan_kv_transfer(prefill, decode, {&one, 1}); }) ==
         "decode: sequence 0 takes 3 pages of 16 tokens, its block table has 2");
}

void controller_error() {
  hp::group_table groups;
  groups.world = 4;
  hp::add_group(groups, "training", hp::rank_range{0, 3});
  hp::program_graph programs;
  const int rollout = hp::add_program(programs, "rollout", "training"),
            train = hp::add_program(programs, "train", "training");
  hp::connect(programs, {.name = "samples", .from = rollout, .to = train});
  programs.row = hp::rows_of(programs, groups);
  hp::controller beside(programs, groups);
  beside.set_program("rollout", {[](const hp::firing&) {}});
  beside.set_program("train", {[](const hp::firing& f) {
                       if (f.number() == 2) throw std::runtime_error("the device is lost");
                     }});
  assert(text_of<hp::controller_error>([&] { beside.run(5); }) ==
         "program train on ranks 0-3 failed in firing 2, which read version 2 of edge samples: the device is lost");
  assert(text_of<hp::program_error>([&] { beside.run(5); }) ==
         "program train on ranks 0-3 failed in firing 2: restart it, or replace it by set_program");
  assert(text_of<hp::program_error>([&] { hp::channel<int> none(beside, "sampels"); }) ==
         "no edge of the graph is called sampels");
}

void io_error() {
  assert(text_of<hp::io_error>([] { hp::read_bytes("missing.txt"); }) ==
         "cannot read 'missing.txt': No such file or directory");
  assert(text_of<hp::io_error>([] { hp::atomic_file file("missing/trace.json"); }) ==
         "cannot write 'missing/trace.json': No such file or directory");
}

// Tensors whose shapes and layouts the compiler does not know, on four ranks.
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using whole = hp::layout<mesh, hp::none, hp::none>;
using by_row = hp::layout<mesh, "dp", hp::none>;
using by_column = hp::layout<mesh, hp::none, "tp">;
using any_rows = hp::dtensor<float, hp::extents<hp::dyn, 16>, by_row>;
using tokens = hp::dtensor<float, hp::extents<8, 16>, by_row>;

const hp::rank_group ranks(4);

void layout_error() {
  assert(text_of<hp::layout_error>([] { hp::zeros<any_rows>(ranks, hp::shape(7, 16)); }) ==
         "extent_is_not_divisible_by_its_shards: dim 0, extent 7, shards 2");
}

void operator_error() {
  const hp::dynamic_dtensor x = hp::ones<hp::dtensor<float, hp::extents<16, 16>, by_column>>(ranks).dynamic();
  const hp::dynamic_dtensor w = hp::ones<hp::dtensor<float, hp::extents<16, 16>, whole>>(ranks).dynamic();
  const hp::dynamic_dtensor v = hp::ones<hp::dtensor<float, hp::extents<8, 16>, whole>>(ranks).dynamic();
  assert(text_of<hp::operator_error>([&] { hp::apply(hp::operations::matmul{}, x, w); }) ==
         "matmul: operands_disagree: operand 1, dim 0, axis 1");
  assert(text_of<hp::operator_error>([&] { hp::apply(hp::operations::softmax{}, x); }) ==
         "softmax: dim_must_be_whole: operand 0, dim 1, axis 1");
  assert(text_of<hp::operator_error>([&] { hp::apply(hp::operations::matmul{}, w, v); }) ==
         "matmul: factor_extents_differ: operand 1, dim 0, extent 8, expected 16");
  assert(text_of<hp::operator_error>([&] { hp::apply(hp::operations::softmax{3}, x); }) ==
         "softmax: attributes_do_not_fit_operands: axis_is_out_of_range, 3");
}

void dtensor_error() {
  const tokens x = hp::ones<tokens>(ranks);
  const hp::dynamic_dtensor whole_numbers = hp::ones<hp::dtensor<int, hp::extents<8, 16>, by_row>>(ranks).dynamic();
  const hp::rank_group others(4), pair(2);
  const std::vector<float> ten(10);
  assert(text_of<hp::dtensor_error>([] { hp::zeros<any_rows>(ranks, hp::shape(8, 10)); }) ==
         "extents_differ_from_the_declared_ones");
  assert(text_of<hp::dtensor_error>([&] { any_rows y(hp::redistribute(x.dynamic(), whole::value)); }) ==
         "layouts_differ");
  assert(text_of<hp::dtensor_error>([&] { x.dynamic().to_local<int>(0); }) == "the tensor stores f32, not i32");
  assert(text_of<hp::dtensor_error>([&] { hp::apply(hp::elementwise<hp::ops::exp>{}, whole_numbers); }) ==
         "exp: element_types_are_not_computed: i32");
  assert(text_of<hp::dtensor_error>([&] { hp::zeros<tokens>(pair); }) == "a mesh of 4 positions on a group of 2 ranks");
  assert(text_of<hp::dtensor_error>([&] { x + hp::ones<tokens>(others); }) ==
         "sum: operands_are_in_different_rank_groups: operand 1 is not in the group of the first");
  assert(text_of<hp::dtensor_error>([&] { x.to_local(4); }) == "rank 4 is not of the mesh");
  assert(text_of<hp::dtensor_error>([&] { hp::distribute<tokens>(ranks, ten); }) == "10 elements for a tensor of 128");
  assert(text_of<hp::dtensor_error>([&] { hp::from_local<tokens>(ranks, {ten, ten, ten, ten}); }) ==
         "block 0 has 10 elements, its slice 64");
}

void move_error() {
  const hp::dynamic_dtensor x = hp::ones<hp::dtensor<float, hp::extents<8, 7>, by_row>>(ranks).dynamic();
  assert(text_of<hp::move_error>([&] { hp::redistribute(x, by_column::value); }) ==
         "extent_is_not_divisible_by_its_shards: dim 1, extent 7, shards 2");
}

void custom_shard_error() {
  const tokens x = hp::ones<tokens>(ranks);
  const auto cut =
      hp::custom_shard<hp::inputs<by_row>, hp::outputs<by_row>>([](const hp::local_rank& at, hp::const_view<float>) {
        return hp::local_tensor<float>(hp::shape(4, 8 + at.position));
      });
  const auto flat = hp::custom_shard<hp::inputs<by_row>, hp::outputs<by_row>>(
      [](hp::const_view<float>) { return hp::local_tensor<float>(hp::shape(64)); });
  assert(text_of<hp::custom_shard_error>([&] { cut(x); }) ==
         "custom_shard: local_shapes_make_no_whole: result 0, position 1");
  assert(text_of<hp::custom_shard_error>([&] { flat(x); }) ==
         "custom_shard: map_length_differs_from_tensor_rank: result 0, position 0");
}

void rank_error() {
  const tokens x = hp::ones<tokens>(ranks);
  const auto f = hp::custom_shard<hp::inputs<by_row>, hp::outputs<by_row>>(
      [](const hp::local_rank& at, hp::const_view<float> mine) {
        if (at.position > 1) throw std::runtime_error("no such file");
        return hp::local_tensor<float>(mine.extents);
      });
  const std::vector<std::int32_t> numbers = {0, 7, 3, 8};
  const auto ids = hp::distribute<std::int32_t>(ranks, hp::shape(4), hp::layout<mesh, hp::none>::value, numbers);
  const hp::dynamic_dtensor table = x.dynamic();  // 8 rows
  assert(text_of<hp::rank_error>([&] { f(x); }) == "custom_shard failed at position 2: no such file");
  assert(text_of<hp::rank_error>([&] { hp::apply(hp::operations::embedding{}, ids, table); }) ==
         "embedding failed at position 0: index 8 at [3], expected 0 to 7");
}

void sharding_plan_error() {
  const std::map<std::string, hp::dynamic_dtensor> mlp = {{"up.weight", hp::ones<tokens>(ranks).dynamic()}};
  assert(text_of<hp::sharding_plan_error>([&] { hp::shard(mlp, {{"*.bias", by_row::value}}); }) ==
         "pattern_matches_nothing: *.bias");
  assert(text_of<hp::sharding_plan_error>([&] { hp::shard(mlp, {{"up.*", by_row::value}, {"*", by_row::value}}); }) ==
         "pattern_is_overridden: up.*");
}

// A model of one product, as a step on two ranks.
struct one_product {
  static constexpr void build(hp::model_builder& m) {
    const int x = m.input("x", {m.dim("batch", 4), m.dim("hidden", 8)});
    const int w = m.parameter("weight", {m.dim("hidden", 8), m.dim("ffn", 8)});
    const int y = m.contract("y", "bh,hf->bf", x, w);
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
struct two_ranks : hp::device_matrix<hp::axis{"dp", 2}> {};
using one_step = hp::train_step<one_product, hp::strategy<two_ranks, hp::data_parallel<"dp">>, hp::sgd, hp::matrix384>;

void world_of_a_step() {
  hp::world<one_step> training;
  assert(text_of<hp::program_error>([&] { training.feed("z", std::vector<float>(32)); }) ==
         "the graph has no tensor \"z\", the nearest is \"x\"");
  assert(text_of<hp::program_error>([&] { training.feed("x", std::vector<float>(33)); }) ==
         "input \"x\" has 32 elements, given 33");
  assert(text_of<hp::program_error>([&] { training.feed("x", std::vector<std::int32_t>(32)); }) ==
         "input \"x\" has elements of type bf16, given i32");
  assert(text_of<hp::program_error>([&] { training.feed("weight", std::vector<float>(64)); }) ==
         "\"weight\" is no input but a parameter: it is not fed");
  assert(text_of<hp::program_error>([&] { training.train(1); }) == "input \"x\" was not set");
}

hp::group_table placed(hp::rank_range tower, hp::rank_range decoder) {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "tower", tower);
  hp::add_group(t, "decoder", decoder);
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "language", "decoder");
  return t;
}

void modules_on_groups() {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 8);
  const int seen = hp::linear_layer{"vision.patch", {hidden}}(m, m.input("image", {batch, m.dim("values", 4)}));
  const int y = hp::linear_layer{"language.up", {m.dim("ffn", 4)}}(m, seen);
  m.loss(m.apply<hp::ops::reduce>("language.sum", {y}, {.text = "*->"}));
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  const hp::graph& towers = m.graph;

  const auto refusal = [&](const hp::submodel_plan& plan) {
    return text_of<hp::program_error>([&] { hp::model_run<float> none(towers, plan); });
  };
  hp::submodel_plan plan{placed({0, 1}, {2, 3}), {}};
  assert(refusal(plan) == "strategies are given for 0 groups of ranks, the table has 2");
  plan.strategy.push(hp::strategy_called("dp", 4).strategy);
  plan.strategy.push(hp::strategy_called("dp", 2).strategy);
  assert(refusal(plan) == "the strategy of group tower has 4 ranks, the group has 2");
  plan.table = placed({0, 2}, {2, 3});
  assert(refusal(plan) ==
         "groups tower and decoder share rank 2, but not all ranks: give them the same ranks, or none in common");
  plan.table = placed({0, 1}, {3, 4});
  assert(refusal(plan) == "rank 2 before group decoder is in no group: idle ranks stand behind all groups");
  plan.table = placed({1, 1}, {2, 3});
  plan.table.group[0].ranks.push(0);
  assert(refusal(plan) == "group tower has rank 0 where 2 follows: write the ranks 1 to 2, or renumber the table");
  plan = {placed({0, 1}, {0, 1}), plan.strategy};
  plan.strategy[0] = hp::strategy_called("zero1", 2).strategy;
  assert(refusal(plan) == "groups tower and decoder have the same ranks and other strategies: expected one");
  plan.table.placed[0].frozen = true;
  assert(refusal(plan) ==
         "parameter \"vision.patch.weight\" of module vision, which is frozen, has a gradient: call "
         "freeze_modules before differentiate");
}

void program_error() {
  hp::model_builder m;
  const int hidden = m.dim("hidden", 8), wide = m.dim("ffn", 4);
  const int x = m.input("x", {m.dim("batch", 4), hidden});
  const int y = m.contract("up", "*k,kn->*n", x, m.parameter("weight", {hidden, wide}));
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  hp::differentiate(m.graph);
  const hp::graph& product = m.graph;

  assert(text_of<hp::program_error>([&] {
           hp::model_run<float> run(product, hp::strategy_called("dp", 3).strategy);
         }) == "strategy \"dp\" is refused: dim_does_not_divide, axis \"dp\", operator \"up\", dim \"batch\", 4 by 3");
  hp::model_run<float> run(product, hp::strategy_called("dp", 2).strategy);
  assert(text_of<hp::program_error>([&] { run.world().get("wight"); }) ==
         "the graph has no tensor \"wight\", the nearest is \"weight\"");
  assert(text_of<hp::program_error>([&] { run.world().set("x", std::vector<float>(31)); }) ==
         "input \"x\" has 32 elements, given 31");
  assert(text_of<hp::program_error>([&] {
           hp::model_run<float> none(product, hp::strategy_called("zro3", 2).strategy);
         }).starts_with("no strategy is called \"zro3\", the nearest is \"zero3\"; there are single, dp, zero1, "));

  assert(text_of<hp::program_error>([&] {
           hp::model_run<double> none(product, hp::strategy_called("dp", 2).strategy);
         }) == "operator up (contract) has no kernel for \"x\" of f32 that computes in f64");
  hp::model_run<double> exact(hp::in_floats(product, hp::f64), hp::strategy_called("dp", 2).strategy);

  assert(text_of<hp::program_error>([&] { run.train_step([&](int) { run.set_random_inputs(1); }); }) ==
         "steps of this graph would not train it: no operator updates a parameter: call append_optimizer after "
         "differentiate");
  hp::graph not_a_rate = product;
  hp::append_optimizer(not_a_rate, {.rate = std::nan("")});
  assert(text_of<hp::program_error>([&] {
           hp::model_run<float> none(not_a_rate, hp::strategy_called("dp", 2).strategy);
         }) == "the graph is refused: the optimizer's rate is nan, expected at least 0 and finite");

  hp::model_builder text;
  const int seq = text.dim("seq", 4), ids = text.index_input("tokens", {seq});
  text.apply<hp::ops::embed>("rows", {ids, text.parameter("table", {text.dim("vocab", 32), text.dim("hidden", 8)})});
  hp::program_world<float> reader(hp::partition(text.graph, hp::strategy_called("single", 1).strategy));
  assert(text_of<hp::program_error>([&] { reader.set("tokens", std::vector<std::int32_t>{3, 1, 32, 0}); }) ==
         "input \"tokens\" is 32 at [2], expected 0 to 31 (read by operator \"rows\")");

  hp::topology_value pairs = hp::ascend_910c_die::topology;
  assert(text_of<hp::program_error>([&] {
           hp::program_world<float> linked(hp::partition(product, hp::strategy_called("dp", 4).strategy),
                                           {.topology = hp::on_topology(pairs)});
         }) ==
         "program_options::topology: link level 0, the outermost, joins 2 ranks, the program has ranks within a span "
         "of 4");
  pairs.level[0].bandwidth = 0;
  assert(text_of<hp::program_error>([&] {
           hp::program_world<float> linked(hp::partition(product, hp::strategy_called("dp", 2).strategy),
                                           {.topology = hp::on_topology(pairs)});
         }) == "program_options::topology: link level 0 is given 0 where at least 1 is expected");

  hp::model_run_options small;
  small.program.budget = {.bytes = 256, .tiers = {{hp::gigabyte, 0}}};
  const hp::strategy_value strategy = hp::strategy_called("dp", 2).strategy;
  assert(text_of<hp::program_error>([&] { hp::model_run<float> within(product, strategy, small); }) ==
         "budget of 256 bytes: the budget is too small, at least 512 are needed by move of gradient(weight) with "
         "\"gradient(weight)\" (128), \"gradient(weight)\" (128), \"x\" (64)");
  small.program.budget.tiers = {{0, 0}};
  assert(text_of<hp::program_error>([&] { hp::model_run<float> within(product, strategy, small); }) ==
         "budget of 256 bytes: the planner refuses the program: the link's bandwidth is not positive");
  small.program.budget = {.bytes = 256, .step_duration = {1000}};
  assert(text_of<hp::program_error>([&] { hp::model_run<float> within(product, strategy, small); }) ==
         "durations of 1 steps, the program has 6");

  hp::model_run_options in_tiles;
  in_tiles.program.tiles = {"experts.*"};
  assert(text_of<hp::program_error>([&] { hp::model_run<float> none(product, strategy, in_tiles); }) ==
         "tiles: \"experts.*\" names no operator of the model");
  in_tiles.program.tiles = {"up"};
  assert(text_of<hp::program_error>([&] { hp::model_run<float> none(product, strategy, in_tiles); }) ==
         "tiles: what \"up\" names is beside no move whose tiles it can follow under strategy dp");

  hp::graph trained = product;
  hp::append_optimizer(trained, {.kind = hp::optimizer_kind::sgd});
  hp::model_run_options with_checks;
  with_checks.program.execution.threads = 1;
  with_checks.program.checks.state = true;
  hp::model_run<float> checked(trained, strategy, with_checks);
  const auto feed = [&](int) { checked.set_random_inputs(1); };
  checked.train_step(feed);
  const int weight = checked.world().home_of(checked.world().tensor("weight"));
  const_cast<std::byte*>(checked.world().block_of(weight, 0))[2] ^= std::byte{1};
  assert(text_of<hp::task_error>([&] { checked.train_step(feed); }) ==
         "task 0 on rank 0: up (contract) writing up failed: "
         "\"weight\" of rank 0 is not what was written: its checksum has changed");
  with_checks.program.checks.share = 0;
  assert(text_of<hp::program_error>([&] { hp::model_run<float> none(trained, strategy, with_checks); }) ==
         "checks: one in 0 tasks cannot run twice");
}

// Memory tiers by hand: 2 KiB to work in, 4 KiB behind them.
void session_error() {
  hp::offload_session s({{"hbm", 2048}, {"dram", 4096}});
  const hp::session_tensor x = s.add("x", 1024), z = s.add("z", 4096);
  s.use(x, hp::tensor_access::overwrite);
  assert(text_of<hp::session_error>([&] { s.detach(x); }) ==
         "detach of x (1024 bytes), tier 0 (hbm): no other tier has a valid copy");
  s.store(x, 1);
  {
    const hp::use_guard reading = s.use(x);
    assert(text_of<hp::session_error>([&] { s.detach(x); }) ==
           "detach of x (1024 bytes), tier 0 (hbm): the tensor is in use");
  }
  s.detach(x);
  assert(text_of<hp::session_error>([&] { s.use(x); }) ==
         "use of x (1024 bytes), tier 0 (hbm): the tensor is not resident");
  s.prefetch(x);
  hp::packed_tensor saved = hp::save_for_backward(s, x);
  saved.unpack();
  assert(text_of<hp::session_error>([&] { saved.unpack(); }) ==
         "unpack of x (1024 bytes): the saved tensor was unpacked before");
  assert(text_of<hp::tier_error>([&] { s.use(z, hp::tensor_access::overwrite); }) ==
         "tier hbm, tensor z: the capacity is exceeded: 4096 bytes asked, 1024 bytes free, 1024 in one piece");
  assert(text_of<hp::session_error>([] { hp::offload_session none({{"hbm", 64}, {"dram", 64, {0, 0}, {1, 0}}}); }) ==
         "session, tier 1 (dram): the tier's bandwidth is not positive, or its latency is negative");
  assert(text_of<hp::copy_error>([] { hp::copy_engine none({0, 0}); }) == "copy engine: the bandwidth is not positive");
}

int main() {
  world_of_a_step();
  modules_on_groups();
  program_error();
  session_error();
  layout_error();
  operator_error();
  dtensor_error();
  move_error();
  custom_shard_error();
  rank_error();
  sharding_plan_error();
  task_error();
  unsafe_plan_error();
  deadlock_error();
  stall_error();
  bind_error();
  arena_error();
  exchange_error();
  kv_transfer_error();
  controller_error();
  io_error();
}
