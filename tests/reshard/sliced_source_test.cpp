// SPDX-License-Identifier: Apache-2.0
#include "reshard/sliced_source.hpp"

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "reshard/reshard.hpp"

#include <support/error_of.hpp>
#include <support/tries.hpp>

#include "checkpoint/model_files.hpp"
#include "reshard/model_sizes.hpp"

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>

#include <gtest/gtest.h>

namespace {

using namespace checkpoint_test;
namespace rs = hp_tool::reshard;

using ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Cuts a box in two, and the halves again, at any places of any dims.
void cut(std::vector<ranges>& all, const ranges& box, std::mt19937_64& random, int depth) {
  const std::size_t d = box.empty() ? 0 : random() % box.size();
  if (depth == 0 || box.empty() || box[d].second - box[d].first < 2) {
    all.push_back(box);
    return;
  }
  const std::int64_t at =
      box[d].first + 1 +
      static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(box[d].second - box[d].first - 1));
  ranges low = box, high = box;
  low[d].second = high[d].first = at;
  cut(all, low, random, depth - 1);
  cut(all, high, random, depth - 1);
}

/// A set whose tensors are cut anywhere, each slice in a file that has no other one of the tensor.
void write_sliced(const std::string& folder, const tensors& model, const char* map, const nlohmann::json& sizes,
                  std::mt19937_64& random) {
  constexpr std::size_t files = 8;
  std::vector<tensors> of_file(files);
  std::vector<rs::sliced_tensor> list;
  for (const auto& [name, t] : model) {
    ranges whole;
    for (const std::int64_t e : t.extents) whole.push_back({0, e});
    std::vector<ranges> boxes;
    cut(boxes, whole, random, static_cast<int>(random() % 4));
    list.push_back({name, t.dtype, t.extents, {}});
    const std::size_t first = random() % files;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      rs::tensor_slice s{static_cast<int>((first + i) % files), -1, {}};
      for (const auto& [begin, end] : boxes[i]) s.box.push_back({begin, end});
      of_file[(first + i) % files][name] = sliced(t, boxes[i]);
      list.back().slices.push_back(std::move(s));
    }
  }
  nlohmann::json d = {
      {"format", "hyperparallel.set.1"}, {"map", map}, {"sizes", sizes}, {"tensors", rs::slices_json(list)}};
  for (std::size_t f = 0; f < files; ++f) {
    const std::string name = "part_" + std::to_string(f) + ".safetensors";
    write_file(folder + "/" + name, of_file[f]);
    d["files"].push_back(name);
  }
  std::ofstream(folder + "/hyperparallel_set.json") << d.dump(1);
}

/// Whole tensors in any map's names, cut anywhere, are read as the whole ones are.
TEST(SlicedSource, SlicesOfAnyBoxesAreTheWholeTensors) {
  std::mt19937_64 random(17);
  for (const bool experts : {false, true}) {
    const tensors model = experts ? expert_model(random) : grouped_model(random);
    const io_test::workplace at;
    write_model(at, "model", model, experts ? expert_config : grouped_config);
    const nlohmann::json sizes =
        rs::sizes_of_config(nlohmann::json::parse(experts ? expert_config : grouped_config), "config");
    for (const char* map : {"hf", "ours", "megatron"}) {
      if (experts && std::string(map) == "megatron") continue;
      const std::string named = at.path(std::string("in_") + map);
      rs::execute_reshard(rs::prepare_reshard({.source = at.path("model"), .target = named, .to_map = map}));
      const tensors there = read_whole(named);
      for (int i = 0; i < tested::tries(3, 100); ++i) {
        SCOPED_TRACE(std::string(map) + ", time " + std::to_string(i));
        const io_test::workplace here;
        write_sliced(here.path("set"), there, map, sizes, random);
        const rs::prepared_reshard p =
            rs::prepare_reshard({.source = here.path("set"), .target = here.path("back"), .to_map = "hf"});
        rs::execute_reshard(p);
        ASSERT_TRUE(read_whole(here.path("back")) == model);
      }
    }
  }
}

TEST(SlicedSource, WhatDoesNotCoverATensorIsNamed) {
  std::mt19937_64 random(3);
  const io_test::workplace at;
  tensors model;
  model["a"] = random_tensor(random, "F32", {8, 6});
  model["b"] = random_tensor(random, "F32", {});
  write_sliced(at.path("set"), model, "hf", nlohmann::json::object(), random);
  const std::string manifest = at.path("set/hyperparallel_set.json");
  const nlohmann::json good = nlohmann::json::parse(at.get("set/hyperparallel_set.json"));
  const auto line_of = [&](const nlohmann::json& d) {
    at.put("set/hyperparallel_set.json", d.dump());
    return tested::error_of<rs::reshard_error>(
        [&] { rs::prepare_reshard({.source = at.path("set"), .target = at.path("back")}); });
  };
  EXPECT_EQ(line_of(good), "no error");
  EXPECT_EQ(tested::error_of<rs::reshard_error>(
                [&] { rs::prepare_reshard({.source = at.path("set"), .target = at.path("back"), .from = "tp=8"}); }),
            "cannot read '" + at.path("set") + "': its manifest says where each slice is; --from has nothing to add");
  nlohmann::json d = good;
  d["tensors"].erase("a");
  EXPECT_NE(line_of(d).find("tensor 'a' is not in the manifest"), std::string::npos);
  d = good;
  d["tensors"]["c"] = d["tensors"]["b"];
  EXPECT_NE(line_of(d).find("tensor 'c' is missing"), std::string::npos);
  d = good;
  d["tensors"]["b"]["slices"].push_back(d["tensors"]["b"]["slices"][0]);
  EXPECT_EQ(line_of(d), "cannot read '" + manifest + "': tensor 'b' has 1 elements, its slices 2");
  d = good;
  d["tensors"]["b"]["dtype"] = "F\n";
  EXPECT_EQ(line_of(d), "cannot read '" + manifest + "': tensor 'b' has the unknown dtype 'F?'");
  d = good;
  d["tensors"]["a"]["extents"] = {8, 7};
  EXPECT_EQ(line_of(d), "cannot read '" + manifest + "': tensor 'a' has 56 elements, its slices 48");
  for (const char* text : {"[]", "[99, [[0, 8], [0, 6]]]", "[-1, [[0, 8], [0, 6]]]", "[0, [[0, 8]]]",
                           "[0, [[0, 9], [0, 6]]]", "[0, [[5, 3], [0, 6]]]", "[0, [[0, 1e9], [0, 6]]]", "7"}) {
    d = good;
    d["tensors"]["a"]["slices"][0] = nlohmann::json::parse(text);
    EXPECT_NE(line_of(d).find("tensor 'a' has the "), std::string::npos) << text;
  }
  for (const char* text :
       {"[]", "{\"a\": 1}", "{\"a\": {\"dtype\": \"F32\", \"extents\": [-1, 6], \"slices\": [[0, []]]}}",
        "{\"a\": {\"dtype\": \"F32\", \"extents\": [8, 6], \"slices\": []}}"}) {
    d = good;
    d["tensors"] = nlohmann::json::parse(text);
    EXPECT_NE(line_of(d).find(manifest), std::string::npos) << text;
  }
}

}  // namespace
