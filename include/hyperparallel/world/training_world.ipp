// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of training_world.hpp; see support/compiled.hpp.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/world/training_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY model_run_options options_of_run(program_options program, const world_options& options) {
  program.execution = options.execution;
  program.measured = options.measured;
  program.overflow = options.overflow;
  return {std::move(program), options.seed};
}

}  // namespace detail

template <class Number>
struct training_world<Number>::state {
  template <class T>
  struct fed_input {
    int tensor = -1;
    std::vector<T> values{};
    std::size_t batches = 1;
  };
  template <class T>
  using fed_inputs = std::vector<fed_input<T>>;

  template <class T>
  void keep(int t, std::span<const T> values, std::size_t batches) {
    forget<T>(t);
    std::get<fed_inputs<T>>(inputs).push_back({t, {values.begin(), values.end()}, batches});
  }
  template <class T>
  void forget(int t) {
    std::erase_if(std::get<fed_inputs<T>>(inputs), [&](const fed_input<T>& fed) { return fed.tensor == t; });
  }
  template <class T>
  void set_batch(program_world<Number>& world, std::int64_t micro_batch) const {
    for (const fed_input<T>& fed : std::get<fed_inputs<T>>(inputs)) {
      const std::size_t one = fed.values.size() / fed.batches;
      const std::size_t at = static_cast<std::size_t>(micro_batch) % fed.batches;
      world.set(fed.tensor, std::span<const T>(fed.values).subspan(at * one, one));
    }
  }

  std::tuple<fed_inputs<Number>, fed_inputs<std::int32_t>> inputs{};
  std::atomic<bool> cancelled{false};
};

template <class Number>
training_world<Number>::training_world(const image_view& plan, const operator_list& operators, kernel_choice kernels,
                                       const world_options& options)
    : run_(program_of(plan, operators),
           planned_options{.kernels = kernels,
                           .execution = options.execution,
                           .measured = options.measured,
                           .overflow = options.overflow},
           options.seed),
      state_(detail::make_owned<state>()) {}
template <class Number>
training_world<Number>::training_world(sharded_program&& p, program_options program, const world_options& options)
    : run_(std::move(p), detail::options_of_run(std::move(program), options)), state_(detail::make_owned<state>()) {}
template <class Number>
training_world<Number>::training_world(const image_view& plan, const world_options& options)
    : training_world(plan, builtin_list, &kernel_of<Number>, options) {}
template <class Number>
training_world<Number>::~training_world() = default;

template <class Number>
auto training_world<Number>::feed(const std::string& name, std::span<const number> values) -> training_world& {
  return feed_any(name, values);
}
template <class Number>
auto training_world<Number>::feed(const std::string& name, std::span<const std::int32_t> values) -> training_world& {
  return feed_any(name, values);
}
template <class Number>
auto training_world<Number>::set(const std::string& name, std::span<const number> values) -> training_world& {
  run_.world().set(name, values);
  return *this;
}
template <class Number>
std::vector<Number> training_world<Number>::fetch(const std::string& name) const {
  return run_.world().get(name);
}

template <class Number>
std::vector<double> training_world<Number>::train(std::int64_t steps, const training_options& how) {
  using clock = std::chrono::steady_clock;
  const clock::time_point begin = clock::now();
  clock::time_point told = begin;
  std::vector<double> losses;
  state_->cancelled.store(false, std::memory_order_relaxed);
  while (static_cast<std::int64_t>(losses.size()) < steps && !state_->cancelled.load(std::memory_order_relaxed)) {
    const double loss = train_step(how);
    if (run_.result() == run_result::cancelled) break;
    losses.push_back(loss);
    const clock::time_point now = clock::now();
    const trained_step one{run_.steps(), static_cast<std::int64_t>(losses.size()), steps, loss,
                           std::chrono::duration<double>(now - begin).count()};
    const bool goes_on = (!how.after_step || how.after_step(one)) && one.done < steps;
    if (how.progress && (!goes_on || now - told >= std::chrono::milliseconds(how.period))) {
      how.progress(one);
      told = now;
    }
    if (!goes_on) break;
  }
  return losses;
}

template <class Number>
void training_world<Number>::cancel() noexcept {
  state_->cancelled.store(true, std::memory_order_relaxed);
  run_.world().cancel();
}

template <class Number>
template <class T>
auto training_world<Number>::feed_any(const std::string& name, std::span<const T> values) -> training_world& {
  program_world<number>& w = run_.world();
  const int t = w.tensor(name);
  const graph& g = w.program().graph;
  if (g.tensor[t].kind != graph_tensor_kind::input)
    throw program_error("\"" + name + "\" is no input but a " + name_of(g.tensor[t].kind) + ": it is not fed");
  const std::size_t one = static_cast<std::size_t>(elements_of(g.tensor[t])), batches = values.size() / one;
  if (batches < 2 || values.size() != batches * one) {
    w.set(t, values);  // says what is wrong with it
    state_->template forget<T>(t);
    return *this;
  }
  for (std::size_t b = 0; b < batches; ++b) w.set(t, values.subspan(b * one, one));  // all are checked
  state_->keep(t, values, batches);
  return *this;
}

template <class Number>
double training_world<Number>::train_step(const training_options& how) {
  const std::int64_t step = run_.steps() + 1, micro_batches = run_.model().micro_batches;
  return static_cast<double>(run_.train_step([&](int m) {
    state_->template set_batch<number>(run_.world(), (step - 1) * micro_batches + m);
    state_->template set_batch<std::int32_t>(run_.world(), (step - 1) * micro_batches + m);
    if (how.before_micro_batch) how.before_micro_batch(step, m);
  }));
}

}}  // namespace hyperparallel::v0_2
