// SPDX-License-Identifier: Apache-2.0
// Any checkpoint to any other, held against a converter that has whole tensors in memory and takes one element at a time.

#include "reshard/reshard.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/model_files.hpp"
#include "reshard/element_type.hpp"

namespace rs = hp_tool::reshard;
namespace fs = std::filesystem;

namespace {

using namespace checkpoint_test;

bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

rs::reshard_certificate convert(const rs::reshard_request& r) {
  const rs::prepared_reshard p = rs::prepare_reshard(r);
  rs::execute_reshard(p);
  return p.plan.certificate;
}

std::string complaint(const rs::reshard_request& r) {
  try {
    convert(r);
  } catch (const rs::reshard_error& e) {
    return e.what();
  }
  return "";
}

/// A layout that the test makes and cuts by itself.
struct random_layout {
  std::vector<std::pair<std::string, std::int64_t>> axes;
  std::map<std::string, std::vector<std::vector<std::string>>> map;  ///< of each tensor

  std::int64_t ranks() const {
    std::int64_t n = 1;
    for (const auto& [name, size] : axes) n *= size;
    return n;
  }
  std::int64_t place(std::int64_t rank, const std::string& axis) const {
    std::int64_t behind = 1;
    for (std::size_t i = axes.size(); i-- > 0; behind *= axes[i].second)
      if (axes[i].first == axis) return rank / behind % axes[i].second;
    return 0;
  }
  std::int64_t size(const std::string& axis) const {
    for (const auto& [name, n] : axes)
      if (name == axis) return n;
    return 1;
  }
  tensors on_rank(const tensors& model, std::int64_t rank) const {
    tensors out;
    for (const auto& [name, of_model] : model) {
      tensor t = of_model;
      const bool is_packed = t.dtype == "F4";  // two elements of the last dim in a byte
      if (is_packed) t.extents.back() /= 2;
      std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
      for (std::size_t d = 0; d < t.extents.size(); ++d) {
        std::int64_t shards = 1, shard = 0;
        if (d < map.at(name).size())
          for (const std::string& axis : map.at(name)[d]) {
            shard = shard * size(axis) + place(rank, axis);
            shards *= size(axis);
          }
        const auto cut = [&](std::int64_t k) { return t.extents[d] * k / shards; };
        ranges.push_back({cut(shard), cut(shard + 1)});
      }
      out[name] = sliced(t, ranges);
      if (is_packed) out[name].extents.back() *= 2;
    }
    return out;
  }
  std::string json() const {
    nlohmann::json a = nlohmann::json::array(), rules = nlohmann::json::array();
    for (const auto& [name, n] : axes) a.push_back({name, n});
    for (const auto& [name, m] : map) rules.push_back({{"tensors", name}, {"map", m}});
    return nlohmann::json{{"axes", a}, {"rules", rules}, {"uneven", true}}.dump();
  }
};

random_layout draw_layout(std::mt19937_64& random, const tensors& model) {
  random_layout l;
  const char* names[] = {"x", "y", "z"};
  for (std::size_t i = 0, n = random() % 4; i < n; ++i)
    l.axes.push_back({names[i], 1 + static_cast<std::int64_t>(random() % 3)});
  for (const auto& [name, t] : model) {
    auto& m = l.map[name];
    m.resize(t.extents.size());
    for (const auto& [axis, n] : l.axes)
      if (const std::size_t dim = random() % (t.extents.size() + 1); dim < t.extents.size()) m[dim].push_back(axis);
  }
  return l;
}

/// Numbers of one type as those of another, each by the definitions.
tensor as_type(const tensor& t, const std::string& dtype) {
  if (t.dtype == dtype || rs::find_float(t.dtype) == nullptr) return t;
  tensor out{dtype, t.extents, ""};
  const auto from = static_cast<std::size_t>(hp::detail::dtype_bits(t.dtype) / 8),
             to = static_cast<std::size_t>(hp::detail::dtype_bits(dtype) / 8);
  for (std::size_t at = 0; at < t.bytes.size(); at += from) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, t.bytes.data() + at, from);
    bits = rs::encoded(*rs::find_float(dtype), rs::decoded(*rs::find_float(t.dtype), bits));
    out.bytes.append(reinterpret_cast<const char*>(&bits), to);
  }
  return out;
}

