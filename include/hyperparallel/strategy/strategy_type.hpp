// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategies as types: `strategy<mesh, data_parallel<"dp">, tensor_parallel<"tp">, pin<"*.norm.weight", none>>`.
//
// A part is any type with `static constexpr void add(strategy_value&)`; parts are added in order, see strategies.hpp
// for what the order means. Whether a strategy fits a model is asked where both are known, see training_step.hpp.

#include <type_traits>

#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/strategy/strategies.hpp>
#include <hyperparallel/support/diagnostic.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <fixed_string Axis>
struct data_parallel {
  static constexpr void add(strategy_value& s) { add_data_parallel(s, Axis.text); }
};
/// ZeRO stage 1, 2 or 3.
template <fixed_string Axis, int Stage = 3>
struct fully_sharded {
  static_assert(Stage >= 1 && Stage <= 3, "ZeRO has the stages 1, 2 and 3");
  static constexpr void add(strategy_value& s) { add_zero(s, Axis.text, Stage); }
};
template <fixed_string Replicate, fixed_string Shard, int Level = 3>
struct hybrid_sharded {
  static_assert(Level >= 1 && Level <= 3, "hybrid sharding has the levels 1, 2 and 3");
  static constexpr void add(strategy_value& s) { detail::add_hybrid_sharded(s, Replicate.text, Shard.text, Level); }
};
template <fixed_string Axis>
struct tensor_parallel {
  static constexpr void add(strategy_value& s) { add_tensor_parallel(s, Axis.text); }
};
/// Between the blocks of tensor parallelism: comes after it.
template <fixed_string Axis>
struct sequence_parallel {
  static constexpr void add(strategy_value& s) { detail::add_sequence_parallel(s, Axis.text); }
};
template <fixed_string Axis>
struct vocabulary_parallel {
  static constexpr void add(strategy_value& s) { detail::add_vocabulary_parallel(s, Axis.text); }
};
template <fixed_string X, fixed_string Y>
struct tensor_parallel_2d {
  static constexpr void add(strategy_value& s) { detail::add_tensor_2d(s, X.text, Y.text); }
};
template <fixed_string Row, fixed_string Column>
struct summa_parallel {
  static constexpr void add(strategy_value& s) { detail::add_summa(s, Row.text, Column.text); }
};

enum class context_method : unsigned char { gathered, all_to_all, ring };

template <fixed_string Axis, context_method Method = context_method::gathered>
struct context_parallel {
  static constexpr void add(strategy_value& s) {
    if (Method == context_method::ring) return detail::add_ring(s, Axis.text);
    if (Method == context_method::all_to_all) return detail::add_ulysses(s, Axis.text);
    detail::add_gathered_context(s, Axis.text);
  }
};
/// Comes before the parallelism that shards tokens along the axis.
template <fixed_string Axis>
struct expert_parallel {
  static constexpr void add(strategy_value& s) { add_expert_parallel(s, Axis.text); }
};
template <fixed_string Axis>
struct replicated_expert_parallel {
  static constexpr void add(strategy_value& s) { detail::add_replicated_expert_parallel(s, Axis.text); }
};

/// Operators whose names match are cut along their output, or along what they sum over.
template <fixed_string Pattern, fixed_string Axis>
struct column_parallel {
  static_assert(detail::text_length(Pattern.text) <= short_text::capacity, "a pattern has at most 31 characters");
  static constexpr void add(strategy_value& s) { detail::add_column_parallel(s, Pattern.text, Axis.text); }
};
template <fixed_string Pattern, fixed_string Axis>
struct row_parallel {
  static_assert(detail::text_length(Pattern.text) <= short_text::capacity, "a pattern has at most 31 characters");
  static constexpr void add(strategy_value& s) { detail::add_row_parallel(s, Pattern.text, Axis.text); }
};

/// Tensors whose names match have this layout: an axis or `none` for each dim.
template <fixed_string Pattern, map_entry... Entries>
struct pin {
  static_assert(sizeof...(Entries) <= max_pinned_dims, "a pinned tensor has at most four dims");
  static_assert(detail::text_length(Pattern.text) <= short_text::capacity, "a pattern has at most 31 characters");
  static constexpr void add(strategy_value& s) {
    strategy_pin p{short_text(Pattern.text), static_cast<int>(sizeof...(Entries)), {}};
    int d = 0;
    ((p.axis[d++] = short_text(Entries.text)), ...);
    s.add(p);
  }
};

/// Gradients wait for the update, so micro-batches reduce them once.
struct reduce_at_update {
  static constexpr void add(strategy_value& s) { s.reduce_at_once = false; }
};
/// Moved activations stay for backward.
struct keep_moved_activations {
  static constexpr void add(strategy_value& s) { s.keep_moved = true; }
};

/// A part of a strategy: any type that adds rules.
template <class Part>
concept strategy_part = requires(strategy_value& s) { Part::add(s); };

namespace diag {
template <class Given>
struct first_argument_of_a_strategy_is_no_mesh;
template <class Given>
struct part_of_a_strategy_is_no_part;
}  // namespace diag

namespace detail {

/// The first part that is none.
template <class... Parts>
struct strategy_parts_verdict {
  using type = accepted;
};
template <class Part, class... Rest>
struct strategy_parts_verdict<Part, Rest...> {
  using type = diag::part_of_a_strategy_is_no_part<Part>;
};
template <strategy_part Part, class... Rest>
struct strategy_parts_verdict<Part, Rest...> : strategy_parts_verdict<Rest...> {};

template <class Mesh, class... Parts>
struct strategy_verdict {
  using type = diag::first_argument_of_a_strategy_is_no_mesh<Mesh>;
};
template <mesh_type Mesh, class... Parts>
struct strategy_verdict<Mesh, Parts...> : strategy_parts_verdict<Parts...> {};

/// A device matrix says itself why it is none.
template <class Mesh>
constexpr bool is_refused_mesh() {
  if constexpr (requires { Mesh::status.code == mesh_code::ok; })
    return Mesh::status.code != mesh_code::ok;
  else
    return false;
}

}  // namespace detail

/// `strategy<mesh, parts…>`: a first argument that is no mesh, or a part that is none, is one error line. Refused, or of
/// a device matrix that is, it is that of one device, so that no error of a model follows.
template <class Mesh, class... Parts>
struct strategy {
  using verdict = typename detail::strategy_verdict<Mesh, Parts...>::type;
  static_assert(insist<verdict>::met);
  using mesh = Mesh;
  static constexpr strategy_value make() {
    strategy_value s;
    if constexpr (std::is_same_v<verdict, accepted> && !detail::is_refused_mesh<Mesh>()) {
      s.mesh = Mesh::value;
      (Parts::add(s), ...);
    } else {
      s.mesh = device_matrix<axis{"replica", 1}>::value;
    }
    return s;
  }
  static constexpr strategy_value value = make();
};

/// Any type with a `strategy_value` called `value`.
template <class Strategy>
concept strategy_type = requires {
  { Strategy::value.rule.size };
  { Strategy::value.mesh.shape.axis_count };
};

}}  // namespace hyperparallel::v0_2
