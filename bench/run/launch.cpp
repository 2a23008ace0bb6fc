// SPDX-License-Identifier: Apache-2.0
// What it costs to launch a step as one plan, beside launching it operator by operator through the same executor.
//
//   bench_launch [rounds]      default: 31
//
// The forward pass of 61 layers with 10 operators each, tensor parallel on 2, 4 and 8 ranks, is lowered and proved. Its
// kernels do nothing, so that the time is that of launching. Both run in turn in every round, on two threads:
//   one plan                one run of all tasks; what waits for what was planned
//   operator by operator    one run for each operator, and for each step of a move: a task on every rank, and nobody begins
//                           the next one before all have ended. That plan is bound once, and always the same.
// Before it is timed, each runs once with kernels that count: both run every task of every rank.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/program_proof.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategies.hpp>

#include "../../examples/command_line.hpp"
#include "alternating.hpp"

namespace {

namespace hp = hyperparallel;

constexpr int layers = 61, operators_of_layer = 10, threads = 2;
constexpr double most = 1.0 / 3;

hp::graph small_layers() {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 1), seq = m.dim("seq", 8), hidden = m.dim("hidden", 8);
  const int x = m.input("x", {batch, seq, hidden});
  m.repeat("layers", layers, x, [](hp::model_builder& b, int y) {
    const int gated = hp::swiglu_layer{.name = "gated", .width = 8}(b, hp::rms_norm_layer{"gated_norm"}(b, y));
    const int sum = b.sum("sum", y, gated);
    return hp::gelu_layer{.name = "plain", .width = 8}(b, hp::rms_norm_layer{"plain_norm"}(b, sum));
  });
  if (m.graph.op.size != layers * operators_of_layer) throw std::runtime_error("a layer has not ten operators");
  return m.graph;
}

hp::sharded_program on_ranks(int ranks) {
  hp::strategy_value s;
  s.name = "tensor parallel";
  s.mesh.shape = {1, {ranks}};
  s.mesh.label[0] = "tp";
  hp::add_tensor_parallel(s, "tp");
  const hp::sharded_program p = hp::partition(small_layers(), s);
  if (p.status.code != hp::strategy_code::ok) throw std::runtime_error(hp::name_of(p.status.code));
  return p;
}

hp::program_plan plan_of(const hp::sharded_program& p) {
  const hp::program_pulls pulls = hp::pulls_of(p);
  const hp::program_addresses addresses = hp::plan_addresses(p, pulls.moves);
  const hp::program_flow_options how;
  const hp::program_plan plan = hp::lower_program(p, pulls, addresses, how);
  if (plan.status.code != hp::program_flow_code::ok) throw std::runtime_error(hp::to_text(plan.status.code));
  const hp::program_proof proof = hp::prove_program(p, pulls, addresses, how.phases, plan.machine, hp::table_of(plan));
  if (proof.code != hp::program_proof_code::ok) throw std::runtime_error(hp::to_text(proof.code));
  return plan;
}

/// One task on every rank.
hp::program_plan plan_of_one_operator(int ranks) {
  hp::program_plan plan;
  plan.machine.ranks = ranks;
  plan.machine.queues[static_cast<int>(hp::resource::aic)] = 1;
  plan.row.push({});
  plan.duration.resize(ranks, 0);
  plan.wait_end.resize(ranks, 0);
  return plan;
}

std::atomic<int> counted{0};
void count_kernel(const hp::kernel_call&) { ++counted; }
void empty_kernel(const hp::kernel_call&) {}

/// An executor of a plan that has been proved, or has nothing to prove.
class launched {
 public:
  explicit launched(const hp::program_plan& plan) : launched(hp::table_of(plan)) {}
  void bind(hp::kernel k) {
    for (int o = first_; o < first_ + operations_; ++o) executor_.bind(o, k);
  }
  void run() { executor_.run(); }

 private:
  explicit launched(hp::grown_execution_table&& t)
      : first_(t.first_operation),
        operations_(t.operations),
        executor_(hp::unchecked, hp::bound_plan(std::move(t)), {.threads = threads}) {}

  int first_, operations_;
  hp::executor<> executor_;
};

template <class Run>
void check(const char* name, int tasks, const Run& run) {
  counted = 0;
  run();
  if (counted != tasks) throw std::runtime_error(std::string(name) + " has not run every task once");
}

void measure(int ranks, int rounds, bench::quiet_gate& gate) {
  const hp::sharded_program p = on_ranks(ranks);
  const hp::program_plan plan = plan_of(p);
  launched whole(plan), one(plan_of_one_operator(ranks));
  const auto as_one_plan = [&] { whole.run(); };
  const auto one_by_one = [&] {
    for (int row = 0; row < plan.row.size; ++row) one.run();
  };
  whole.bind(&count_kernel);
  one.bind(&count_kernel);
  check("one plan", plan.tasks(), as_one_plan);
  check("operator by operator", plan.tasks(), one_by_one);
  whole.bind(&empty_kernel);
  one.bind(&empty_kernel);

  bench::alternation both(gate);
  const std::size_t single = both.add([&] { return bench::time_ns(one_by_one) / 1e6; }),
                    linked = both.add([&] { return bench::time_ns(as_one_plan) / 1e6; });
  both.run(rounds);
  const double ratio = both.median(linked) / both.median(single);
  std::printf("%d ranks: %d operators, %d steps of moves, %d tasks, %d waits\n", ranks, p.compute.size,
              plan.row.size - p.compute.size, plan.tasks(), plan.wait.size);
  std::printf("  %-22s %8.3f ms (%.3f)\n", "operator by operator", both.median(single), both.minimum(single));
  std::printf("  %-22s %8.3f ms (%.3f)\n", "one plan", both.median(linked), both.minimum(linked));
  std::printf("  %-22s %8.3f    (%.3f)  at most %.3f  %s\n", "ratio", ratio,
              both.minimum(linked) / both.minimum(single), most, ratio <= most ? "met" : "MISSED");
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 31;
  command_line::program app("A step launched as one plan, beside operator by operator.", "bench_launch");
  app.add_option("rounds", rounds, "samples of each").check(command_line::whole(1, 1'000'000));
  return command_line::run(app, argc, argv, [&] {
    if (hp::allowed_cores().size() < threads) throw std::runtime_error("this bench needs two cores");
    bench::quiet_gate gate(30);
    std::printf("a forward pass of %d layers with %d operators each, %d threads, %d rounds: median (minimum)\n", layers,
                operators_of_layer, threads, rounds);
    for (const int ranks : {2, 4, 8}) measure(ranks, rounds, gate);
    std::printf("%d samples, %d of them while another task wanted a core\n", gate.samples(), gate.disturbed());
    return 0;
  });
}