TEST(Reshard, RandomSetsAreThoseOfANaiveConverter) {
  const int rounds = exhaustive() ? 20000 : 600;
  const char* types[] = {"BF16", "F32", "F16", "I64", "U8", "F8_E4M3", "F64", "BOOL", "F4"};
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(static_cast<std::uint64_t>(round));
    const io_test::workplace at;
    tensors model;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      std::vector<std::int64_t> extents;
      for (std::size_t d = random() % 4; d > 0; --d)
        extents.push_back(random() % 20 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 13));
      const std::string dtype = types[random() % std::size(types)];
      if (dtype == "F4") extents = {3, 5, 8};  // two elements fill a byte
      model["t" + std::to_string(n) + ".weight"] = random_tensor(random, dtype, extents);
    }
    random_layout from = draw_layout(random, model), to = draw_layout(random, model);
    for (auto* l : {&from, &to})
      for (auto& [name, t] : model)
        if (t.dtype == "F4") l->map[name].resize(2);  // packed along the last dim, which stays whole here
    at.put("from.json", from.json());
    at.put("to.json", to.json());
    for (std::int64_t r = 0; r < from.ranks(); ++r) {
      char name[40];
      std::snprintf(name, sizeof name, "source/rank_%03d.safetensors", static_cast<int>(r));
      write_file(at.path(name), from.on_rank(model, r));
    }
    rs::reshard_request q{.source = at.path("source"),
                          .target = at.path("target"),
                          .from = at.path("from.json"),
                          .to = at.path("to.json")};
    q.limits = {static_cast<std::int64_t>(std::uint64_t{1} << (4 + random() % 14)), 1 + static_cast<int>(random() % 2)};
    const bool converts = random() % 3 == 0;
    if (converts) {
      q.dtype = random() % 2 == 0 ? "BF16" : "F32";
      q.keep = {};
      for (auto& [name, t] : model)
        if (t.dtype == "F8_E4M3") q.keep.push_back(name);
    }
    ASSERT_EQ(complaint(q), "") << round;
    const nlohmann::json manifest = to.ranks() > 1 ? nlohmann::json::parse(at.get("target/hyperparallel_set.json"))
                                                   : nlohmann::json{{"files", {"model.safetensors"}}};
    ASSERT_EQ(static_cast<std::int64_t>(manifest["files"].size()), to.ranks());
    for (std::int64_t r = 0; r < to.ranks(); ++r) {
      tensors expected = to.on_rank(model, r);
      if (converts)
        for (auto& [name, t] : expected)
          if (t.dtype != "F8_E4M3") t = as_type(t, q.dtype);
      ASSERT_EQ(read_file(at.path("target/" + manifest["files"][static_cast<std::size_t>(r)].get<std::string>())),
                expected)
          << round << " rank " << r;
    }
  }
}

