// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resolution: what to move, where operands come in layouts that an operator can not take together.
//
// Every mesh axis, or the piece of it that some operand uses, plays one role in the operator: it shards one factor, or
// it stays as the partial state of operands that let it pass, or nothing. Every axis in use may take every role, on one
// factor behind or before the others as the tensors list them; every assignment of roles is a set of operand layouts,
// priced by what the operands have to move to get there and what the result has to move to its consumer. The cheapest
// wins, the first among equals, so the outcome is deterministic. Law: an assignment that moves nothing wins if there is
// one. A shard becomes a term for nothing, so a sum could always be put off; the search joins reductions that wait
// already and never starts one. The search is O(operands · ∏ roles).

#include <hyperparallel/operators/axis_roles.hpp>
#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/move_price.hpp>
#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What the search knows beside the operands.
struct resolve_options {
  const layout_value* consumer = nullptr;     ///< the layout that the first result is needed in
  extent_t element_bytes[max_operands] = {};  ///< 0 counts as 1, so that prices are elements
  extent_t result_bytes = 0;
};

enum class resolve_code : unsigned char {
  ok,
  operands_are_refused,  ///< see `strict`
  extents_are_refused,   ///< see `extents`
  no_assignment_fits,
  too_many_pieces,
};

struct resolution {
  resolve_code code = resolve_code::ok;
  propagation_status strict{};  ///< why the operands do not meet as they are; ok where they do
  extents_status extents{};
  unsigned moved = 0;                    ///< bit o: operand o is redistributed
  extent_t price = 0;                    ///< bytes that the busiest device receives, over all moves
  extent_t received[max_operands] = {};  ///< of each operand, elements
  extent_t consumer_received = 0;        ///< of the result on its way to the consumer, elements
  int assignments = 0;                   ///< that fit and were priced
  bool exhaustive = true;                ///< all roles of all axes in use were tried
  full_propagation placed{};             ///< operands after the moves, and the results
};

namespace detail {

/// The operator at hand, and the pricing of one assignment: a better one replaces `best`.
struct resolve_search {
  const factor_rule& rule;
  const layout_value* const* operand;
  const shape* shapes;
  const resolve_options& options;
  const extent_t* extent;
  role_table roles{};
  piece_orders order{};
  shape result{};

  /// Prices every assignment, as an odometer over the pieces' roles.
  constexpr void run(resolution& best) const {
    int choice[max_pieces] = {}, role[max_pieces] = {};
    for (bool more = true; more;) {
      for (int i = 0; i < roles.count; ++i) role[i] = roles.piece[i].role[choice[i]];
      price(role, best);
      more = false;
      for (int i = roles.count - 1; i >= 0 && !more; --i) {
        more = ++choice[i] < roles.piece[i].role_count;
        if (!more) choice[i] = 0;
      }
    }
  }

  static constexpr extent_t weight(extent_t bytes) { return bytes > 0 ? bytes : 1; }

  constexpr void price(const int* role, resolution& best) const {
    layout_value wanted[max_operands] = {};
    const layout_value* at[max_operands] = {};
    extent_t received[max_operands] = {}, total = 0;
    for (int o = 0; o < rule.operand_count; ++o) {
      const terms_result merged =
          merge_terms(assigned_layout(rule, o, roles, role, order, *operand[o]), rule.operand[o], extent);
      if (merged.code != terms_code::ok) return;
      wanted[o] = merged.layout;
      at[o] = &wanted[o];
      const move_price move = price_of_move(*operand[o], wanted[o], shapes[o]);
      if (!move.possible) return;
      received[o] = move.received;
      total += move.received * weight(options.element_bytes[o]);
    }
    const full_propagation placed = propagate_fully(rule, at, rule.operand_count);
    if (placed.status.code != propagation_code::ok) return;
    move_price after;
    if (options.consumer != nullptr) after = price_of_move(placed.result[0], *options.consumer, result);
    if (!after.possible) return;
    total += after.received * weight(options.result_bytes);
    if (best.assignments++ > 0 && total >= best.price) return;
    best.price = total;
    best.placed = placed;
    best.consumer_received = after.received;
    best.moved = 0;
    for (int o = 0; o < rule.operand_count; ++o) {
      best.received[o] = received[o];
      if (!(placed.operand[o] == *operand[o]) && received[o] > 0) best.moved |= 1u << o;
    }
  }
};

/// The layouts in question: those of the operands and, where there is one, that of the first result at its consumer.
struct layouts_in_terms {
  layout_value layout[max_operands + 1] = {};
  const tensor_factors* tensor[max_operands + 1] = {};
  int count = 0;

