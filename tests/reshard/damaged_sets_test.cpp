// SPDX-License-Identifier: Apache-2.0
// Whole checkpoints, damaged in every way that a folder can be: each is read and planned as something consistent, or
// refused in one line; nothing outside the folder is read, no more memory is taken than the files have, nothing is
// written. 300 folders, and 10⁵ with HYPERPARALLEL_EXHAUSTIVE.

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reshard/reshard.hpp"

#include <support/tries.hpp>

#include "checkpoint/model_files.hpp"
#include "set_damage.hpp"

namespace {

std::atomic<std::size_t> largest_allocation{0}, allocated{0};

void count(std::size_t bytes) {
  allocated += bytes;
  for (std::size_t most = largest_allocation; most < bytes && !largest_allocation.compare_exchange_weak(most, bytes);) {
  }
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  count(bytes);
  if (void* const p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  count(bytes);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count(bytes);
  const std::size_t unit = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace checkpoint_test;
namespace fs = std::filesystem;
namespace rs = hp_tool::reshard;

constexpr const char* secret = "secret_of_another_folder";

/// Two layers of four query and two key heads.
tensors small_model(std::mt19937_64& random) {
  tensors m;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> extents) {
    m[name] = random_tensor(random, "BF16", std::move(extents));
  };
  add("model.embed_tokens.weight", {12, 8});
  add("model.norm.weight", {8});
  add("lm_head.weight", {12, 8});
  for (int l = 0; l < 2; ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".";
    for (const auto& [name, rows_of] : {std::pair("q_proj", 8), std::pair("k_proj", 4), std::pair("v_proj", 4)})
      add(at + "self_attn." + name + ".weight", {rows_of, 8});
    add(at + "self_attn.o_proj.weight", {8, 8});
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(at + norm + ".weight", {8});
    for (const char* up : {"gate_proj", "up_proj"}) add(at + "mlp." + up + ".weight", {8, 8});
    add(at + "mlp.down_proj.weight", {8, 8});
  }
  return m;
}
constexpr const char* small_config =
    R"({"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "hidden_size": 8, "vocab_size": 12})";

/// A set whose manifest lists slices, as a run keeps it: every tensor in two halves.
void write_slices(const std::string& folder, const tensors& model) {
  tensors halves[2];
  std::vector<rs::sliced_tensor> list;
  for (const auto& [name, t] : model) {
    list.push_back({name, t.dtype, t.extents, {}});
    const std::int64_t rows_of = t.extents[0], middle = rows_of / 2;
    for (int f = 0; f < 2; ++f) {
      const std::int64_t begin = f == 0 ? 0 : middle, end = f == 0 ? middle : rows_of;
      rs::tensor_slice s{f, -1, {{begin, end}}};
      for (std::size_t d = 1; d < t.extents.size(); ++d) s.box.push_back({0, t.extents[d]});
      halves[f][name] = rows(t, begin, end);
      list.back().slices.push_back(std::move(s));
    }
  }
  nlohmann::json d = {{"format", "hyperparallel.set.1"}, {"map", "hf"}, {"tensors", rs::slices_json(list)}};
  for (int f = 0; f < 2; ++f) {
    d["files"].push_back("part_" + std::to_string(f) + ".safetensors");
    write_file(folder + "/" + d["files"].back().get<std::string>(), halves[f]);
  }
  std::ofstream(folder + "/hyperparallel_set.json") << d.dump(1);
}

/// Checkpoints of each kind that is read.
std::vector<damaged_folder> whole_folders(const io_test::workplace& at) {
  std::mt19937_64 random(31);
  const tensors model = small_model(random);
  write_model(at, "hf", model, small_config);
  at.put("hf/tokenizer.json", "{}");
  const auto make = [&](rs::reshard_request r, const char* name) {
    r.source = at.path("hf");
    r.target = at.path(name);
    rs::execute_reshard(rs::prepare_reshard(r));
  };
  rs::reshard_request split;
  split.largest_file = 900;
  make(split, "split");
  make({.source = "", .target = "", .to = "tp=2"}, "ranks");
  make({.source = "", .target = "", .to = "tp=2,pp=2", .to_map = "megatron"}, "megatron");
  make({.source = "", .target = "", .to_map = "ours"}, "ours");
  write_slices(at.path("slices"), model);
  std::vector<damaged_folder> all;
  for (const char* name : {"hf", "split", "ranks", "megatron", "ours", "slices"})
    all.push_back({files_of(at.path(name)), {}});
  all.push_back(all[3]);  // folders of Megatron-LM without a manifest of ours
  all.back().files.erase("hyperparallel_set.json");
  return all;
}

