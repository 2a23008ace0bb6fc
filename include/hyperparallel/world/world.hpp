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
// What it does is training_world.hpp; the type adds the plan, the element type and the kernels of its operators.
// Element types, moves, addresses, order and waits are those of the step's type; operators of its list bring their
// kernels. A step with a budget of memory is planned at the world's start (step_budget.hpp), as its type was. Any other whose
// plan is not asked, or refused, is one error line: `program_world` plans such a one at its start.
//
// The folder world/: programs on simulated ranks. Worlds of a step (this header), of a sharded program (program_world.hpp), of
// a graph under a strategy (model_run.hpp), of a taskflow and of MoE layers; one device without a plan (single_device.hpp);
// values by name, feeds, first values, budgets of memory. Between processes it is mpi/.

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/world/step_budget.hpp>
#include <hyperparallel/world/training_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

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

constexpr bool computes_in_f64(const image_view& image, const image_sizes& sizes) {
  for (int t = 0; t < sizes.count[image_place<graph_tensor>]; ++t)
    if (image.items<graph_tensor>()[t].type == data_type::f64) return true;
  return false;
}

/// What kernels of a planned step compute in.
template <class Planned>
using number_of_plan = std::conditional_t<computes_in_f64(Planned::image, Planned::sizes), double, float>;

template <class Planned>
constexpr bool names_operator(int number) {
  for (int o = 0; o < Planned::sizes.count[image_place<graph_operator>]; ++o)
    if (static_cast<int>(Planned::image.template items<graph_operator>()[o].kind) == number) return true;
  return false;
}

/// The kernels of the operators that a plan names.
template <class Planned, class T, class List, class Numbers>
struct named_kernels;
template <class Planned, class T, class... All, int... Number>
struct named_kernels<Planned, T, boost::mp11::mp_list<All...>, std::integer_sequence<int, Number...>> {
  template <class Operator, int N>
  static constexpr operator_kernel one() {
    if constexpr (names_operator<Planned>(N))
      return hyperparallel::kernel_of<T, Operator>();
    else
      return nullptr;
  }
  static constexpr operator_kernel item[] = {one<All, Number>()...};
};

/// What runs a plan, for worlds: the library's kernels in compiled mode, else those of the plan's operators alone.
template <class Planned, class T, class Operators>
operator_kernel kernels_of_plan(operator_id op) {
  if constexpr (is_compiled) {
    return kernels_of<T, Operators>(op);
  } else {
    using list = typename Operators::types;
    constexpr int count = static_cast<int>(boost::mp11::mp_size<list>::value);
    const int number = static_cast<int>(op);
    using kernels = named_kernels<Planned, T, list, std::make_integer_sequence<int, count>>;
    return number >= 0 && number < count ? kernels::item[number] : nullptr;
  }
}

/// Whether a model has tensors of f64; gradients and states have the types of what they belong to.
template <class Step>
constexpr bool builds_f64() {
  for (const graph_tensor& t : build_model<typename Step::model>(Step::evaluated::settings().build).tensor)
    if (t.type == data_type::f64) return true;
  return false;
}

/// What runs in the world of a step. A refused step has said why.
enum class world_plan : unsigned char { none, of_type, of_start };

template <class Step>
constexpr world_plan plan_of_world() {
  if constexpr (is_refused_step<Step>)
    return world_plan::none;
  else if constexpr (Step::offload.budget > 0)
    return world_plan::of_start;
  else
    return Step::verified ? world_plan::of_type : world_plan::none;
}

template <class Step>
using operators_of_step = typename operators_among<typename Step::options>::type;
template <class Step>
inline constexpr bool is_builtin_step = std::is_same_v<operators_of_step<Step>, operators<builtin>>;

}  // namespace detail

template <class Step, detail::world_plan Plan = detail::plan_of_world<Step>()>
class world : public training_world<detail::number_of_plan<typename Step::planned>> {
  using base = training_world<detail::number_of_plan<typename Step::planned>>;
  using operators = detail::operators_of_step<Step>;
  static constexpr bool is_in_library = is_compiled && detail::is_builtin_step<Step>;

 public:
  /// Throws program_error, std::bad_alloc.
  explicit world(const world_options& options = {})
    requires is_in_library
      : base(Step::planned::image, options) {}
  explicit world(const world_options& options = {})
    requires(!is_in_library)
      : base(Step::planned::image, operators::list,
             &detail::kernels_of_plan<typename Step::planned, typename base::number, operators>, options) {}
};

/// A step with a budget of memory.
template <class Step>
class world<Step, detail::world_plan::of_start>
    : public training_world<std::conditional_t<detail::builds_f64<Step>(), double, float>> {
  using base = training_world<std::conditional_t<detail::builds_f64<Step>(), double, float>>;

 public:
  /// Throws program_error, also where the addresses cannot be kept within the budget; std::bad_alloc.
  explicit world(const world_options& options = {}) : world(Step::evaluated::unrolled(), options) {}

 private:
  world(sharded_program&& p, const world_options& options) : base(std::move(p), options_for(p), options) {}
  static program_options options_for(const sharded_program& p) {
    program_options o = options_of_step<Step>(p);
    if constexpr (!detail::is_builtin_step<Step>)
      o.kernels = &kernels_of<typename base::number, detail::operators_of_step<Step>>;
    return o;
  }
};

/// A step that is not proved: one error line, and none for what is done with its world.
template <class Step>
class world<Step, detail::world_plan::none> {
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