TEST(Reshard, ModelsComeBackFromEveryLayout) {
  struct form {
    const char *layout, *map;
  };
  const std::vector<form> common = {{"whole", "hf"},
                                    {"tp=2", "hf"},
                                    {"tp=4,pp=2", "hf"},
                                    {"pp=4", "hf"},
                                    {"pp=3,tp=2", "hf"},
                                    {"tp=2,pp=2", "megatron"},
                                    {"tp=4", "megatron"},
                                    {"whole", "megatron"},
                                    {"pp=4,tp=2", "megatron"},
                                    {"whole", "ours"},
                                    {"ep=4,tp=2,pp=2", "megatron"},
                                    {"ep=2", "hf"},
                                    {"ep=8", "megatron"}};
  for (const bool has_experts : {false, true}) {
    std::mt19937_64 random(has_experts ? 5 : 4);
    const tensors model = has_experts ? expert_model(random) : grouped_model(random);
    const io_test::workplace at;
    write_model(at, "model", model, has_experts ? expert_config : grouped_config);
    std::vector<form> forms = common;
    if (!has_experts)
      forms.insert(forms.end(), {{"tp=2", "hf-fused"},
                                 {"whole", "hf-fused"},
                                 {"tp=4,pp=2", "hf-fused"},
                                 {"tp=8", "megatron"},
                                 {"pp=2,tp=16", "megatron"}});
    for (std::size_t i = 0; i < forms.size(); ++i)
      ASSERT_EQ(complaint({.source = at.path("model"),
                           .target = at.path(std::to_string(i)),
                           .to = forms[i].layout,
                           .to_map = forms[i].map}),
                "")
          << forms[i].layout << forms[i].map;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const std::string back = at.path("back" + std::to_string(i));
      ASSERT_EQ(complaint({.source = at.path(std::to_string(i)), .target = back, .to_map = "hf"}), "")
          << forms[i].layout << forms[i].map;
      EXPECT_TRUE(read_whole(back) == model) << forms[i].layout << " " << forms[i].map;
      // From each to each: the bytes of the set that was made of the whole model.
      for (std::size_t k = 0; k < forms.size(); ++k) {
        if (!exhaustive() && (i + k) % 4 != 0) continue;
        const std::string other = at.path("other");
        ASSERT_EQ(
            complaint(
                {.source = at.path(std::to_string(i)), .target = other, .to = forms[k].layout, .to_map = forms[k].map}),
            "")
            << i << " " << k;
        tensors a = read_whole(at.path(std::to_string(k)));
        EXPECT_TRUE(a == read_whole(other))
            << forms[i].layout << forms[i].map << " to " << forms[k].layout << forms[k].map;
        for (auto& [name, bytes] : files_of(at.path(std::to_string(k)))) {
          if (name.ends_with(".safetensors")) {
            EXPECT_TRUE(read_file(at.path(std::to_string(k)) + "/" + name) == read_file(other + "/" + name)) << name;
          }
        }
        fs::remove_all(other);
      }
    }
  }
}

/// Rows of a group in Megatron-LM's linear_qkv: its query heads, its key, its value.
TEST(Reshard, QueriesKeysAndValuesLieByGroupsAsMegatronHasThem) {
  std::mt19937_64 random(6);
  const tensors model = grouped_model(random);
  const io_test::workplace at;
  write_model(at, "model", model, grouped_config);
  const rs::reshard_certificate c =
      convert({.source = at.path("model"), .target = at.path("m"), .to = "tp=2,pp=2", .to_map = "megatron"});
  EXPECT_EQ(c.proved_tensors, c.target_tensors);
  for (int tp = 0; tp < 2; ++tp)
    for (int pp = 0; pp < 2; ++pp) {
      const tensors rank =
          read_file(at.path("m/mp_rank_0" + std::to_string(tp) + "_00" + std::to_string(pp) + "/model.safetensors"));
      for (int local = 0; local < 2; ++local) {
        const std::string theirs = "decoder.layers." + std::to_string(local) + ".",
                          hf = "model.layers." + std::to_string(2 * pp + local) + ".";
        for (const char* kind : {".weight", ".bias"}) {
          std::vector<tensor> parts;
          for (int group = 2 * tp; group < 2 * tp + 2; ++group) {
            parts.push_back(rows(model.at(hf + "self_attn.q_proj" + kind), group * 16, group * 16 + 16));
            parts.push_back(rows(model.at(hf + "self_attn.k_proj" + kind), group * 8, group * 8 + 8));
            parts.push_back(rows(model.at(hf + "self_attn.v_proj" + kind), group * 8, group * 8 + 8));
          }
          EXPECT_EQ(rank.at(theirs + "self_attention.linear_qkv" + kind), stacked_rows(parts));
        }
        EXPECT_EQ(rank.at(theirs + "mlp.linear_fc1.weight"),
                  stacked_rows({rows(model.at(hf + "mlp.gate_proj.weight"), tp * 24, tp * 24 + 24),
                                rows(model.at(hf + "mlp.up_proj.weight"), tp * 24, tp * 24 + 24)}));
        EXPECT_EQ(rank.at(theirs + "mlp.linear_fc2.weight"),
                  columns(model.at(hf + "mlp.down_proj.weight"), tp * 24, tp * 24 + 24));
        EXPECT_EQ(rank.at(theirs + "mlp.linear_fc1.layer_norm_weight"),
                  model.at(hf + "post_attention_layernorm.weight"));
      }
      EXPECT_EQ(rank.contains("embedding.word_embeddings.weight"), pp == 0);
      EXPECT_EQ(rank.contains("output_layer.weight"), pp == 1);
      if (pp != 0) continue;
      // 100 rows are padded to 256, 128 on each rank.
      const tensor& table = model.at("model.embed_tokens.weight");
      EXPECT_EQ(rank.at("embedding.word_embeddings.weight"),
                gathered(table, {128, 32}, [&](const std::vector<std::int64_t>& i) {
                  const std::int64_t row = tp * 128 + i[0];
                  return row < 100 ? row * 32 + i[1] : -1;
                }));
    }
  // 156 rows of zeros in the table and the head, of 32 elements of two bytes each.
  EXPECT_EQ(c.constant_bytes, 2 * 156 * 32 * 2);
}

