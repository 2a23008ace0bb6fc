// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a step of training as the compiler has planned it: on simulated ranks, on threads.
//
//   using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384>;
//   static_assert(step::verified);                       // of the very plan that runs
//   hp::world<step> world;                               // nothing is planned here
//   world.feed("tokens", tokens).feed("labels", labels);
//   for (double loss : world.train(1000)) …
//   world.fetch("layers.3.attention.query.weight")
//
// Element types, moves, addresses, order and waits are those of the step's type; operators of its list bring their
// kernels. Parameters begin as first_values.hpp says, which depends on the seed alone, not on the strategy. Values fed of
// several micro-batches are taken in turn.
// Laws: the same step gives the same bits on any number of threads, and those of `program_world` on the same program; a
// step that ends in an error or is cancelled has not happened to `steps()`. Errors are program_error and name the tensor.
// A step whose plan is not asked, or refused, is one error line: `program_world` plans such a one at its start.
// Complexity: start O(values + tasks) beyond filling memory.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/program/training_step.hpp>
#include <hyperparallel/runtime/model_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct world_options {
  executor_options execution{};
  std::uint64_t seed = 1;                                ///< of first values
  overflow_response overflow = overflow_response::stop;  ///< to a gradient of 16 bits that is not finite
  bool measured = false;                                 ///< `program_world::step_durations` can be asked for
};

/// The figures that hooks get after a step of training.
struct trained_step {
  std::int64_t step = 0;          ///< done in all, from 1
  std::int64_t done = 0, of = 0;  ///< of this call of `train`
  double loss = 0;
  double seconds = 0;  ///< since that call began
};

struct training_options {
  /// Called before each micro-batch, which it may feed. `step` counts from 1.
  std::function<void(std::int64_t step, int micro_batch)> before_micro_batch{};
  /// Called after each step, for checkpoints, validation, rates; false ends the training.
  std::function<bool(const trained_step&)> after_step{};
  /// Called after the first step that ends `period` milliseconds after the last call, and after the last one.
  std::function<void(const trained_step&)> progress{};
  std::int64_t period = 1000;
};

namespace detail {

/// The operators that the options of a step name.
template <class Options>
struct operators_among;
template <class... Options>
struct operators_among<boost::mp11::mp_list<Options...>> {
  using type = operators<builtin>;
};
template <class... Own, class... Rest>
struct operators_among<boost::mp11::mp_list<operators<Own...>, Rest...>> {
  using type = operators<Own...>;
};
template <class First, class... Rest>
struct operators_among<boost::mp11::mp_list<First, Rest...>> : operators_among<boost::mp11::mp_list<Rest...>> {};

template <class Image>
constexpr bool computes_in_f64(const Image& image, int tensors) {
  for (int t = 0; t < tensors; ++t)
    if (image.template items<graph_tensor>()[t].type == data_type::f64) return true;
  return false;
}

/// Whether the step has a plan that may run. A refused step has said why.
template <class Step>
constexpr bool may_run() {
  if constexpr (is_refused_step<Step>)
    return false;
  else
    return static_cast<bool>(Step::verified);
}

}  // namespace detail

template <class Step, bool MayRun = detail::may_run<Step>()>
class world {
  using planned = typename Step::planned;

 public:
  /// What kernels compute in, and what values are fed and fetched in.
  using number = std::conditional_t<
      detail::computes_in_f64(planned::image, planned::sizes.count[detail::image_place<graph_tensor>]), double, float>;

  /// Throws program_error, std::bad_alloc.
  explicit world(const world_options& options = {}) : run_(program_of(planned::image), options_of(options)) {}

  // ---- values ----

  /// The input of this name, for all steps from here on: of one micro-batch, or of several, one after the other, which
  /// are taken in turn. Throws program_error where there is no such input, and for other sizes and types.
  world& feed(const std::string& name, std::span<const number> values) { return feed_any(name, values, floats_); }
  world& feed(const std::string& name, std::span<const std::int32_t> values) {
    return feed_any(name, values, numbers_);
  }
  /// The whole value of a parameter or a state.
  world& set(const std::string& name, std::span<const number> values) {
    run_.world().set(name, values);
    return *this;
  }
  /// The whole tensor of this name as it is: a parameter, a state, an input, or what the step keeps.
  std::vector<number> fetch(const std::string& name) const { return run_.world().get(name); }

