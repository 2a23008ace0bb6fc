// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed forms: operators whose working dims, which the rule wants whole, are sharded, and which are computed
// right with communication along the group of devices that share a row.
//
// A form is the description of an operator (operation.hpp) and
//   working(shapes, count)   which dims may be sharded, see working_dims
//   run_form<X…>(form_run&)  the work, in steps; X are the operands' element types
// `apply_form(description, x…)` runs it on dynamic tensors; typed_form.hpp has the face for dtensors.
// Laws: without the working dims' cuts the layouts obey the operator's rule, whose refusals come with the same words;
// operand 0 leads: the others are brought to its cuts, and give its axes up where they use them for something else.

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/forms/collectives.hpp>
#include <hyperparallel/dtensor/operation.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

/// Dims as bits. Those of later operands and of results are sharded as operand 0 in the dim `offset` further on.
struct working_dims {
  unsigned operand[max_operands] = {};
  int offset[max_operands] = {};
  unsigned result[max_results] = {};
};

namespace detail {

/// An operand as its rule sees it.
constexpr layout_value strict_layout(const working_dims& w, int operand, const layout_value& l,
                                     const layout_value& lead) {
  const layout_value whole = without_dims(l, w.operand[operand]);
  return operand == 0 ? whole : without_axes(whole, axes_of(lead, w.operand[0]));
}

struct form_layouts {
  propagation_status status{};
  layout_value operand[max_operands] = {};
  layout_value result[max_results] = {};
};

/// Where operands and results of a form lie. Domain: `check_rule(rule)` is ok, count > 0.
constexpr form_layouts lay_out(const factor_rule& rule, const working_dims& w, const layout_value* const* operand,
                               int count) {
  form_layouts r;
  layout_value strict[max_operands];
  const layout_value* list[max_operands] = {};
  for (int o = 0; o < count && o < max_operands; ++o) {
    strict[o] = strict_layout(w, o, *operand[o], *operand[0]);
    list[o] = &strict[o];
  }
  const full_propagation p = propagate_fully(rule, list, count);
  r.status = p.status;
  if (p.status.code != propagation_code::ok) return r;
  for (int o = 0; o < count; ++o) r.operand[o] = with_cuts(p.operand[o], w.operand[o], *operand[0], w.offset[o]);
  for (int i = 0; i < rule.result_count; ++i) r.result[i] = with_cuts(p.result[i], w.result[i], *operand[0]);
  return r;
}

}  // namespace detail

/// A form at work: operands in place, results as memory that reads as zero, and the group along the working dims.
struct form_run {
  std::vector<dynamic_dtensor> operand;
  std::vector<tensor_description> result;
  communicator along;
  std::vector<std::vector<std::shared_ptr<std::byte>>> block{};  ///< of each result, by position

  const rank_group& ranks() const { return along.ranks; }

  template <class T>
  const_view<T> in(int o, int position) const {
    return operand[static_cast<std::size_t>(o)].local(position).template view<T>();
  }
  template <class T>
  tensor_view<T> out(int i, int position) const {
    return local_block{block[static_cast<std::size_t>(i)][static_cast<std::size_t>(position)].get(),
                       result[static_cast<std::size_t>(i)].type, place(i, position),
                       result[static_cast<std::size_t>(i)].shape}
        .view<T>();
  }
  /// The box of result i.
  box place(int i, int position) const {
    const tensor_description& d = result[static_cast<std::size_t>(i)];
    return slice_at(d.layout, d.shape, coordinates_of(d.layout.mesh, position));
  }

  void allocate() {
    for (std::size_t i = 0; i < result.size(); ++i) {
      block.emplace_back();
      for (int p = 0; p < ranks().ranks(); ++p)
        block[i].push_back(
            hyperparallel::detail::allocate_block(block_bytes(result[i], place(static_cast<int>(i), p))));
    }
  }
  std::vector<dynamic_dtensor> finish() const {
    std::vector<dynamic_dtensor> made;
    for (std::size_t i = 0; i < result.size(); ++i)
      made.emplace_back(ranks(), result[i], std::vector<dynamic_dtensor::block>(block[i].begin(), block[i].end()));
    return made;
  }
};

/// The form on dynamic tensors: every result. Throws as apply_all. `counted` is null or gets what is received.
template <operation_description Form, std::size_t Count>
std::vector<dynamic_dtensor> apply_form_all(const Form& form, const std::array<dynamic_dtensor, Count>& operands,
                                            traffic* counted = nullptr) {
  shape shapes[Count];
  data_type types[Count];
  const layout_value* layouts[Count];
  for (std::size_t o = 0; o < Count; ++o) {
    shapes[o] = operands[o].shape();
    types[o] = operands[o].type();
    layouts[o] = &operands[o].layout();
  }
  const rule_result made = form.rule(shapes, static_cast<int>(Count));
  const char* const name = made.rule.name.text;
  if (made.status.code != rule_code::ok) throw operator_error(name, made.status);
  for (std::size_t o = 1; o < Count; ++o)
    if (!(operands[o].group() == operands[0].group()))
      throw hyperparallel::detail::group_error(name, static_cast<int>(o));
  const working_dims w = form.working(shapes, static_cast<int>(Count));
  const detail::form_layouts placed = detail::lay_out(made.rule, w, layouts, static_cast<int>(Count));
  if (placed.status.code != propagation_code::ok) throw operator_error(name, placed.status);

  form_run run{{}, {}, {operands[0].group(), group_over(*layouts[0], w.operand[0]), counted}};
  const hyperparallel::detail::dynamic_run<Form, Count> dispatch{form, name};
  void (*work)(const Form&, form_run&) = nullptr;
  std::vector<data_type> elements;
  dispatch.pick(types, [&]<class... X>(std::tuple<X...>*) {
    using results = typename hyperparallel::detail::result_elements<Form, X...>::type;
    if constexpr (hyperparallel::detail::computes<Form, std::tuple<X...>, results>) {
      work = [](const Form& f, form_run& r) { f.template run_form<X...>(r); };
      dispatch.add_types(static_cast<results*>(nullptr), elements);
    }
  });
  if (work == nullptr) dispatch.refuse(types[0]);
  for (int i = 0; i < made.rule.result_count; ++i) {
    const result_shape_result s = result_shape(made.rule, shapes, static_cast<int>(Count), i);
    if (s.status.code != extents_code::ok) throw operator_error(name, s.status);
    const layout_status fits = check_shape(placed.result[i], s.shape);
    if (fits.code != layout_code::ok) throw layout_error(fits);
    run.result.push_back({elements[static_cast<std::size_t>(i)], s.shape, placed.result[i]});
  }
  for (std::size_t o = 0; o < Count; ++o) run.operand.push_back(redistribute(operands[o], placed.operand[o], counted));
  run.allocate();
  work(form, run);
  return run.finish();
}

/// The same: the first result.
template <operation_description Form, std::same_as<dynamic_dtensor>... Operands>
dynamic_dtensor apply_form(const Form& form, const Operands&... operands) {
  return apply_form_all(form, std::array<dynamic_dtensor, sizeof...(Operands)>{operands...})[0];
}

}}}  // namespace hyperparallel::v0_2::distributed
