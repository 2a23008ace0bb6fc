// SPDX-License-Identifier: Apache-2.0
// Weights of 8 bits with their scales, held against a converter that has whole tensors and takes one element at a time.

#include "reshard/reshard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/model_files.hpp"
#include "reshard/element_type.hpp"

namespace rs = hp_tool::reshard;

namespace {

using namespace checkpoint_test;

bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

std::string complaint(const rs::reshard_request& r, rs::reshard_certificate* certificate = nullptr) {
  try {
    const rs::prepared_reshard p = rs::prepare_reshard(r);
    rs::execute_reshard(p);
    if (certificate != nullptr) *certificate = p.plan.certificate;
  } catch (const rs::reshard_error& e) {
    return e.what();
  }
  return "";
}

std::uint64_t bits_at(const tensor& t, std::size_t i) {
  const auto width = static_cast<std::size_t>(hp::detail::dtype_bits(t.dtype) / 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, t.bytes.data() + i * width, width);
  return bits;
}
float number_at(const tensor& t, std::size_t i) {
  if (t.dtype == "F8_E8M0") return std::ldexp(1.0f, static_cast<int>(bits_at(t, i)) - 127);
  return static_cast<float>(rs::decoded(*rs::find_float(t.dtype), bits_at(t, i)));
}
void append(tensor& t, double value) {
  const std::uint64_t bits = rs::encoded(*rs::find_float(t.dtype), value);
  t.bytes.append(reinterpret_cast<const char*>(&bits), static_cast<std::size_t>(hp::detail::dtype_bits(t.dtype) / 8));
}

struct block {
  std::int64_t rows, columns;
};

/// Each element times the scale of its block, by f32.
tensor product(const tensor& weight, const tensor& scales, block b, const std::string& dtype) {
  tensor out{dtype, weight.extents, ""};
  const std::int64_t wide = (weight.extents[1] + b.columns - 1) / b.columns;
  for (std::int64_t i = 0; i < weight.extents[0]; ++i)
    for (std::int64_t k = 0; k < weight.extents[1]; ++k) {
      const float one = number_at(weight, static_cast<std::size_t>(i * weight.extents[1] + k));
      const float scale = number_at(scales, static_cast<std::size_t>(i / b.rows * wide + k / b.columns));
      append(out,
             dtype == "F64" ? static_cast<double>(one) * static_cast<double>(scale) : static_cast<double>(one * scale));
    }
  return out;
}

/// A weight with scales of one of the published kinds.
struct drawn {
  tensor weight, scales;
  block of;
  std::string suffix;
  bool is_by_blocks;
};

drawn draw(std::mt19937_64& random, std::int64_t rows, std::int64_t columns, block b) {
  drawn d{random_tensor(random, random() % 3 == 0 ? "F8_E5M2" : "F8_E4M3", {rows, columns}),
          {random() % 2 == 0   ? "F32"
           : random() % 2 == 0 ? "BF16"
                               : "F8_E8M0",
           {},
           ""},
          b,
          random() % 2 == 0 ? "_scale_inv" : "_scale",
          false};
  // Without what is no number: its payload is not kept.
  for (char& c : d.weight.bytes)
    if (!std::isfinite(rs::decoded(*rs::find_float(d.weight.dtype), static_cast<unsigned char>(c)))) c = 1;
  switch (random() % 5) {
    case 0:
      d.scales.extents = {};
      d.of = {rows, columns};
      break;
    case 1:
      d.scales.extents = {rows};
      d.of = {1, columns};
      break;
    case 2:
      d.scales.extents = {rows, 1};
      d.of = {1, columns};
      break;
    default:
      d.is_by_blocks = true;
      d.scales.extents = {(rows + b.rows - 1) / b.rows, (columns + b.columns - 1) / b.columns};
  }
  for (std::int64_t n = count_of(d.scales.extents); n > 0; --n) {
    if (d.scales.dtype == "F8_E8M0")
      d.scales.bytes += static_cast<char>(110 + random() % 30);
    else
      append(d.scales,
             std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000, static_cast<int>(random() % 20) - 10));
  }
  return d;
}

const std::string up = "model.layers.0.mlp.up_proj.weight", down = "model.layers.1.mlp.down_proj.weight",
                  norm = "model.norm.weight";

