// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as a type: generated, proved and timed by the compiler.
//
//   using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<8>, hp::micro_batches<16>>;
//   static_assert(plan::bubble == 3 && plan::peak_activations <= 8);
//
// A schedule that does not exist in this shape, or that would never end, is one error line.

#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/pipeline_refusal.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/support/lazy_reference.hpp>
#include <hyperparallel/support/withheld.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// S stages in all, numbered from the model's input.
template <int S>
struct stages {
  static constexpr void apply(pipeline_request& p) { p.stages = S; }
};
template <int M>
struct micro_batches {
  static constexpr void apply(pipeline_request& p) { p.micro_batches = M; }
};
/// V stages on each rank (Megatron's model chunks, virtual stages).
template <int V>
struct chunks {
  static constexpr void apply(pipeline_request& p) { p.chunks = V; }
};
/// Times of F, I and W of each stage, and latency of a hop between ranks; 1, 1, 1 and 0 unless given.
template <std::int64_t F, std::int64_t I, std::int64_t W, std::int64_t Latency = 0>
struct equal_times {
  static constexpr void apply(pipeline_request& p) {
    p.costs.times.clear();
    p.costs.times.push({F, I, W});
    p.costs.latency = Latency;
  }
};
/// Time of an overlapped F and B of one rank together.
template <std::int64_t Time>
struct overlapped_time {
  static constexpr void apply(pipeline_request& p) { p.costs.overlapped_pair = Time; }
};
/// Bytes of a stage's activation of one micro-batch: those that I ends, those that W ends.
template <std::int64_t UntilInputGradient, std::int64_t UntilWeightGradient = 0>
struct activation_bytes {
  static constexpr void apply(pipeline_request& p) {
    p.costs.bytes.clear();
    p.costs.bytes.push({UntilInputGradient, UntilWeightGradient});
  }
};

/// Proves and times the pipeline with its transfers under a transport: `over<blocking_rows>`. Transfers of a schedule that lists
/// none are put where `place_transfers` puts them.
template <class Transport>
struct over {
  static constexpr void apply(pipeline_request& p) { p.over = Transport::value; }
};

namespace detail {

/// The shape that the options ask for, and why it is none.
struct requested_shape {
  pipeline_shape shape{};
  pipeline_status status{};
};

template <class Schedule, class... Options>
struct evaluated_pipeline {
  static constexpr pipeline_request request() {
    pipeline_request p;
    (Options::apply(p), ...);
    if (p.chunks == 0) p.chunks = fixed_chunks_of<Schedule>() > 0 ? fixed_chunks_of<Schedule>() : 1;
    return p;
  }
  static constexpr requested_shape shape_of() {
    const pipeline_request p = request();
    requested_shape r;
    if (p.stages < 1 || p.chunks < 1 || p.micro_batches < 1)
      r.status.code = pipeline_code::sizes_are_not_positive;
    else if (p.stages % p.chunks != 0)
      r.status = pipeline_status{.code = pipeline_code::stages_do_not_divide, .needed = p.chunks};
    r.shape = {p.chunks < 1 ? p.stages : p.stages / p.chunks, p.chunks, p.micro_batches};
    if (r.status.ok()) r.status = check_shape_of<Schedule>(r.shape);
    return r;
  }
  static constexpr int stages = request().stages;
  static constexpr requested_shape requested = shape_of();
  static constexpr pipeline_shape shape = requested.status.ok() ? requested.shape : pipeline_shape{};