  // ---- training ----

  /// Up to so many steps; the loss of each, before its update. Ends before that where a hook says so or `cancel` is
  /// called. Throws program_error where an input has no value, and what kernels and hooks throw.
  std::vector<double> train(std::int64_t steps, const training_options& how = {}) {
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    clock::time_point told = begin;
    std::vector<double> losses;
    cancelled_.store(false, std::memory_order_relaxed);
    while (static_cast<std::int64_t>(losses.size()) < steps && !cancelled_.load(std::memory_order_relaxed)) {
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
  /// Ends a training that goes on in another thread: the step that runs does not count.
  void cancel() noexcept {
    cancelled_.store(true, std::memory_order_relaxed);
    run_.world().cancel();
  }
  std::int64_t steps() const { return run_.steps(); }
  /// Steps done before, of a training that goes on from a checkpoint.
  void set_steps(std::int64_t done) { run_.set_steps(done); }
  std::int64_t skipped() const { return run_.skipped(); }

  /// The training below: its model, `run().world()` for what it took and who received what, checkpoints.
  model_run<number>& run() { return run_; }
  const model_run<number>& run() const { return run_; }

 private:
  template <class T>
  struct fed_input {
    std::vector<T> values;
    std::size_t batches = 1;
  };
  template <class T>
  using fed_inputs = std::map<int, fed_input<T>>;

  static model_run_options options_of(const world_options& o) {
    model_run_options all;
    all.seed = o.seed;
    all.program.execution = o.execution;
    all.program.kernels = &kernels_of<number, typename detail::operators_among<typename Step::options>::type>;
    all.program.measured = o.measured;
    all.program.overflow = o.overflow;
    return all;
  }

  template <class T>
  world& feed_any(const std::string& name, std::span<const T> values, fed_inputs<T>& kept) {
    program_world<number>& w = run_.world();
    const int t = w.tensor(name);
    const graph& g = w.program().graph;
    if (g.tensor[t].kind != graph_tensor_kind::input)
      throw program_error("\"" + name + "\" is no input but a " + name_of(g.tensor[t].kind) + ": it is not fed");
    const std::size_t one = static_cast<std::size_t>(elements_of(g.tensor[t])), batches = values.size() / one;
    if (batches < 2 || values.size() != batches * one) {
      w.set(t, values);  // says what is wrong with it
      kept.erase(t);
      return *this;
    }
    for (std::size_t b = 0; b < batches; ++b) w.set(t, values.subspan(b * one, one));  // all are checked
    kept[t] = {{values.begin(), values.end()}, batches};
    return *this;
  }

  template <class T>
  void set_batch(const fed_inputs<T>& inputs, std::int64_t micro_batch) {
    for (const auto& [t, fed] : inputs) {
      const std::size_t one = fed.values.size() / fed.batches;
      const std::size_t at = static_cast<std::size_t>(micro_batch) % fed.batches;
      run_.world().set(t, std::span<const T>(fed.values).subspan(at * one, one));
    }
  }

  double train_step(const training_options& how) {
    const std::int64_t step = run_.steps() + 1, micro_batches = run_.model().micro_batches;
    return static_cast<double>(run_.train_step([&](int m) {
      set_batch(floats_, (step - 1) * micro_batches + m);
      set_batch(numbers_, (step - 1) * micro_batches + m);
      if (how.before_micro_batch) how.before_micro_batch(step, m);
    }));
  }

  model_run<number> run_;
  fed_inputs<number> floats_;
  fed_inputs<std::int32_t> numbers_;
  std::atomic<bool> cancelled_{false};
};

/// A step that is not proved: one error line, and none for what is done with its world.
template <class Step>
class world<Step, false> {
  static_assert(proved<Step>::met);

 public:
  using number = float;
  explicit world(const world_options& = {}) {}
  template <class Values>
  world& feed(const std::string&, const Values&) {
    return *this;
  }
  template <class Values>
  world& set(const std::string&, const Values&) {
    return *this;
  }
  std::vector<number> fetch(const std::string&) const { return {}; }
  std::vector<double> train(std::int64_t, const training_options& = {}) { return {}; }
  void cancel() noexcept {}
  std::int64_t steps() const { return 0; }
};

}}  // namespace hyperparallel::v0_2