TEST(ChosenTypes, ScalesAreAppliedAsANaiveConverterDoes) {
  const int rounds = exhaustive() ? 4000 : 150;
  int whole = 0, cut = 0, refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(static_cast<std::uint64_t>(round));
    const io_test::workplace at;
    const block b{2 + static_cast<std::int64_t>(random() % 5), 2 + static_cast<std::int64_t>(random() % 5)};
    const std::int64_t shards = 1 + static_cast<std::int64_t>(random() % 3);
    const auto extent = [&](std::int64_t step) {  // of blocks that shards divide, or any
      return random() % 2 == 0 ? shards * step * static_cast<std::int64_t>(1 + random() % 3)
                               : shards * static_cast<std::int64_t>(2 + random() % 12);
    };
    const drawn first = draw(random, extent(b.rows), 2 + static_cast<std::int64_t>(random() % 20), b),
                second = draw(random, 2 + static_cast<std::int64_t>(random() % 20), extent(b.columns), b);
    const tensors model = {{up, first.weight},
                           {up + first.suffix, first.scales},
                           {down, second.weight},
                           {down + second.suffix, second.scales},
                           {norm, random_tensor(random, "I32", {7})}};
    write_file(at.path("m/model.safetensors"), model);
    at.put("m/config.json",
           R"({"hidden_size": 8, "quantization_config": {"quant_method": "fp8", "weight_block_size": [)" +
               std::to_string(b.rows) + ", " + std::to_string(b.columns) + "]}}");
    // On ranks first, where the cuts part no block.
    std::string from = at.path("m");
    const std::string tp = "tp=" + std::to_string(shards);
    const auto parts = [&](const drawn& d, std::size_t dim, std::int64_t step) {
      return d.is_by_blocks && d.weight.extents[dim] / shards % step != 0;
    };
    const std::string told = complaint({.source = from, .target = at.path("ranks"), .to = tp});
    if (shards > 1 && (parts(first, 0, b.rows) || parts(second, 1, b.columns))) {
      ASSERT_TRUE(told.find("within a block of") != std::string::npos ||
                  told.find("would be cut at") != std::string::npos ||
                  told.find("shards do not divide") != std::string::npos)
          << round << told;
      ++refused;
    } else {
      ASSERT_EQ(told, "") << round;
      for (std::int64_t rank = 0; rank < shards; ++rank) {
        const tensors held = read_file(
            at.path(shards == 1 ? "ranks/model.safetensors" : "ranks/rank_tp" + std::to_string(rank) + ".safetensors"));
        const std::int64_t high = first.weight.extents[0] / shards, wide = second.weight.extents[1] / shards;
        ASSERT_EQ(held.at(up), rows(first.weight, rank * high, rank * high + high)) << round;
        ASSERT_EQ(held.at(down), columns(second.weight, rank * wide, rank * wide + wide)) << round;
        tensor scales = first.scales;
        if (!scales.extents.empty()) {
          const std::int64_t n = scales.extents[0] / shards;
          scales = rows(scales, rank * n, rank * n + n);
        }
        ASSERT_EQ(held.at(up + first.suffix), scales) << round;
        scales = second.scales;
        if (second.is_by_blocks) {
          const std::int64_t n = scales.extents[1] / shards;
          scales = columns(scales, rank * n, rank * n + n);
        }
        ASSERT_EQ(held.at(down + second.suffix), scales) << round;
      }
      ASSERT_EQ(complaint({.source = at.path("ranks"), .target = at.path("again")}), "") << round;
      ASSERT_TRUE(read_whole(at.path("again")) == model) << round;
      from = at.path("ranks");
      ++cut;
    }
    const char* dtypes[] = {"BF16", "F32", "F16", "F64"};
    const std::string dtype = dtypes[random() % 4];
    for (const std::string& to : {std::string("whole"), tp}) {
      rs::reshard_certificate c;
      ASSERT_EQ(complaint({.source = from,
                           .target = at.path("wide." + to),
                           .to = to,
                           .dtype = dtype,
                           .limits = {static_cast<std::int64_t>(std::uint64_t{1} << (5 + random() % 12)),
                                      1 + static_cast<int>(random() % 3)}},
                          &c),
                "")
          << round;
      EXPECT_EQ(c.applied_scales, 2);
      EXPECT_EQ(c.tensors, 3);
      EXPECT_EQ(c.proved_tensors, c.target_tensors);
      std::int64_t bytes = 0;
      for (const auto& [name, t] : model) bytes += static_cast<std::int64_t>(t.bytes.size());
      EXPECT_EQ(c.bytes_read, bytes);
      EXPECT_EQ(nlohmann::json::parse(at.get("wide." + to + "/config.json")), (nlohmann::json{{"hidden_size", 8}}));
    }
    ASSERT_EQ(complaint({.source = at.path("wide." + tp), .target = at.path("back")}), "") << round;
    const tensors expected = {{up, product(first.weight, first.scales, first.of, dtype)},
                              {down, product(second.weight, second.scales, second.of, dtype)},
                              {norm, model.at(norm)}};
    ASSERT_TRUE(read_whole(at.path("wide.whole")) == expected) << round;
    ASSERT_TRUE(read_whole(at.path("back")) == expected) << round;
    ++whole;
  }
  EXPECT_EQ(whole, rounds);
  EXPECT_GT(cut, rounds / 4);
  EXPECT_GT(refused, rounds / 20);
}