/// With more ranks than groups ranks have equal rows of the whole, as its column-parallel linear map has them.
TEST(Reshard, RanksBeyondTheGroupsHavePartsOfOne) {
  std::mt19937_64 random(15);
  const tensors model = grouped_model(random);
  const io_test::workplace at;
  write_model(at, "model", model, grouped_config);
  for (const int tp : {2, 4, 8, 16, 32, 64}) {
    const std::string m = at.path("m" + std::to_string(tp));
    rs::reshard_request r{.source = at.path("model"),
                          .target = m,
                          .to = "tp=" + std::to_string(tp),
                          .to_map = "megatron",
                          .left_out = {"*.mlp.*"}};  // 48 rows, which 32 ranks do not divide
    const rs::reshard_certificate c = convert(r);
    EXPECT_EQ(c.proved_tensors, c.target_tensors);
    for (const char* kind : {".weight", ".bias"}) {
      const std::string hf = "model.layers.3.self_attn.";
      std::vector<tensor> parts;
      for (int group = 0; group < 4; ++group) {
        parts.push_back(rows(model.at(hf + "q_proj" + kind), group * 16, group * 16 + 16));
        parts.push_back(rows(model.at(hf + "k_proj" + kind), group * 8, group * 8 + 8));
        parts.push_back(rows(model.at(hf + "v_proj" + kind), group * 8, group * 8 + 8));
      }
      const tensor whole = stacked_rows(parts);
      for (int rank = 0; rank < tp; ++rank) {
        char folder[40];
        std::snprintf(folder, sizeof folder, "/mp_rank_%02d/model.safetensors", rank);
        ASSERT_EQ(read_file(m + folder).at(std::string("decoder.layers.3.self_attention.linear_qkv") + kind),
                  rows(whole, rank * 128 / tp, (rank + 1) * 128 / tp))
            << tp << " " << rank;
      }
    }
  }
  EXPECT_NE(complaint({.source = at.path("model"), .target = at.path("n"), .to = "tp=256", .to_map = "megatron"})
                .find("do not divide"),
            std::string::npos);
}