rs::reshard_request any_request(std::mt19937_64& random, const damaged_folder& f, const io_test::workplace& at) {
  const auto one_of = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
  rs::reshard_request r{.source = at.path("set"), .target = at.path("target")};
  r.to = one_of({"", "whole", "tp=2", "tp=2,pp=2", "ep=2"});
  r.to_map = one_of({"", "", "", "", "hf", "megatron", "ours", "hf-fused"});
  if (random() % 16 == 0) r.from = one_of({"tp=2", "tp=2,pp=2"});
  r.dtype = one_of({"", "", "", "F32", "F8_E4M3"});
  if (random() % 3 == 0) r.left_out = {"*"};
  if (random() % 8 == 0 && !f.files.empty()) {
    auto name = f.files.begin();
    std::advance(name, static_cast<std::ptrdiff_t>(random() % f.files.size()));
    r.source += "/" + name->first;
  }
  return r;
}

/// What has been found of all folders.
struct figures {
  int accepted = 0, refused = 0, carried_out = 0;
  std::size_t largest = 0, most = 0;
  double slowest = 0;
  std::map<std::string, int> by_damage{};
};

void expect_one_line(const std::string& told) {
  EXPECT_FALSE(told.empty());
  EXPECT_LT(told.size(), 20000U);
  for (const char c : told) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << told;
}

/// A plan of a damaged folder that is accepted: proved, and of files of the folder alone.
void expect_consistent(const rs::prepared_reshard& p, const std::string& folder) {
  EXPECT_EQ(p.plan.certificate.proved_tensors, p.plan.certificate.target_tensors);
  const std::string root = fs::canonical(folder).string() + "/";
  for (const rs::set_file& f : p.source) {
    EXPECT_TRUE(fs::canonical(f.path).string().starts_with(root)) << f.path;
    for (const hyperparallel::tensor_entry& t : f.tensors) EXPECT_NE(t.name, secret);
  }
  for (const rs::side_file& f : p.beside) EXPECT_EQ(f.text.find(secret), std::string::npos) << f.name;
}

void try_folder(const damaged_folder& f, std::mt19937_64& random, const io_test::workplace& at, figures& all) {
  lay_out(f, at.path("set"));
  std::size_t bytes = 0;
  for (const auto& [name, text] : f.files) bytes += text.size();
  const rs::reshard_request r = any_request(random, f, at);
  const bool carry_out = random() % 8 == 0;
  largest_allocation = allocated = 0;
  const auto begin = std::chrono::steady_clock::now();
  try {
    const rs::prepared_reshard p = rs::prepare_reshard(r);
    all.largest = std::max<std::size_t>(all.largest, largest_allocation);
    EXPECT_LE(largest_allocation, (std::size_t{1} << 18) + 64 * bytes);
    ++all.accepted;
    expect_consistent(p, at.path("set"));
    EXPECT_FALSE(fs::exists(at.path("target")));
    if (carry_out) {
      ++all.carried_out;
      rs::execute_reshard(p);
    }
  } catch (const rs::reshard_error& e) {
    ++all.refused;
    all.largest = std::max<std::size_t>(all.largest, largest_allocation);
    EXPECT_LE(largest_allocation, (std::size_t{1} << 18) + 64 * bytes) << e.what();
    expect_one_line(e.what());
    EXPECT_FALSE(fs::exists(at.path("target")));
  }
  all.most = std::max<std::size_t>(all.most, allocated);
  all.slowest = std::max(all.slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  for (const char* made : {"set", "target", ".target.reshard"}) fs::remove_all(at.path(made));
}

}  // namespace

TEST(DamagedSets, AreReadAsSomethingConsistentOrRefusedInOneLine) {
  const io_test::workplace originals, at;
  const std::vector<damaged_folder> whole = whole_folders(originals);
  fs::create_directories(at.path("outside"));
  std::mt19937_64 random(32);
  write_file(at.path("outside/secret.safetensors"), {{secret, random_tensor(random, "BF16", {8})}});
  at.put("outside/config.json", "{\"about\": \"" + std::string(secret) + "\"}");
  const std::string before = at.get("outside/secret.safetensors");
  set_damage damages(random, at.path("outside/secret.safetensors"));
  figures all;
  const int cases = tested::tries(300, 100'000);
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    damaged_folder f = whole[random() % whole.size()];
    for (auto n = random() % 8 == 0 ? 3 : 1; n > 0; --n) damages.damage(f);
    SCOPED_TRACE("case " + std::to_string(i) + ", damage of " + damages.last());
    ++all.by_damage[damages.last()];
    try_folder(f, random, at, all);
  }
  EXPECT_EQ(at.get("outside/secret.safetensors"), before);
  EXPECT_EQ(at.names(), (std::set<std::string>{"outside"}));
  EXPECT_GT(all.accepted, cases / 50);
  EXPECT_GT(all.refused, cases / 3);
  std::printf(
      "%d accepted, %d refused, %d carried out; largest allocation %zu bytes, most of a folder %zu, slowest %.3f s\n",
      all.accepted, all.refused, all.carried_out, all.largest, all.most, all.slowest);
  for (const auto& [damage, n] : all.by_damage) std::printf("  %s %d\n", damage.c_str(), n);
}
