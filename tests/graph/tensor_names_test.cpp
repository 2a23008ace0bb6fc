// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/graph/tensor_names.hpp>
#include <random>
#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(TensorNames, InsertIsTrueForNewNames) {
  // Against a set: short names over two letters repeat often, longer ones make the table grow.
  std::mt19937 random(7);
  for (const int longest : {1, 4, 8, 14}) {
    hp::graph g;
    hp::tensor_names names;
    std::set<std::string> known;
    for (int i = 0; i < 3000; ++i) {
      std::string name(1 + random() % static_cast<unsigned>(longest), 'a');
      for (char& c : name) c = random() % 2 == 0 ? 'a' : 'b';
      hp::graph_tensor t;
      t.name = hp::add_text(g, name.c_str());
      ASSERT_EQ(names.insert(g, g.tensor.push(t)), known.insert(name).second) << name;
    }
  }
}

TEST(TensorNames, WorksInAConstantEvaluation) {
  constexpr bool twice = [] {
    hp::graph g;
    hp::tensor_names names;
    hp::graph_tensor t;
    t.name = hp::add_text(g, "x");
    const int first = g.tensor.push(t), second = g.tensor.push(t);
    return names.insert(g, first) && !names.insert(g, second);
  }();
  EXPECT_TRUE(twice);
}

}  // namespace