  static constexpr int entries(const pipeline_shape& n) {
    if constexpr (requires { Schedule::entries(n); })
      return Schedule::entries(n);
    else
      return 3 * n.stages() * n.micro_batches;
  }
  template <pipeline_shape Shape>
  using sizes_of = fixed_pipeline_sizes<Shape, entries(Shape)>;
  using sizes = sizes_of<shape>;
  using account_type = basic_pipeline_account<sizes>;
  /// Law: nothing asks for the rows of a shape that the schedule does not have.
  static constexpr basic_pipeline_schedule<sizes> rows = generate<Schedule, sizes>(shape);
  static constexpr bool has_transport() { return request().over.kind != transport_kind::unbounded; }
  static constexpr int first_bodies() { return bodies_at_first(request().costs, shape); }
  static constexpr account_type evaluate() {
    if constexpr (!requested.status.ok()) {
      account_type refused;
      refused.status = requested.status;
      return refused;
    } else if constexpr (has_transport()) {
      return evaluate_over(request());
    } else {
      return evaluate_with<first_bodies()>();
    }
  }
  /// A variable, since a local one is evaluated once more by what returns it.
  template <int Bodies, pipeline_shape Few, pipeline_shape More>
  static constexpr auto extrapolated =
      extrapolate<Schedule, sizes_of<Few>, sizes_of<More>>(shape, Few, Bodies, request().costs);
  /// By a replay with `Bodies`, or as many as that asks for, where bodies move alike; otherwise in full.
  template <int Bodies>
  static constexpr account_type evaluate_with() {
    constexpr pipeline_shape few = shape_to_replay<Schedule>(shape, Bodies);
    if constexpr (few == shape) {
      return replay(rows, request().costs);
    } else {
      constexpr pipeline_shape more = one_period_more<Schedule>(shape, few);
      if constexpr (extrapolated<Bodies, few, more>.complete)
        return taken(extrapolated<Bodies, few, more>.account);
      else
        return evaluate_with<extrapolated<Bodies, few, more>.next_bodies>();
    }
  }
  /// An account with the sizes of another number of micro-batches.
  static constexpr account_type taken(const auto& other) {
    account_type a;
    a.status = other.status;
    a.makespan = other.makespan;
    a.longest_rank_span = other.longest_rank_span;
    a.ideal = other.ideal;
    a.rank = other.rank;
    return a;
  }
  /// Rows that `place_transfers` makes are in order by its law, so their messages are not checked.
  static constexpr account_type evaluate_over(const pipeline_request& asked) {
    if (holds_transfers(rows)) return replay(rows, asked.costs, asked.over);
    account_type a;
    a.status = check_schedule(rows);
    if (!a.ok()) return a;
    using with_transfers = fixed_pipeline_sizes<shape, entries_with_transfers(shape, entries(shape))>;
    const auto placed = place_transfers<with_transfers>(rows);
    return taken(pipeline_replay<with_transfers>(placed, asked.costs, asked.over, nullptr).run());
  }
  static constexpr account_type account = evaluate();
};

/// What a pipeline without a schedule says, so that no second error follows.
struct pipeline_without_schedule {
  static constexpr pipeline_shape shape{};
  static constexpr int ranks = 1;
  static constexpr basic_pipeline_account<fixed_pipeline_sizes<pipeline_shape{}>> account{
      .status = {pipeline_code::sizes_are_not_positive}};
  static constexpr withheld makespan{}, ideal{}, bubble{}, bubble_of_span{}, peak_activations{}, peak_bytes{};
};

}  // namespace detail

/// Whether the schedule exists in this shape, holds each action once and never waits for ever.
template <class Schedule, class... Options>
concept valid_pipeline = schedule_generator<Schedule> && (pipeline_option<Options> && ...) &&
                         detail::evaluated_pipeline<Schedule, Options...>::account.ok();

/// `pipeline<Schedule, options…>`. An argument of another kind is one error line.
template <class Schedule, class... Options>
struct pipeline : detail::pipeline_without_schedule {
  static_assert(insist<typename detail::pipeline_arguments_verdict<Schedule, Options...>::type>::met);
};

namespace detail {

template <class Schedule>
constexpr bool ends_under(const pipeline_shape& n, transport t) {
  pipeline_schedule s = generate<Schedule>(n);
  if (!holds_transfers(s)) s = place_transfers(s);
  return check_schedule(s, t).ok();
}

}  // namespace detail

/// Whether the pipeline ends under `Transport` too: with the transfers that its schedule lists, or, where it lists none, with
/// those that `place_transfers` puts, which end under every transport.
template <class Pipeline, class Transport>
inline constexpr bool deadlock_free =
    detail::ends_under<typename Pipeline::schedule>(Pipeline::shape, Transport::value);

/// Of a refused pipeline the amounts are withheld: no assertion about them fails.
template <schedule_generator Schedule, pipeline_option... Options>
struct pipeline<Schedule, Options...> {
  using schedule = Schedule;
  using evaluated = detail::evaluated_pipeline<Schedule, Options...>;
  static_assert(insist<typename detail::pipeline_verdict<Schedule, evaluated>::type>::met);

  static constexpr bool is_accepted = evaluated::account.ok();
  static constexpr pipeline_shape shape = evaluated::shape;
  static constexpr int ranks = shape.ranks;
  /// Times, bubbles and peaks, also by rank.
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(typename evaluated::account_type) account = evaluated::account;
  static constexpr kept_if<is_accepted, std::int64_t> makespan = account.makespan;
  static constexpr kept_if<is_accepted, std::int64_t> ideal = account.ideal;
  /// Makespan less ideal; `bubble_of_span` is that of the zero-bubble papers.
  static constexpr kept_if<is_accepted, std::int64_t> bubble = account.bubble();
  static constexpr kept_if<is_accepted, std::int64_t> bubble_of_span = account.bubble_of_span();
  /// Most activations of a rank, in chunks of one micro-batch, each from F until W or B.
  static constexpr kept_if<is_accepted, int> peak_activations = account.peak_until_weight_gradient();
  static constexpr kept_if<is_accepted, std::int64_t> peak_bytes = account.peak_bytes();

  /// The schedule itself: its actions by rank.
  static constexpr auto make() { return evaluated::rows; }
};

}}  // namespace hyperparallel::v0_2