TEST(ChosenTypes, ThereAndBackIsWithinTheErrorOfTheFormat) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const io_test::workplace at;
  tensor t{"BF16", {300, 200}, ""};  // the last blocks are partial
  for (int i = 0; i < 300 * 200; ++i) append(t, normal(random) * (i < 128 * 200 ? 1 : 1e-3));
  write_file(at.path("m/model.safetensors"), {{up, t}});
  for (const std::int64_t scale_block : {128, 0})
    for (const char* narrow : {"F8_E4M3", "F8_E5M2"}) {
      const std::string eight = at.path(narrow + std::to_string(scale_block)), back = eight + ".back";
      ASSERT_EQ(complaint({.source = at.path("m"), .target = eight, .dtype = narrow, .scale_block = scale_block}), "");
      ASSERT_EQ(complaint({.source = eight, .target = back, .dtype = "BF16", .limits = {3000, 2}}), "");
      const tensor again = read_whole(back).at(up), scales = read_whole(eight).at(up + "_scale_inv");
      ASSERT_EQ(again.extents, t.extents);
      // Half a unit in the last place of the format, and of bf16; below the normal numbers half a step.
      const double place = std::string(narrow) == "F8_E4M3" ? 1.0 / 16 : 1.0 / 8;
      const double least = std::string(narrow) == "F8_E4M3" ? std::ldexp(1, -10) : std::ldexp(1, -17);
      for (std::size_t i = 0; i < 300 * 200; ++i) {
        const double scale = number_at(scales, scale_block == 0 ? 0 : i / 200 / 128 * 2 + i % 200 / 128);
        const double was = number_at(t, i);
        ASSERT_NEAR(number_at(again, i), was, std::max(std::fabs(was) * place, least * scale) + std::fabs(was) / 200)
            << i;
      }
    }
}

/// One scale for a tensor lies on every rank.
TEST(ChosenTypes, ScalesOfTensorsAreMadeUnderAnyLayout) {
  std::mt19937_64 random(4);
  const io_test::workplace at;
  tensor t{"BF16", {12, 9}, ""};
  for (int i = 0; i < 12 * 9; ++i) append(t, static_cast<double>(random() % 1000) - 500);
  write_file(at.path("m/model.safetensors"), {{up, t}});
  ASSERT_EQ(complaint({.source = at.path("m"), .target = at.path("whole"), .dtype = "F8_E4M3", .scale_block = 0}), "");
  ASSERT_EQ(
      complaint({.source = at.path("m"), .target = at.path("tp"), .to = "tp=3", .dtype = "F8_E4M3", .scale_block = 0}),
      "");
  const tensors whole = read_whole(at.path("whole"));
  for (const char* rank : {"0", "1", "2"})
    EXPECT_EQ(read_file(at.path(std::string("tp/rank_tp") + rank + ".safetensors")).at(up + "_scale_inv"),
              whole.at(up + "_scale_inv"));
  ASSERT_EQ(complaint({.source = at.path("tp"), .target = at.path("back")}), "");
  EXPECT_TRUE(read_whole(at.path("back")) == whole);
}