TEST(Reshard, ScalesOfBlocksGiveTheNumbersBack) {
  const io_test::workplace at;
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  tensor t{"F32", {256, 200}, ""};
  std::vector<float> values(256 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(random) * (i / 200 < 128 ? 1.0f : 1e-3f);
  t.bytes.assign(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  const tensors model = {{"model.layers.0.mlp.up_proj.weight", t},
                         {"model.norm.weight", random_tensor(random, "BF16", {8})}};
  write_file(at.path("m/model.safetensors"), model);
  for (const std::int64_t block : {128, 0})
    for (const char* to : {"whole", "tp=2"}) {
      const std::string out = at.path(std::string(to) + std::to_string(block));
      ASSERT_EQ(complaint({.source = at.path("m"),
                           .target = out,
                           .to = to,
                           .dtype = "F8_E4M3",
                           .scale_block = block,
                           .limits = {4096, 2}}),
                "");
      if (std::string(to) != "whole") {  // one part on each rank, of whole blocks
        ASSERT_EQ(complaint({.source = out, .target = out + ".whole"}), "");
        EXPECT_TRUE(read_whole(out + ".whole") == read_whole(at.path("whole" + std::to_string(block))));
        continue;
      }
      const tensors read = read_whole(out);
      EXPECT_EQ(read.at("model.norm.weight"), model.at("model.norm.weight"));
      const tensor &narrow = read.at("model.layers.0.mlp.up_proj.weight"),
                   &scales = read.at("model.layers.0.mlp.up_proj.weight_scale_inv");
      EXPECT_EQ(scales.extents, block == 0 ? (std::vector<std::int64_t>{1}) : (std::vector<std::int64_t>{2, 2}));
      for (std::size_t i = 0; i < values.size(); ++i) {
        float scale;
        const std::size_t place = block == 0 ? 0 : i / 200 / 128 * 2 + i % 200 / 128;
        std::memcpy(&scale, scales.bytes.data() + 4 * place, 4);
        const double again =
            rs::decoded(*rs::find_float("F8_E4M3"), static_cast<unsigned char>(narrow.bytes[i])) * scale;
        const double largest = 448.0 * scale;
        ASSERT_NEAR(again, values[i], std::max(std::fabs(values[i]) / 16.0, largest / 448 / 512)) << i;
      }
    }
}

TEST(Reshard, TiedHeadsLieOnTheLastStage) {
  std::mt19937_64 random(8);
  tensors model = grouped_model(random);
  model.erase("lm_head.weight");
  const io_test::workplace at;
  write_model(at, "model", model,
              R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "tie_word_embeddings": true})");
  ASSERT_EQ(complaint({.source = at.path("model"),
                       .target = at.path("m"),
                       .to = "pp=2",
                       .to_map = "megatron",
                       .sizes = "vocabulary_multiple=1"}),
            "");
  EXPECT_EQ(read_file(at.path("m/mp_rank_00_001/model.safetensors")).at("output_layer.weight"),
            model.at("model.embed_tokens.weight"));
  ASSERT_EQ(complaint({.source = at.path("m"), .target = at.path("back"), .to_map = "hf"}), "");
  EXPECT_TRUE(read_whole(at.path("back")) == model);
}

TEST(Reshard, OneFileHoldsAnyMap) {
  std::mt19937_64 random(14);
  const tensors model = grouped_model(random);
  const io_test::workplace at;
  write_model(at, "model", model, grouped_config);
  const std::string sizes = "query_heads=8,key_heads=4,head_dim=8,vocabulary=100";
  for (const char* map : {"hf", "megatron", "ours", "hf-fused"}) {
    const std::string one = at.path(std::string(map) + ".safetensors"), back = at.path(std::string(map) + ".back");
    ASSERT_EQ(complaint({.source = at.path("model"), .target = one, .to_map = map}), "") << map;
    ASSERT_EQ(complaint({.source = one, .target = back, .to_map = "hf", .sizes = sizes}), "") << map;
    EXPECT_TRUE(read_whole(back) == model) << map;
  }
}

TEST(Reshard, NothingIsLostInSilence) {
  std::mt19937_64 random(9);
  tensors model = grouped_model(random);
  model["model.layers.0.self_attn.rotary_emb.inv_freq"] = random_tensor(random, "F32", {4});
  const io_test::workplace at;
  write_model(at, "model", model, grouped_config);
  rs::reshard_request r{.source = at.path("model"), .target = at.path("m"), .to_map = "megatron"};
  EXPECT_EQ(complaint(r),
            "tensor 'model.layers.0.self_attn.rotary_emb.inv_freq' is not carried over: no rule of the target's map "
            "writes it; --leave-out allows that");
  r.left_out = {"*.inv_freq"};
  EXPECT_EQ(complaint(r), "");
  EXPECT_NE(complaint(r).find("it is there already, and nothing is overwritten"), std::string::npos);
  model.erase("model.layers.2.self_attn.k_proj.weight");
  write_model(at, "without", model, grouped_config);
  EXPECT_NE(
      complaint(
          {.source = at.path("without"), .target = at.path("n"), .to_map = "megatron", .left_out = {"*.inv_freq"}})
          .find("k_proj.weight', which the source has not"),
      std::string::npos);
  // A shard that is missing, and one of another size.
  ASSERT_EQ(complaint({.source = at.path("model"), .target = at.path("t"), .to = "tp=2", .left_out = {"*.inv_freq"}}),
            "");
  EXPECT_NE(complaint({.source = at.path("t"), .target = at.path("u"), .from = "tp=4"}).find("it has files of 2 ranks"),
            std::string::npos);
  tensors shard = read_file(at.path("t/rank_tp1.safetensors"));
  shard.erase("model.norm.weight");
  shard["model.layers.0.mlp.up_proj.weight"] = random_tensor(random, "BF16", {20, 32});
  write_file(at.path("t/rank_tp1.safetensors"), shard);
  EXPECT_NE(complaint({.source = at.path("t"), .target = at.path("u")}).find("'model.layers.0.mlp.up_proj.weight'"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(at.path("u")));
}

TEST(Reshard, DamageOfASourceIsNamedAndNoTargetAppears) {
  std::mt19937_64 random(10);
  const io_test::workplace at;
  write_file(at.path("m.safetensors"),
             {{"a", random_tensor(random, "BF16", {300, 100})}, {"b", random_tensor(random, "F32", {50})}});
  std::string bytes = at.get("m.safetensors");
  bytes[bytes.size() - 20000] ^= 4;
  at.put("m.safetensors", bytes);
  EXPECT_NE(
      complaint({.source = at.path("m.safetensors"), .target = at.path("n.safetensors")}).find("tensor 'a' is damaged"),
      std::string::npos);
  EXPECT_FALSE(fs::exists(at.path("n.safetensors")));
}

TEST(Reshard, TextsOfHeadersAreCarriedOver) {
  std::mt19937_64 random(13);
  const io_test::workplace at;
  const tensor t = random_tensor(random, "BF16", {4, 2});
  const std::vector<hp::detail::tensor_source> sources = {
      {"model.norm.weight", t.dtype, t.extents, std::as_bytes(std::span(t.bytes))}};
  hp::detail::write_safetensors(at.path("m.safetensors"), sources, {{"steps", "12"}, {"format", "np"}});
  ASSERT_EQ(complaint({.source = at.path("m.safetensors"), .target = at.path("n.safetensors")}), "");
  EXPECT_EQ(hp::detail::safetensors_file(at.path("n.safetensors")).header().metadata,
            (std::map<std::string, std::string>{{"steps", "12"}, {"format", "pt"}}));
}

TEST(Reshard, FilesOfHuggingFaceHaveAnIndexThatIsReadBack) {
  std::mt19937_64 random(11);
  const tensors model = grouped_model(random);
  const io_test::workplace at;
  write_model(at, "model", model, grouped_config);
  rs::reshard_request r{.source = at.path("model"), .target = at.path("split")};
  r.largest_file = 20000;
  ASSERT_EQ(complaint(r), "");
  EXPECT_TRUE(fs::exists(at.path("split/model-00001-of-00006.safetensors")));
  ASSERT_EQ(complaint({.source = at.path("split"), .target = at.path("one.safetensors")}), "");
  EXPECT_TRUE(read_file(at.path("one.safetensors")) == model);
}

TEST(Reshard, ARunGoesOnWhereItWasStopped) {
  std::mt19937_64 random(12);
  const io_test::workplace at;
  write_model(at, "model", grouped_model(random), grouped_config);
  const rs::reshard_request whole{
      .source = at.path("model"), .target = at.path("whole"), .to = "tp=2", .to_map = "megatron"};
  ASSERT_EQ(complaint(whole), "");
  rs::reshard_request r = whole;
  r.target = at.path("m");
  const rs::prepared_reshard p = rs::prepare_reshard(r);
  struct stopped {};
  for (int runs = 0;; ++runs) {
    int tiles = 0;
    bool is_done = true;
    try {
      rs::execute_reshard(p, [&](std::int64_t, std::int64_t) {
        if (++tiles > 3) throw stopped();
      });
    } catch (const stopped&) {
      is_done = false;
      EXPECT_FALSE(fs::exists(at.path("m")));
      rs::reshard_request other = r;
      other.to = "tp=4";
      EXPECT_NE(complaint(other).find("holds the beginning of another conversion"), std::string::npos);
    }
    ASSERT_LT(runs, 100);
    if (!is_done) continue;
    EXPECT_GT(runs, 10);
    break;
  }
  EXPECT_TRUE(files_of(at.path("m")) == files_of(at.path("whole")));
  EXPECT_EQ(at.names(), (std::set<std::string>{"m", "model", "whole"}));
}

}  // namespace
