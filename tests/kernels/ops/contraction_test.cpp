// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/contraction.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;

/// Σ over all loops of a · b, by the definition, in long double.
template <class T>
std::vector<T> by_definition(const run_case<T>& c) {
  const hp::operator_call whole = c.whole();
  std::vector<long double> sum(at(whole.result_elements(0)), 0);
  const hp::tensor_factors* tensors[3] = {&c.rule().operand[0], &c.rule().operand[1], &c.rule().result[0]};
  extent_t points = 1;
  for (int l = 0; l < c.op.loop_count; ++l) points *= c.op.loop[l].extent;
  for (extent_t p = 0; p < points; ++p) {
    extent_t index[hp::max_operator_loops] = {}, rest = p, place[3] = {};
    for (int l = 0; l < c.op.loop_count; ++l) {
      index[l] = rest % c.op.loop[l].extent;
      rest /= c.op.loop[l].extent;
    }
    for (int t = 0; t < 3; ++t)
      for (int d = 0; d < tensors[t]->rank; ++d)
        place[t] = place[t] * c.op.loop[tensors[t]->term[d]].extent + index[tensors[t]->term[d]];
    sum[at(place[2])] += static_cast<long double>(c.operand[0].values[at(place[0])]) *
                         static_cast<long double>(c.operand[1].values[at(place[1])]);
  }
  std::vector<T> out;
  for (const long double s : sum) out.push_back(static_cast<T>(s));
  return out;
}

/// Up to six letters, each in a random place of random tensors; every letter of the result is in an operand.
std::string random_einsum(std::mt19937& random) {
  const std::string letters = "abcdfg";
  std::string part[3];
  for (std::size_t l = 0; l < 1 + random() % letters.size(); ++l) {
    const unsigned long where = 1 + random() % 3;  // bits: in the first, in the second operand
    for (unsigned t = 0; t < 3; ++t)
      if (t == 2 ? random() % 3 > 0 : (where >> t & 1UL) != 0)
        part[t].insert(part[t].begin() + static_cast<std::ptrdiff_t>(random() % (part[t].size() + 1)), letters[l]);
  }
  return part[0] + "," + part[1] + "->" + part[2];
}

template <class T>
void check_random_einsums(double bound) {
  std::mt19937 random(21);
  const int rounds = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20000 : 1500;
  for (int round = 0; round < rounds; ++round) {
    run_case<T> c(hp::id_of<hp::ops::contract>, random_einsum(random), "nn", {}, random);
    c.run_whole();
    ASSERT_LE(largest_difference(c.result[0].values, by_definition(c)), bound) << c.text;
  }
}

TEST(Contraction, RandomEinsumsInDouble) { check_random_einsums<double>(1e-13); }
TEST(Contraction, RandomEinsumsInFloat) { check_random_einsums<float>(2e-5); }

// Sizes around the tiles and panels of the product, with both sides of every shape.
TEST(Contraction, SizesAroundTilesAndPanels) {
  std::mt19937 random(22);
  for (const char* text : {"xk,kn->xn", "kx,nk->nx", "xk,nk->xn"})
    for (const extent_t m : {1, 3, 4, 65})
      for (const extent_t n : {1, 16, 17, 130})
        for (const extent_t k : {1, 256, 300}) {
          letter_extents extents("xkn", random);
          extents.of[static_cast<int>('x')] = m;
          extents.of[static_cast<int>('n')] = n;
          extents.of[static_cast<int>('k')] = k;
          run_case<float> c(hp::id_of<hp::ops::contract>, text, "nn", {}, extents, random);
          c.run_whole();
          ASSERT_LE(largest_difference(c.result[0].values, by_definition(c)), 1e-5)
              << text << m << " " << n << " " << k;
          run_case<double> d(hp::id_of<hp::ops::contract>, text, "nn", {}, extents, random);
          d.run_whole();
          ASSERT_LE(largest_difference(d.result[0].values, by_definition(d)), 1e-14)
              << text << m << " " << n << " " << k;
        }
}

// The law: loops that are not summed may be cut anywhere without a change of a bit.
TEST(Contraction, CutsOfWhatIsNotSummedKeepTheBits) {
  std::mt19937 random(23);
  letter_extents extents("bxkn", random);
  extents.of[static_cast<int>('x')] = 37;
  extents.of[static_cast<int>('n')] = 41;
  extents.of[static_cast<int>('k')] = 300;
  for (const char* text : {"bxk,bkn->bxn", "kxb,bkn->nbx"}) {
    run_case<float> c(hp::id_of<hp::ops::contract>, text, "nn", {}, extents, random);
    c.run_whole();
    std::vector<std::vector<extent_t>> cuts(at(c.op.loop_count));
    for (int l = 0; l < c.op.loop_count; ++l) {
      const char letter = c.letter_of(l);
      cuts[at(l)] = {c.op.loop[l].extent};
      if (letter == 'x') cuts[at(l)] = {1, 19, 37};
      if (letter == 'n') cuts[at(l)] = {5, 6, 41};
      if (letter == 'b' && c.op.loop[l].extent > 1) cuts[at(l)] = {1, c.op.loop[l].extent};
    }
    EXPECT_EQ(c.run_cut(cuts)[0].values, c.result[0].values) << text;
  }
}

// Which side is rows follows from the result: the bits do not, nor do they from slots that no token took.
TEST(Contraction, GivesTheSameBitsWhateverOrderTheResultHas) {
  for (const char* const order : {"fh", "hf"}) {
    std::mt19937 random(5);
    letter_extents extents("", random);
    for (const auto& [letter, extent] :
         std::initializer_list<std::pair<char, extent_t>>{{'b', 3}, {'c', 110}, {'f', 70}, {'h', 130}})
      extents.of[static_cast<int>(letter)] = extent;
    run_case<float> there(hp::id_of<hp::ops::contract>, std::string("bcf,bch->") + order, "nn", {}, extents, random);
    run_case<float> back(hp::id_of<hp::ops::contract>, std::string("bcf,bch->") + (order[0] == 'f' ? "hf" : "fh"), "nn",
                         {}, extents, random);
    for (int operand = 0; operand < 2; ++operand) {
      const extent_t width = operand == 0 ? 70 : 130;
      for (extent_t i = 0; i < 330 * width; ++i)
        if (i / width % 110 >= 40 + 30 * (i / width / 110)) there.operand[at(operand)].values[at(i)] = 0;
      back.operand[at(operand)] = there.operand[at(operand)];
    }
    there.run_whole();
    back.run_whole();
    const extent_t rows = order[0] == 'f' ? 70 : 130, columns = 200 - rows;
    for (extent_t r = 0; r < rows; ++r)
      for (extent_t c = 0; c < columns; ++c)
        ASSERT_EQ(there.result[0].values[at(r * columns + c)], back.result[0].values[at(c * rows + r)]);
    EXPECT_LE(largest_difference(there.result[0].values, by_definition(there)), 1e-5);
  }
}

}  // namespace
