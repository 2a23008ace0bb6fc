// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/refusal_sentence.hpp>

#include <hyperparallel/support/diagnostic.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

std::string sentence(const std::string& type) {
  return hp::detail::sentence_of_spelling({type.c_str(), type.c_str() + type.size()}).text;
}
std::string value(const std::string& type) {
  hp::detail::static_message m;
  hp::detail::add_value(m, {type.c_str(), type.c_str() + type.size()});
  return m.text;
}

template <class... Words>
struct too_many_dims;
template <class... Words>
struct nothing_is_said_of_this;
enum class rule_code { axes_repeat };
template <rule_code, class... Words>
struct with_a_code;

TEST(refusal_sentence, a_type_fills_the_slots_of_its_words) {
  using refused = too_many_dims<hp::map_entries<9>, hp::tensor_dims<8>>;
  EXPECT_STREQ(hp::detail::sentence_of_refusal<refused>.text,
               "9 dims are more than the 8 that a tensor may have. Merge dims that are never sharded apart.");
  static_assert(hp::refusal_message<refused>::size() > 60 && hp::refusal_message<refused>::data()[0] == '9');
}

TEST(refusal_sentence, a_name_without_words_reads_as_itself) {
  EXPECT_STREQ((hp::detail::sentence_of_refusal<nothing_is_said_of_this<hp::dim<1>, hp::alias<'t', 'p'>>>.text),
               "nothing is said of this: dim 1, alias tp");
  EXPECT_STREQ((hp::detail::sentence_of_refusal<with_a_code<rule_code::axes_repeat, hp::extent<7>>>.text),
               "with a code: axes repeat, extent 7");
}

TEST(refusal_sentence, words_without_a_remedy_end_at_the_sentence) {
  EXPECT_EQ(sentence("layout_is_partial<mesh>"), "the layout is partial.");
}

TEST(refusal_sentence, both_spellings_of_compilers_are_read_alike) {
  const std::string clang =
      "hyperparallel::diag::axis_is_used_twice<hyperparallel::alias<'d', 'p'>, "
      "hyperparallel::dim<1>, mesh>";
  const std::string gnu =
      "hyperparallel::diag::axis_is_used_twice<hyperparallel::alias<'d', 'p'>, "
      "hyperparallel::dim<1>, (anonymous namespace)::mesh >";
  EXPECT_EQ(sentence(clang), sentence(gnu));
  EXPECT_EQ(sentence(clang).find("axis dp is used twice (dim 1). "), 0U) << sentence(clang);
}

TEST(refusal_sentence, brackets_and_commas_in_a_text_of_an_operator_are_its_own) {
  EXPECT_EQ(sentence("diag::element_types_are_not_computed<operation<listed<ops::contract, \"*k,kn->*n\">{{{}, 1}, 3}, "
                     "extents<8, 16>>, int>")
                .find("contract does not compute elements of type int. "),
            0U);
}

TEST(refusal_sentence, values_of_arguments) {
  EXPECT_EQ(value("hyperparallel::alias<'t', 'p'>"), "tp");
  EXPECT_EQ(value("alias<>"), "");
  EXPECT_EQ(value("alias<'\\'', '<', ',', '\\\\'>"), "'<,\\");
  EXPECT_EQ(value("dim<-1>"), "-1");
  EXPECT_EQ(value("user::type"), "type");
  EXPECT_EQ(value("axes_there_are<alias<'d', 'p'>, alias<'t', 'p'> >"), "dp, tp");
  EXPECT_EQ(value("alive<fixed_string<3>{\"up\"}, 1024>"), "up (1024)");
  EXPECT_EQ(value("dims_there_are<hyperparallel::v0_2::fixed_string<7>{\"dp, tp\"}>"), "dp, tp");
  EXPECT_EQ(value("dims_there_are<fixed_string<static_cast<int>(5UL)>{\"a<b>\"}>"), "a<b>");
  EXPECT_EQ(value("dims_there_are<fixed_string<1>{\"\"}>"), "");
  EXPECT_EQ(value("tensor<data_type::bf16, 64, 32>"), "bf16 (64, 32)");
  EXPECT_EQ(value("mapped<mesh>"), "() on mesh");
  EXPECT_EQ(value("mapped<ns::mesh, alias<'d', 'p'>, whole, axes_in_order<alias<'c', 'p'>, alias<'t', 'p'> >, "
                  "partial_over<alias<'e', 'p'>, reduce_op::sum> >"),
            "(dp, None, (cp, tp), partial ep: sum) on mesh");
  EXPECT_EQ(value("mapped<mesh, padded_over<alias<'d', 'p'> > >"), "(padded(dp)) on mesh");
}

TEST(refusal_sentence, an_operator_on_extents_is_the_operator) {
  EXPECT_EQ(sentence("diag::operands_are_on_different_meshes<hyperparallel::operation<hp::operations::matmul{false, "
                     "false}, hyperparallel::extents<8, 16>, extents<16, 8>>, operand<1>>")
                .find("operand 1 of matmul is on another mesh than operand 0."),
            0U);
  EXPECT_EQ(sentence("diag::operands_are_on_different_meshes<hyperparallel::operation<hp::elementwise<hp::ops::exp>{}, "
                     "hyperparallel::extents<8>, extents<8>>, operand<1>>")
                .find("operand 1 of exp is on another mesh"),
            0U);
  EXPECT_EQ(
      sentence("operands_are_on_different_meshes<hyperparallel::ops::sum, operand<1>>").find("operand 1 of sum is"),
      0U);
}

TEST(refusal_sentence, words_of_a_code_go_before_those_of_the_name) {
  EXPECT_EQ(sentence("strategy_is_not_valid<hyperparallel::strategy_code::ranks_do_not_factor, extent<8>, extent<6>>")
                .find("8 ranks are not the product of its degrees, 6."),
            0U);
  EXPECT_EQ(sentence("pin_does_not_fit<strategy_code::pin_has_wrong_rank, named_tensor<'w'>, map_entries<1>, "
                     "tensor_dims<2>>")
                .find("a pin of w does not fit: pin has wrong rank, 1 entries for a tensor of 2 dims."),
            0U);
}

}  // namespace
