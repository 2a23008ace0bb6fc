// SPDX-License-Identifier: Apache-2.0
// What a run keeps under each strategy, converted.

#include <cstddef>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/layers.hpp>

#include <gtest/gtest.h>
#include <io/workplace.hpp>

#include "checkpoint/kept_runs.hpp"
#include "models/language_model.hpp"
#include "reshard/reshard.hpp"

namespace hp = hyperparallel;
namespace rs = hp_tool::reshard;

namespace {

using namespace checkpoint_test;

/// Slices go to any other layout, names of Hugging Face, and one file that a run goes on from.
TEST(KeptRuns, AreReadByReshard) {
  const io_test::workplace here;
  hp::model_builder m(hp::build_options{.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  programs::language_model(m, {.batch = 4, .sequence = 8, .vocabulary = 32, .hidden = 16}, "layers", 2,
                           [&](hp::model_builder& layer, int x) {
                             return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
                                 {.query_heads = 4, .key_heads = 2, .head_dim = 8, .rope_base = 10000.0},
                                 {.width = 32}}(layer, x);
                           });
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.kind = hp::optimizer_kind::adamw});
  run_of<double> other(m.graph, called("dp", 2)), single(m.graph, called("single", 1));
  train(single, 1);
  hp::run_checkpoints whole(here.path("single"), single);
  whole.save();
  rs::execute_reshard(rs::prepare_reshard(
      {.source = here.path("single/step_000000000001"), .target = here.path("whole_hf"), .to_map = "hf"}));
  for (const char* name : {"zero3", "tp", "dp-tp", "zero1"}) {
    SCOPED_TRACE(name);
    run_of<double> run(m.graph, called(name, std::string(name) == "dp-tp" ? 4 : 2));
    hp::load_run(here.path("single/step_000000000001"), run);
    hp::run_checkpoints saves(here.path(name), run, {.sizes = {{"group_heads", 2}, {"head_dim", 8}}});
    saves.save();
    const std::string set = here.path(name) + "/step_000000000001", hf = here.path(std::string(name) + "_hf"),
                      back = here.path(std::string(name) + ".safetensors"),
                      same = here.path(std::string(name) + "_same.safetensors");
    rs::execute_reshard(rs::prepare_reshard({.source = set, .target = hf, .to = "tp=2,pp=2", .to_map = "hf"}));
    rs::execute_reshard(rs::prepare_reshard({.source = hf, .target = back, .to_map = "ours"}));
    rs::execute_reshard(rs::prepare_reshard({.source = set, .target = same}));
    for (const std::string& file : {back, same}) {
      other.set_first_values();
      hp::load_run(file, other);
      EXPECT_TRUE(values_of(other) == values_of(single));
      EXPECT_EQ(other.steps(), 1);
    }
    const hp::detail::safetensors_file a(back), b(same);
    ASSERT_EQ(a.header().tensors.size(), b.header().tensors.size());
    for (const hp::tensor_entry& t : a.header().tensors) {
      const hp::tensor_entry* const of = b.find(t.name);
      ASSERT_NE(of, nullptr) << t.name;
      std::vector<std::byte> one(static_cast<std::size_t>(t.end - t.begin)),
          other_one(static_cast<std::size_t>(of->end - of->begin));
      a.read(t.name, one);
      b.read(t.name, other_one);
      EXPECT_TRUE(one == other_one) << t.name;
    }
  }
}

}  // namespace
