// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_terms.hpp>
#include <hyperparallel/operators/rule_text.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;
using code = hp::terms_code;

/// A tensor whose dims run over factors of known extents: its shape, and that over its terms.
struct sample {
  hp::tensor_factors tensor{};
  std::vector<hp::extent_t> extent{};
  hp::shape shape{}, terms{};
};

/// `text`: the dims, as in a rule. Factors a, b, c … have the given extents.
sample sample_of(const std::string& text, std::vector<hp::extent_t> extents) {
  const hp::factor_rule rule = hp::rule_from("sample", (text + "->" + text).c_str(), {}).rule;
  sample s{rule.operand[0], std::move(extents), {}, {}};
  for (int d = 0; d < s.tensor.rank; ++d) {
    hp::extent_t n = 1;
    for (int i = s.tensor.first[d]; i < s.tensor.first[d + 1]; ++i) {
      const hp::extent_t own = s.extent[static_cast<std::size_t>(s.tensor.term[i])];
      s.terms.extent[s.terms.rank++] = own;
      n *= own;
    }
    s.shape.extent[s.shape.rank++] = n;
  }
  return s;
}

using element_sets = std::vector<std::vector<std::size_t>>;
element_sets elements_of(const hp::layout_value& l, const hp::shape& s) {
  element_sets sets;
  if (hp::check_shape(l, s).code != hp::layout_code::ok) return sets;
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    sets.emplace_back();
    numeric::for_each_in(hp::slice_at(l, s, hp::coordinates_of(l.mesh, p)), s,
                         [&](std::size_t offset) { sets.back().push_back(offset); });
  }
  return sets;
}

std::vector<sample> samples() {
  return {sample_of("ab", {4, 6}),
          sample_of("(ab)", {2, 6}),
          sample_of("(ab)", {6, 2}),
          sample_of("(ab)", {1, 8}),
          sample_of("(ab)", {4, 4}),
          sample_of("(abc)", {2, 1, 6}),
          sample_of("(ab)(cd)", {2, 3, 2, 4}),
          sample_of("a.(bc)", {4, 3, 2}),
          sample_of("(ab)c", {3, 4, 6})};
}
const std::vector<hp::mesh_shape> meshes{numeric::mesh_of({2}), numeric::mesh_of({4}), numeric::mesh_of({2, 2}),
                                         numeric::mesh_of({2, 3})};

// Splitting moves no element and merging undoes it; what it refuses has no layout over the terms.
TEST(FactorTerms, SplitsMoveNothingAndRefuseOnlyWhatHasNoForm) {
  long split = 0, refused = 0;
  for (const sample& s : samples())
    for (const hp::mesh_shape& m : meshes) {
      std::vector<element_sets> forms;
      for (const hp::layout_value& l : numeric::all_layouts(m, s.terms.rank))
        if (!hp::is_partial(l)) forms.push_back(elements_of(l, s.terms));
      for (const hp::layout_value& l : numeric::all_layouts(m, s.shape.rank)) {
        if (hp::check_shape(l, s.shape).code != hp::layout_code::ok) continue;
        const element_sets held = elements_of(l, s.shape);
        const hp::terms_result r = hp::split_terms(l, s.tensor, s.extent.data());
        if (r.code == code::ok) {
          ++split;
          ASSERT_EQ(elements_of(r.layout, s.terms), held);
          const hp::terms_result back = hp::merge_terms(r.layout, s.tensor, s.extent.data());
          ASSERT_EQ(back.code, code::ok);
          ASSERT_EQ(back.layout, l);
        } else {
          ++refused;
          for (const element_sets& form : forms) ASSERT_NE(form, held);
        }
      }
    }
  EXPECT_GT(split, 100);
  EXPECT_GT(refused, 20);
}

// The other direction alike: a layout over terms is a layout of the tensor, or of no box of it.
TEST(FactorTerms, MergesMoveNothingAndRefuseOnlyWhatHasNoForm) {
  long merged = 0, refused = 0;
  for (const sample& s : samples())
    for (const hp::mesh_shape& m : meshes) {
      std::vector<element_sets> forms;
      for (const hp::layout_value& l : numeric::all_layouts(m, s.shape.rank))
        if (!hp::is_partial(l)) forms.push_back(elements_of(l, s.shape));
      for (const hp::layout_value& l : numeric::all_layouts(m, s.terms.rank)) {
        if (hp::check_shape(l, s.terms).code != hp::layout_code::ok) continue;
        const element_sets held = elements_of(l, s.terms);
        const hp::terms_result r = hp::merge_terms(l, s.tensor, s.extent.data());
        if (r.code == code::ok) {
          ++merged;
          ASSERT_EQ(elements_of(r.layout, s.shape), held);
          const hp::terms_result back = hp::split_terms(r.layout, s.tensor, s.extent.data());
          ASSERT_EQ(back.code, code::ok);
          ASSERT_EQ(back.layout, l);
        } else {
          ++refused;
          ASSERT_EQ(r.code, code::factor_is_not_leading);
          for (const element_sets& form : forms) ASSERT_NE(form, held);
        }
      }
    }
  EXPECT_GT(merged, 100);
  EXPECT_GT(refused, 20);
}

