// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of factor rules → rules of the core, with the shapes that the factor sizes give.
//
// A factor without a kind that is in operands alone has to be whole: its sharding has nowhere to go in the results. The
// vectors leave its kind open, because what they describe is where shardings spread, not what one device can compute.

#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/propagate.hpp>

#include <string>
#include <vector>

#include "reading.hpp"

namespace replay {

/// Dims of one tensor, each a list of factors, major to minor.
using dim_list = std::vector<std::vector<int>>;

struct read_rule {
  hp::factor_rule rule{};
  std::vector<std::string> name{};   ///< of each factor
  std::vector<hp::extent_t> size{};  ///< of each factor
  std::vector<dim_list> operand{};
  std::vector<dim_list> result{};
  std::vector<hp::shape> operand_shape{};
  std::vector<hp::shape> result_shape{};
};

namespace detail {

inline bool lists(const json& names, const std::string& name) {
  for (const json& n : names)
    if (n.get<std::string>() == name) return true;
  return false;
}

inline int factor_called(const json& v, const std::string& name, read_rule& r) {
  for (std::size_t f = 0; f < r.name.size(); ++f)
    if (r.name[f] == name) return static_cast<int>(f);
  if (r.name.size() == hp::max_factors) throw malformed_vector("the rule has more factors than the core holds");
  r.name.push_back(name);
  r.size.push_back(whole_number_of(member(member(v, "factor_sizes"), name.c_str())));
  return hp::add_factor(r.rule, hp::factor_kind::pass_through, r.size.back());
}

/// Dims of a tensor into `t`, their factors into the lists of `r`.
inline void read_tensor(const json& v, const json& dims, hp::tensor_factors& t, dim_list& list, hp::shape& shape,
                        read_rule& r) {
  if (dims.size() > static_cast<std::size_t>(hp::max_dims))
    throw malformed_vector("a tensor has more dims than the core holds");
  for (const json& dim : dims) {
    list.emplace_back();
    hp::extent_t n = 1;
    for (const json& name : dim) {
      const int f = factor_called(v, name.get<std::string>(), r);
      if (list.back().empty())
        hp::add_dim(t, f);
      else
        hp::extend_dim(t, f);
      list.back().push_back(f);
      n *= r.size[static_cast<std::size_t>(f)];
    }
    if (dim.empty()) hp::add_dim(t);
    shape.extent[shape.rank++] = n;
  }
}

inline void set_kinds(const json& v, read_rule& r) {
  unsigned in_results = 0;
  for (int t = 0; t < r.rule.result_count; ++t) in_results |= r.rule.result[t].mask;
  for (int f = 0; f < r.rule.factor_count; ++f) {
    const std::string& name = r.name[static_cast<std::size_t>(f)];
    hp::factor& x = r.rule.factor[f];
    x.letter = name.empty() ? '\0' : name[0];
    x.blocked = lists(member(v, "blocked_propagation"), name);
    if (lists(member(v, "reduction"), name)) {
      x.kind = hp::factor_kind::reduction;
      x.op = hp::reduce_op::sum;
    } else if (lists(member(v, "need_replication"), name) || (in_results >> f & 1u) == 0) {
      x.kind = hp::factor_kind::need_replication;
    } else if (lists(member(v, "permutation"), name)) {
      x.kind = hp::factor_kind::permutation;
    }
  }
}

}  // namespace detail

inline read_rule rule_of(const json& v) {
  read_rule r;
  r.rule.name = hp::short_text("vector");
  const json& operands = member(v, "operands");
  const json& results = member(v, "results");
  if (operands.size() > static_cast<std::size_t>(hp::max_operands) ||
      results.size() > static_cast<std::size_t>(hp::max_results))
    throw malformed_vector("the rule has more operands or results than the core holds");
  r.operand.resize(operands.size());
  r.operand_shape.resize(operands.size());
  r.result.resize(results.size());
  r.result_shape.resize(results.size());
  for (std::size_t o = 0; o < operands.size(); ++o)
    detail::read_tensor(v, operands[o], hp::add_operand(r.rule), r.operand[o], r.operand_shape[o], r);
  for (std::size_t o = 0; o < results.size(); ++o)
    detail::read_tensor(v, results[o], hp::add_result(r.rule), r.result[o], r.result_shape[o], r);
  detail::set_kinds(v, r);
  return r;
}

/// Whether extents follow from the operands' shapes as the vector says, from the whole rule and from one that states
/// only the extents that no operand tells by a dim of its own; and whether other shapes are refused.
inline verdict hold_extents(const read_rule& r) {
  hp::factor_rule bare = r.rule;
  for (const dim_list& dims : r.operand)
    for (const std::vector<int>& dim : dims)
      if (dim.size() == 1) bare.factor[dim[0]].extent = 0;
  const int count = r.rule.operand_count;
  for (const hp::factor_rule* rule : {&r.rule, static_cast<const hp::factor_rule*>(&bare)}) {
    const hp::factor_extents e = hp::extents_of(*rule, r.operand_shape.data(), count);
    if (e.status.code != hp::extents_code::ok)
      return fail("extents are refused with code " + std::to_string(static_cast<int>(e.status.code)));
    for (std::size_t f = 0; f < r.size.size(); ++f) {
      const bool untold = e.extent[f] < 0 && r.size[f] == 0;  // 0 is also how a rule leaves an extent open
      if (e.extent[f] != r.size[f] && !untold)
        return fail("factor " + r.name[f] + " has extent " + std::to_string(e.extent[f]));
    }
    for (int i = 0; i < rule->result_count; ++i) {
      const hp::shape& expected = r.result_shape[static_cast<std::size_t>(i)];
      const hp::result_shape_result s = hp::result_shape(*rule, r.operand_shape.data(), count, i);
      const bool untold =
          s.status.code == hp::extents_code::factor_extent_is_not_known && hp::element_count(expected).value == 0;
      if (!(s.shape == expected) && !untold) return fail("result " + std::to_string(i) + " is " + text_of(s.shape));
    }
  }
  std::vector<hp::shape> wrong = r.operand_shape;
  for (hp::shape& s : wrong)
    for (int d = 0; d < s.rank; ++d) {
      ++s.extent[d];
      const bool fixed = s.extent[d] != 1;  // else the rule leaves it open
      if (fixed && hp::extents_of(r.rule, wrong.data(), count).status.code == hp::extents_code::ok)
        return fail("a wrong extent is accepted");
      --s.extent[d];
    }
  return pass();
}

}  // namespace replay