  constexpr layouts_in_terms(const factor_rule& rule, const layout_value* const* operand, int operands,
                             const layout_value* consumer, const extent_t* extent) {
    for (int o = 0; o < operands; ++o) add(*operand[o], rule.operand[o], operand[0]->mesh, extent);
    if (consumer != nullptr) add(*consumer, rule.result[0], operand[0]->mesh, extent);
  }

 private:
  /// A tensor whose cuts do not follow the factors offers no roles; it is moved to what the others say.
  constexpr void add(const layout_value& l, const tensor_factors& t, const mesh_shape& mesh, const extent_t* extent) {
    const terms_result terms = split_terms(l, t, extent);
    if (terms.code == terms_code::ok) layout[count] = terms.layout;
    if (terms.code != terms_code::ok) layout[count].mesh = mesh;
    tensor[count++] = &t;
  }
};

}  // namespace detail

/// Finds the operand layouts in which `rule` runs and that cost least to reach.
/// Domain: `check_rule(rule)` is ok, 0 < count, layouts are canonical and accept their shapes.
constexpr resolution resolve(const factor_rule& rule, const layout_value* const* operand, const shape* shapes,
                             int count, const resolve_options& options = {}) {
  resolution r;
  full_propagation as_it_is = propagate_fully(rule, operand, count);
  r.strict = as_it_is.status;
  if (r.strict.code == propagation_code::operand_count_differs_from_rule ||
      r.strict.code == propagation_code::operand_rank_differs_from_rule ||
      r.strict.code == propagation_code::operands_are_on_different_meshes) {
    r.code = resolve_code::operands_are_refused;
    return r;
  }
  const factor_extents extents = extents_of(rule, shapes, count);
  const result_shape_result result = result_shape(rule, shapes, count);
  r.extents = extents.status.code != extents_code::ok ? extents.status : result.status;
  if (r.extents.code != extents_code::ok) {
    r.code = resolve_code::extents_are_refused;
    return r;
  }
  if (r.strict.code == propagation_code::ok && options.consumer == nullptr) {
    r.placed = as_it_is;
    r.assignments = 1;
    return r;
  }
  detail::resolve_search search{rule, operand, shapes, options, extents.extent};
  search.result = result.shape;
  const detail::layouts_in_terms l(rule, operand, count, options.consumer, extents.extent);
  bool fits = false, nested = false;
  for (int lead = 0; lead < l.count; ++lead) {
    layout_value kept[max_operands + 1] = {};
    if (!nested) {  // else the roles are the same for every lead
      for (int i = 0; i < l.count; ++i) kept[i] = l.layout[i];
      nested = detail::keep_nesting(kept, l.count, lead);
      search.roles = detail::role_table();
      detail::collect_roles(rule, kept, l.tensor, l.count, search.roles);
      if (!search.roles.fits) continue;
      fits = true;
      detail::role_table all = search.roles;
      detail::add_every_factor(rule, all);
      const bool few = detail::assignments_of(all) <= detail::most_assignments;
      r.exhaustive = r.exhaustive && few && nested;
      if (few) search.roles = all;
    }
    search.order =
        detail::order_pieces(nested ? l.layout : kept, l.tensor, l.count, lead, rule.factor_count, search.roles);
    search.run(r);
  }
  if (!fits) r.code = resolve_code::too_many_pieces;
  if (fits && r.assignments == 0) r.code = resolve_code::no_assignment_fits;
  return r;
}

}}  // namespace hyperparallel::v0_2
