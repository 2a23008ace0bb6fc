// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds a graph: what a model's `build` function talks to.
//
//   struct mlp {
//     static constexpr void build(hp::model_builder& m) {
//       const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 64), wide = m.dim("wide", 256);
//       const int x = m.input("x", {batch, hidden});
//       const int up = m.parameter("up", {hidden, wide});
//       const int h = m.contract("first", "*k,kn->*n", x, up);
//       …
//
// Tensors and dims are plain numbers. A mistake does not stop the build: the first one is kept in `graph::status` with
// the operator's and tensor's names, and later calls go on with what they can. The same function builds in a constant
// evaluation and at run time.

#include <hyperparallel/graph/build_options.hpp>
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/tensor_names.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace hyperparallel { inline namespace v0_2 {

class model_builder {
 public:
  hyperparallel::graph graph;
  build_options options{};

  constexpr model_builder() = default;
  constexpr explicit model_builder(const build_options& o) : options(o) { graph.operators = o.operators; }

  /// The dim of that name, made on first use. Fails where it was given another extent, or one that is not positive; it
  /// then has the extent 1, so that what follows can be built.
  constexpr int dim(const char* name, extent_t extent) {
    if (extent < 1) {
      graph.fail({graph_code::dim_is_not_positive, -1, add_text(graph, name), 0, 0, extent});
      extent = 1;
    }
    const int known = detail::find_dim(graph, name);
    if (known < 0) return graph.dim.push({add_text(graph, name), extent});
    if (graph.dim[known].extent != extent)
      graph.fail({graph_code::dim_has_two_extents, -1, graph.dim[known].name, 0, 0, extent, graph.dim[known].extent});
    return known;
  }
  constexpr extent_t extent_of(int d) const { return graph.dim[d].extent; }

  constexpr int input(const char* name, const number_list& dims) {
    return add_tensor(name, options.activation, graph_tensor_kind::input, dims);
  }
  /// Numbers of rows, labels.
  constexpr int index_input(const char* name, const number_list& dims) {
    return add_tensor(name, data_type::i32, graph_tensor_kind::input, dims);
  }
  constexpr int parameter(const char* name, const number_list& dims, first_value first = first_value::by_reader) {
    const int t = add_tensor(name, options.parameter, graph_tensor_kind::parameter, dims);
    graph.tensor[t].first = first;
    return t;
  }
  /// What lives on from step to step without a gradient: `source` is the parameter it belongs to, or -1.
  constexpr int state(const char* name, data_type type, const number_list& dims, int source = -1) {
    const int t = add_tensor(name, type, graph_tensor_kind::state, dims);
    graph.tensor[t].source = source;
    return t;
  }

  /// Adds an operator and its results; the first result, the others follow it.
  constexpr int apply(operator_id kind, const char* name, const number_list& operands,
                      const operator_options& how = {}) {
    graph_operator o;
    o.kind = kind;
    o.phase = graph_phase::forward;
    o.name = scoped(name);
    o.segment = segment_;
    o.reduction = how.reduction;
    for (int i = 0; i < 2; ++i) o.integer[i] = how.integer[i];
    for (int i = 0; i < 5; ++i) o.real[i] = how.real[i];
    if (!graph.operators.has(kind)) {
      graph.fail({graph_code::operator_is_not_in_the_list, o.name});
      return -1;
    }
    for (int i = 0; i < operands.count; ++i) {
      if (operands.item[i] < 0 || operands.item[i] >= graph.tensor.size) {
        graph.fail({graph_code::operand_does_not_exist, o.name, -1, i});
        return -1;
      }
    }
    for (int i = 0; i < operands.count; ++i) {
      const graph_tensor& t = graph.tensor.item[operands.item[i]];
      const bool taken = is_in(graph.value_of(o).indices, i), held = t.type == data_type::i32;
      if (taken == held) continue;
      graph.fail(
          {taken ? graph_code::operand_holds_no_indices : graph_code::operand_holds_indices, o.name, t.name, i, 0, i});
      return -1;
    }
    graph_status s = bind_loops(graph, o, how.text != nullptr ? how.text : graph.value_of(o).text, operands.item,
                                operands.count, how.created, how.created_count);
    if (s.code != graph_code::ok) {
      s.op = o.name;
      graph.fail(s);
      return -1;
    }
    return add_operator(graph, o, options.activation);
  }

  /// The same of an operator type. Fails where the list of the graph does not have it.
  template <class Operator>
  constexpr int apply(const char* name, const number_list& operands, const operator_options& how = {}) {
    if constexpr (builtin_operator<Operator>)
      return apply(id_of<Operator>, name, operands, how);
    else if (const operator_id kind = graph.operators.id_of(operator_value_of<Operator>); graph.operators.has(kind))
      return apply(kind, name, operands, how);
    graph.fail({graph_code::operator_is_not_in_the_list, scoped(name), add_text(graph, Operator::name)});
    return -1;
  }

  constexpr int contract(const char* name, const char* text, int a, int b) {
    return apply<ops::contract>(name, {a, b}, {.text = text});
  }
  constexpr int sum(const char* name, int a, int b) { return apply<ops::sum>(name, {a, b}); }

  /// `body(builder, x)` once for each repetition, each on the result of the one before. Folded, the body is stored once
  /// as a segment; its tensors are named "name.0-7…" for eight of them, unrolled "name.3…".
  template <class Body>
  constexpr int repeat(const char* name, extent_t count, int x, const Body& body) {
    if (count <= 0) return x;
    if (options.unrolled || segment_ >= 0 || count == 1) {
      for (extent_t i = 0; i < count; ++i) {
        const int before = open(name, i, i);
        x = body(*this, x);
        close(before);
      }
      return x;
    }
    const int before = open(name, 0, count - 1);
    segment_ = graph.segment.push({add_text(graph, name), count, x, -1});
    const int out = body(*this, x);
    graph.segment[segment_].carried_out = out;
    if (out < 0 || x < 0 || !(graph.tensor[out].shape == graph.tensor[x].shape))
      graph.fail({graph_code::carried_tensor_changes_shape, -1, out < 0 ? -1 : graph.tensor[out].name});
    segment_ = -1;
    close(before);
    return out;
  }
  /// Names inside `body()` begin with "name.".
  template <class Body>
  constexpr auto scope(const char* name, const Body& body) {
    const int before = prefix_length_;
    append(name);
    append(".");
    const auto result = body();
    close(before);
    return result;
  }

  /// The number to be minimised, to which the auxiliary losses are added. Fails where it has a dim.
  constexpr void loss(int t) {
    if (!is_number(t)) return;
    for (int next = 0; next < auxiliary_.size;) {
      number_list terms{t};
      while (next < auxiliary_.size && terms.count < max_operator_operands)
        terms.item[terms.count++] = auxiliary_[next++];
      t = apply<ops::sum>("loss_and_auxiliary", terms);
    }
    graph.loss = t;
  }
  /// A number that `loss` adds; to be told before it. Of a folded segment it stands for each repetition's.
  constexpr void auxiliary_loss(int t) {
    if (is_number(t)) auxiliary_.push(t);
  }
  constexpr void monitor(int t) { graph.monitor.push(t); }

  /// Stores `name` under the names of the open scopes; its place in the graph's text.
  constexpr int scoped(const char* name) { return add_text(graph, prefix_, name); }

  /// Adds `o`, whose loops are bound, and a tensor for each result, of `type` unless the operator says otherwise.
  static constexpr int add_operator(hyperparallel::graph& g, graph_operator& o, data_type type) {
    const int number = g.op.size, first = g.tensor.size;
    for (int r = 0; r < o.result_count; ++r) {
      graph_tensor t;
      t.name = r == 0 ? o.name : add_text(g, g.text_at(o.name), r == 1 ? ":1" : r == 2 ? ":2" : r == 3 ? ":3" : ":4");
      t.kind = o.phase == graph_phase::forward ? graph_tensor_kind::activation : graph_tensor_kind::gradient;
      detail::give_shape(g, o, r, t);
      t.type = type_of_result(g.value_of(o), r, t.shape.rank, type);
      t.producer = number;
      t.segment = o.segment;
      o.result[r] = g.tensor.push(t);
    }
    g.op.push(o);
    return first;
  }

 private:
  static constexpr int most_prefix = 160;

  /// Statistics that sums depend on, and single numbers, losses among them, keep at least 32 bits.
  static constexpr data_type type_of_result(const operator_value& o, int result, int rank, data_type type) {
    if (is_in(o.index_results, result)) return data_type::i32;
    return is_in(o.statistics, result) || rank == 0 ? detail::at_least_f32(type) : type;
  }

  constexpr int add_tensor(const char* name, data_type type, graph_tensor_kind kind, const number_list& dims) {
    graph_tensor t;
    t.name = scoped(name);
    t.type = type;
    t.kind = kind;
    t.shape.rank = dims.count;
    for (int d = 0; d < dims.count; ++d) {
      t.dim[d] = dims.item[d];
      t.shape.extent[d] = graph.dim[dims.item[d]].extent;
    }
    t.segment = segment_;
    const int made = graph.tensor.push(t);
    if (!names_.insert(graph, made)) graph.fail({graph_code::name_is_used_twice, -1, t.name});
    return made;
  }
  constexpr bool is_number(int t) {
    const bool is = t >= 0 && graph.tensor[t].shape.rank == 0;
    if (!is) graph.fail({graph_code::loss_is_not_one_number, -1, t < 0 ? -1 : graph.tensor[t].name});
    return is;
  }

  constexpr int open(const char* name, extent_t first, extent_t last) {
    const int before = prefix_length_;
    append(name);
    append(".");
    append_number(first);
    if (last != first) {
      append("-");
      append_number(last);
    }
    append(".");
    return before;
  }
  constexpr void close(int length) {
    prefix_length_ = length;
    prefix_[length] = '\0';
  }
  constexpr void append(const char* more) {
    for (; *more != '\0' && prefix_length_ < most_prefix; ++more) prefix_[prefix_length_++] = *more;
    prefix_[prefix_length_] = '\0';
  }
  constexpr void append_number(extent_t n) {
    char digits[20] = {};
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n > 0);
    while (count > 0 && prefix_length_ < most_prefix) prefix_[prefix_length_++] = digits[--count];
    prefix_[prefix_length_] = '\0';
  }

  char prefix_[most_prefix + 1] = {};
  int prefix_length_ = 0;
  int segment_ = -1;
  growing_array<int> auxiliary_;
  tensor_names names_;  ///< of inputs, parameters and states
};

/// The graph of a model type. `Model` has `static constexpr void build(model_builder&)`.
template <class Model>
constexpr graph build_model(const build_options& options = {}) {
  model_builder m(options);
  Model::build(m);
  return static_cast<graph&&>(m.graph);
}

}}  // namespace hyperparallel::v0_2