constexpr hp::tensor_factors tensor_of(const char* text) { return hp::rule_from("tensor", text, {}).rule.operand[0]; }
constexpr hp::mesh_shape six{2, {2, 3}};
constexpr hp::layout_value cut_by(int rank, int dim, int axis, unsigned padded = 0) {
  hp::layout_value l = hp::replicated(six, rank);
  hp::append_cut(l, {dim, axis, 1, six.size[axis]});
  l.padded = padded;
  return l;
}
constexpr code split_code(const char* text, const hp::layout_value& l, hp::extent_t a, hp::extent_t b) {
  const hp::extent_t extent[] = {a, b, 0};
  return hp::split_terms(l, tensor_of(text), extent).code;
}

// A dim of one factor needs no extent; of several, only the last of a cut dim goes without.
static_assert(split_code("ab->ab", cut_by(2, 1, 1), 0, 0) == code::ok);
static_assert(split_code("(ab)->ab", cut_by(1, 0, 0), 2, 0) == code::ok);
static_assert(split_code("(ab)->ab", cut_by(1, 0, 0), 0, 4) == code::factor_extent_is_needed);
static_assert(split_code("(ab)->ab", hp::replicated(six, 1), 0, 0) == code::ok);
static_assert(split_code("(ab)->ab", cut_by(1, 0, 1), 2, 6) == code::cut_crosses_factors);
static_assert(split_code("(ab)->ab", cut_by(1, 0, 1), 1, 2) == code::cut_crosses_factors);
static_assert(split_code("a.->a", cut_by(2, 1, 0), 2, 0) == code::dim_has_no_factor);
static_assert(split_code("(ab)->ab", cut_by(1, 0, 0, 1), 3, 3) == code::padded_dim_has_factors);

// Padding follows its dim to the term and back.
constexpr bool keeps_padding() {
  const hp::tensor_factors t = tensor_of("(ab)c->abc");
  const hp::extent_t extent[] = {2, 2, 5};
  const hp::terms_result r = hp::split_terms(cut_by(2, 1, 1, 0b10), t, extent);
  return r.code == code::ok && r.layout.padded == 0b100u && r.layout.rank == 3 &&
         hp::merge_terms(r.layout, t, extent).layout == cut_by(2, 1, 1, 0b10);
}
static_assert(keeps_padding());

// One axis that reaches the second factor is two sub-axes, and one axis again on the way back.
constexpr bool is_split_in_two() {
  const hp::extent_t extent[] = {2, 4};
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const hp::terms_result r = hp::split_terms(l, tensor_of("(ab)->ab"), extent);
  return r.layout.cut_count == 2 && r.layout.cut[0] == hp::cut{0, 0, 1, 2} && r.layout.cut[1] == hp::cut{1, 0, 2, 2} &&
         hp::merge_terms(r.layout, tensor_of("(ab)->ab"), extent).layout == l;
}
static_assert(is_split_in_two());

// Ten sub-axes of four, each of which ends in the middle of a factor: more cuts than a layout holds are refused.
TEST(FactorTerms, TooManyCutsAreRefused) {
  hp::tensor_factors t;
  hp::add_dim(t, 0);
  for (int i = 1; i < 11; ++i) hp::extend_dim(t, i);
  std::vector<hp::extent_t> extent(11, 4);
  extent.front() = extent.back() = 2;
  hp::layout_value l = hp::replicated(numeric::mesh_of({1024, 1024}), 1);
  for (int i = 0, pre = 1; i < 5; ++i, pre *= 4)
    for (int a = 0; a < 2; ++a) hp::append_cut(l, {0, a, pre, 4});
  ASSERT_EQ(l.cut_count, 10);
  EXPECT_EQ(hp::split_terms(l, t, extent.data()).code, code::too_many_cuts);
}

}  // namespace