TEST(ChosenTypes, NoNumberIsConvertedWithoutItsScale) {
  std::mt19937_64 random(5);
  const io_test::workplace at;
  const drawn d = draw(random, 256, 128, {128, 128});
  tensors model = {{up, d.weight}, {norm, random_tensor(random, "F32", {8})}};
  const auto told = [&](const char* dtype, std::vector<std::string> keep = {}, std::vector<std::string> left_out = {}) {
    std::filesystem::remove_all(at.path("m"));
    std::filesystem::remove_all(at.path("n"));
    write_file(at.path("m/model.safetensors"), model);
    return complaint({.source = at.path("m"),
                      .target = at.path("n"),
                      .dtype = dtype,
                      .keep = std::move(keep),
                      .left_out = std::move(left_out)});
  };
  EXPECT_EQ(told("BF16"), "tensor '" + up + "' is F8_E4M3 and has no scales, neither '" + up + "_scale_inv' nor '" +
                              up + "_scale'; --keep leaves its type");
  EXPECT_EQ(told("BF16", {"*up_proj*"}), "");
  model[up + "_scale_inv"] = {"F32", {2, 1}, std::string(8, '\1')};
  EXPECT_EQ(told("F8_E5M2"), "tensor '" + up +
                                 "' is F8_E4M3, which becomes F8_E5M2 by way of a wider type alone: convert "
                                 "to bf16 first, or --keep leaves its type");
  // Scales of a weight that stays keep their type; those of one that does not are gone.
  EXPECT_EQ(told("BF16", {up}), "");
  tensors kept = read_whole(at.path("n"));
  EXPECT_EQ(kept.at(up + "_scale_inv"), model.at(up + "_scale_inv"));
  EXPECT_EQ(kept.at(norm).dtype, "BF16");
  EXPECT_EQ(told("BF16"), "");
  EXPECT_EQ(read_whole(at.path("n")).size(), 2u);
  model["model.layers.0.mlp.up_proj.input_scale"] = {"F32", {1}, "abcd"};
  EXPECT_EQ(told("BF16"),
            "tensor 'model.layers.0.mlp.up_proj.input_scale' is of inputs of 8 bits, which BF16 has not; "
            "--leave-out '*.input_scale' leaves it out");
  EXPECT_EQ(told("BF16", {}, {"*.input_scale"}), "");
  model[up + "_scale_inv"].extents = {1, 2};
  EXPECT_NE(told("").find("'" + up + "_scale_inv' is F32 [1, 2], no scales of F8_E4M3 [256, 128]"), std::string::npos);
}

/// A run that is stopped anywhere goes on to the same bytes, and damage of scales is named.
TEST(ChosenTypes, ARunWithScalesGoesOn) {
  std::mt19937_64 random(6);
  const io_test::workplace at;
  drawn d = draw(random, 64, 48, {128, 128});
  d.scales = {"F32", {1, 1}, std::string("\0\0\0\x40", 4)};
  write_file(at.path("m/model.safetensors"),
             {{up, d.weight}, {up + "_scale_inv", d.scales}, {down, d.weight}, {down + "_scale_inv", d.scales}});
  const rs::reshard_request r{.source = at.path("m"), .target = at.path("n"), .dtype = "BF16", .limits = {300, 1}};
  rs::reshard_request other = r;
  other.target = at.path("whole");
  ASSERT_EQ(complaint(other), "");
  struct stopped {};
  const rs::prepared_reshard p = rs::prepare_reshard(r);
  int runs = 0;
  for (bool is_done = false; !is_done; ++runs) {
    std::atomic<int> tiles = 0;
    try {
      rs::execute_reshard(p, [&](std::int64_t, std::int64_t) {
        if (++tiles > 100) throw stopped();
      });
      is_done = true;
    } catch (const stopped&) {
    }
    ASSERT_LT(runs, 10);
  }
  EXPECT_GT(runs, 1);
  EXPECT_TRUE(files_of(at.path("n")) == files_of(at.path("whole")));
  std::string bytes = at.get("m/model.safetensors");
  const std::size_t place = bytes.find(std::string("\0\0\0\x40", 4));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 1;
  at.put("m/model.safetensors", bytes);
  other.target = at.path("damaged");
  EXPECT_NE(complaint(other).find("_scale_inv' is damaged"), std::string::npos);
}

}  // namespace
