// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small models as checkpoints, whole tensors in memory, and what tests hold conversions against: every element by itself.

#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/io/safetensors.hpp>

#include "io/workplace.hpp"

namespace checkpoint_test {

namespace hp = hyperparallel;

/// Folders of tests lie in memory where they can: a conversion ends when all of it is on the disk.
inline const bool in_memory = ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 0) == 0;

struct tensor {
  std::string dtype;
  std::vector<std::int64_t> extents;
  std::string bytes;
  friend bool operator==(const tensor&, const tensor&) = default;
};
using tensors = std::map<std::string, tensor>;

inline std::int64_t count_of(const std::vector<std::int64_t>& extents) {
  std::int64_t n = 1;
  for (const std::int64_t e : extents) n *= e;
  return n;
}

inline std::string random_bytes(std::mt19937_64& random, std::int64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

inline tensor random_tensor(std::mt19937_64& random, const std::string& dtype, std::vector<std::int64_t> extents) {
  const std::int64_t bits = count_of(extents) * hp::detail::dtype_bits(dtype);
  return {dtype, std::move(extents), random_bytes(random, bits / 8)};
}

inline void write_file(const std::string& path, const tensors& all) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::vector<hp::detail::tensor_source> sources;
  for (const auto& [name, t] : all) sources.push_back({name, t.dtype, t.extents, std::as_bytes(std::span(t.bytes))});
  hp::detail::write_safetensors(path, sources);
}

inline tensors read_file(const std::string& path) {
  const hp::detail::safetensors_file file(path);
  tensors all;
  for (const hp::tensor_entry& e : file.header().tensors) {
    tensor t{e.dtype, e.extents, std::string(static_cast<std::size_t>(e.end - e.begin), '?')};
    file.read(e.name, std::as_writable_bytes(std::span(t.bytes)));  // holds the checksum
    all[e.name] = std::move(t);
  }
  return all;
}

/// All tensors of a whole checkpoint.
inline tensors read_whole(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return read_file(path);
  tensors all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.path().extension() == ".safetensors") all.merge(read_file(entry.path().string()));
  return all;
}

/// Every file with its bytes.
inline std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all[entry.path().lexically_relative(folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return all;
}

/// A new tensor whose element at `index` is the element `from(index)` of `t`, in row-major order; negative: zero.
inline tensor gathered(const tensor& t, std::vector<std::int64_t> extents,
                       const std::function<std::int64_t(const std::vector<std::int64_t>&)>& from) {
  const std::size_t width = t.bytes.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, count_of(t.extents)));
  tensor out{t.dtype, std::move(extents), ""};
  std::vector<std::int64_t> index(out.extents.size(), 0);
  for (std::int64_t n = count_of(out.extents); n > 0; --n) {
    const std::int64_t at = from(index);
    out.bytes += at < 0 ? std::string(width, '\0') : t.bytes.substr(static_cast<std::size_t>(at) * width, width);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.extents[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

inline tensor sliced(const tensor& t, const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  std::vector<std::int64_t> extents;
  for (const auto& [begin, end] : ranges) extents.push_back(end - begin);
  return gathered(t, extents, [&](const std::vector<std::int64_t>& i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < i.size(); ++d) at = at * t.extents[d] + ranges[d].first + i[d];
    return at;
  });
}

/// Rows of `parts` below each other.
inline tensor stacked_rows(const std::vector<tensor>& parts) {
  tensor all = parts[0];
  all.extents[0] = 0;
  all.bytes.clear();
  for (const tensor& p : parts) {
    all.extents[0] += p.extents[0];
    all.bytes += p.bytes;
  }
  return all;
}
inline tensor rows(const tensor& t, std::int64_t begin, std::int64_t end) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges = {{begin, end}};
  for (std::size_t d = 1; d < t.extents.size(); ++d) ranges.push_back({0, t.extents[d]});
  return sliced(t, ranges);
}
inline tensor columns(const tensor& t, std::int64_t begin, std::int64_t end) {
  return sliced(t, {{0, t.extents[0]}, {begin, end}});
}

/// Four layers of grouped-query attention: 8 query heads, 4 key heads of 8 channels.
inline tensors grouped_model(std::mt19937_64& random) {
  tensors m;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> extents) {
    m[name] = random_tensor(random, "BF16", std::move(extents));
  };
  add("model.embed_tokens.weight", {100, 32});
  add("model.norm.weight", {32});
  add("lm_head.weight", {100, 32});
  for (int l = 0; l < 4; ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".";
    for (const auto& [name, rows_of] : {std::pair("q_proj", 64), std::pair("k_proj", 32), std::pair("v_proj", 32)}) {
      add(at + "self_attn." + name + ".weight", {rows_of, 32});
      add(at + "self_attn." + name + ".bias", {rows_of});
    }
    add(at + "self_attn.o_proj.weight", {32, 64});
    for (const char* norm : {"self_attn.q_norm", "self_attn.k_norm"}) add(at + norm + ".weight", {8});
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(at + norm + ".weight", {32});
    add(at + "mlp.gate_proj.weight", {48, 32});
    add(at + "mlp.up_proj.weight", {48, 32});
    add(at + "mlp.down_proj.weight", {32, 48});
  }
  return m;
}
inline constexpr const char* grouped_config =
    R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "hidden_size": 32, "vocab_size": 100})";

/// Four layers of latent attention, the first without experts: 4 heads, 8 experts and a shared one.
inline tensors expert_model(std::mt19937_64& random) {
  tensors m;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> extents, const char* dtype = "BF16") {
    m[name] = random_tensor(random, dtype, std::move(extents));
  };
  add("model.embed_tokens.weight", {128, 32});
  add("model.norm.weight", {32});
  add("lm_head.weight", {128, 32});
  for (int l = 0; l < 4; ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".", attention = at + "self_attn.", mlp = at + "mlp.";
    add(attention + "q_a_proj.weight", {24, 32});
    add(attention + "q_a_layernorm.weight", {24});
    add(attention + "q_b_proj.weight", {4 * 12, 24});
    add(attention + "kv_a_proj_with_mqa.weight", {20, 32});
    add(attention + "kv_a_layernorm.weight", {16});
    add(attention + "kv_b_proj.weight", {4 * 16, 16});
    add(attention + "o_proj.weight", {32, 32});
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(at + norm + ".weight", {32});
    const auto feed_forward = [&](const std::string& name, std::int64_t width) {
      add(name + "gate_proj.weight", {width, 32});
      add(name + "up_proj.weight", {width, 32});
      add(name + "down_proj.weight", {32, width});
    };
    if (l == 0) {
      feed_forward(mlp, 48);
      continue;
    }
    add(mlp + "gate.weight", {8, 32});
    add(mlp + "gate.e_score_correction_bias", {8}, "F32");
    feed_forward(mlp + "shared_experts.", 16);
    for (int e = 0; e < 8; ++e) feed_forward(mlp + "experts." + std::to_string(e) + ".", 16);
  }
  return m;
}
inline constexpr const char* expert_config =
    R"({"num_attention_heads": 4, "hidden_size": 32, "vocab_size": 128, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
        "v_head_dim": 8, "kv_lora_rank": 16, "first_k_dense_replace": 1})";

/// A folder of a model with its config.json.
inline void write_model(const io_test::workplace& at, const std::string& name, const tensors& model,
                        const char* config) {
  write_file(at.path(name + "/model.safetensors"), model);
  at.put(name + "/config.json", config);
}

}  // namespace checkpoint_test
