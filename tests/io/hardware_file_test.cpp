// SPDX-License-Identifier: Apache-2.0
// Own hardware is read as it is written; what cannot be is one line; no bytes crash the reader.

#include "workplace.hpp"

#include <hyperparallel/io/hardware_file.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

const std::string whole = R"({"name": "mine",
  "device": {"matrix_cores": 100, "vector_cores": 50, "tflops": {"bf16": 400.5, "f32": 20}, "vector_tflops": 20,
             "l2_mib": 40, "l2_gb_per_s": 5000, "matrix_share": 0.6, "tile_share": 0.75, "launch_us": 3, "signal_us": 1.5, "tile": {"rows": 64, "columns": 32},
             "memory": [{"gib": 80, "gb_per_s": 2000, "reached": 0.9}, {"kind": "storage", "gib": 1000, "gb_per_s": 7}]},
  "levels": [{"name": "node", "ranks": 8, "gb_per_s": 300, "latency_us": 2},
             {"name": "net", "gb_per_s": 25, "latency_us": 5}]})";

std::string complaint(const std::string& text) {
  try {
    hp::detail::parse_hardware_file(text, "h.json");
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "read";
}

/// The whole file with the value at a JSON pointer replaced; a null takes it away.
std::string edited(const std::string& at, const json& value) {
  json object = json::parse(whole);
  object[json::json_pointer(at)] = value;
  return object.dump();
}

TEST(hardware_file, what_is_written_is_read) {
  const hp::known_hardware h = hp::detail::parse_hardware_file(whole, "h.json");
  EXPECT_STREQ(h.name.text, "mine");
  EXPECT_EQ(h.device.aic, 100);
  EXPECT_EQ(h.device.aiv, 50);
  EXPECT_EQ(h.device.matrix_flops[0], 400'500 * hp::gigaflops);
  EXPECT_EQ(h.device.matrix_flops[1], 0) << "it multiplies no f16";
  EXPECT_EQ(h.device.tier_count, 2);
  EXPECT_EQ(h.device.tier[0], (hp::memory_tier{hp::hbm, 80 * hp::GiB, 2000 * hp::gigabyte, hp::per_mille(900), 0}));
  EXPECT_EQ(h.device.tier[1].kind, hp::memory_kind::storage);
  EXPECT_EQ(h.device.tier[1].reached, hp::assumed::host_share);
  EXPECT_EQ(h.device.tile, (hp::matrix_tile{64, 32}));
  EXPECT_EQ(h.device.gmm_cold, hp::per_mille(600));
  EXPECT_EQ(h.device.task_overhead, 3 * hp::microsecond);
  EXPECT_EQ(h.device.vector_synchronisation_latency, 1500 * hp::nanosecond);
  EXPECT_EQ(h.links.topology,
            hp::topology_of(hp::link_level{"node", 8, 300 * hp::gigabyte, 2 * hp::microsecond},
                            hp::link_level{"net", hp::unbounded_group, 25 * hp::gigabyte, 5 * hp::microsecond}));
  EXPECT_EQ(hp::check_hardware(h.device, h.links, 1 << 20), hp::hardware_status{});
}

TEST(hardware_file, shares_by_message_size_are_read) {
  const hp::known_hardware h = hp::detail::parse_hardware_file(
      edited("/levels/1/by_size", json::parse(R"([{"kib": 64, "share": 0.5}, {"kib": 1024, "share": 0.96}])")),
      "h.json");
  hp::link_level expected{"net", hp::unbounded_group, 25 * hp::gigabyte, 5 * hp::microsecond};
  EXPECT_NE(h.links.topology.level[1], expected);
  expected.by_size[0] = {64 * hp::KiB, hp::per_mille(500)};
  expected.by_size[1] = {hp::MiB, hp::per_mille(960)};
  EXPECT_EQ(h.links.topology.level[1], expected);
  const hp::known_hardware mesh = hp::detail::parse_hardware_file(
      R"({"like": "h100", "full_mesh": [{"name": "rack", "devices": 4, "gb_per_s": 25, "latency_us": 1,
                                         "by_size": [{"kib": 1, "share": 0.25}]}]})",
      "h.json");
  EXPECT_EQ(hp::link_at(mesh.links, 0).by_size[0], (hp::size_share{hp::KiB, hp::per_mille(250)}));
}

TEST(hardware_file, like_a_preset_changes_what_is_named) {
  const hp::known_hardware h = hp::detail::parse_hardware_file(
      R"({"like": "h100", "device": {"tflops": {"bf16": 700, "f64": 60}, "vector_tflops_f64": 30},
          "full_mesh": [{"name": "rack", "devices": 4, "gb_per_s": 25, "latency_us": 1},
                        {"name": "board", "devices": 8, "gb_per_s": 50, "latency_us": 0.5}]})",
      "h.json");
  hp::device_value expected = hp::h100::device;
  expected.matrix_flops[0] = 700 * hp::teraflops;
  expected.matrix_flops[4] = 60 * hp::teraflops;
  expected.vector_flops_f64 = 30 * hp::teraflops;
  EXPECT_EQ(h.device, expected);
  EXPECT_STREQ(h.name.text, "h100");
  EXPECT_EQ(h.links.kind, hp::interconnect_kind::full_mesh);
  EXPECT_TRUE(hp::check_hardware(h.device, h.links, 32).ok());
  EXPECT_FALSE(hp::check_hardware(h.device, h.links, 33).ok());
  for (const hp::known_hardware& preset : hp::hardware_presets) {
    const hp::known_hardware same =
        hp::detail::parse_hardware_file("{\"like\": \"" + std::string(preset.name.text) + "\"}", "h.json");
    EXPECT_EQ(same.device, preset.device);
    EXPECT_EQ(same.links, preset.links);
  }
}

TEST(hardware_file, every_error_names_file_field_and_value) {
  const struct {
    const char* at;
    json value;
    const char* line;
  } wrong[] = {
      {"/device/matrix_cores", 0, "device.matrix_cores is 0; expected a whole number from 1 to 100000"},
      {"/device/vector_cores", nullptr, "device.vector_cores is missing"},
      {"/device/tflops", 5, "device.tflops is 5; expected an object"},
      {"/device/tflops/bf16", 0, "device.tflops.bf16 is 0; expected a number from 0.001 to 1000000.0"},
      {"/device/tflops/bf16", nullptr, "device.tflops.bf16 is missing"},
      {"/device/tflops/fp6", 3, "device.tflops.fp6 is 3; no field of hardware has that name"},
      {"/device/memory", json::array(), "device.memory is []; expected a list of 1 to 4 objects"},
      {"/device/memory/0", 7, "device.memory[0] is 7; expected an object"},
      {"/device/memory/0/gib", -1, "device.memory[0].gib is -1; expected a number from 0.001 to 1000000.0"},
      {"/device/memory/1/gb_per_s", 3000,
       "device.memory[1].gb_per_s is 3000; expected no more than of the memory before it: the fastest comes first"},
      {"/device/memory/0/kind", "tape", "device.memory[0].kind is \"tape\"; known: hbm, dram, storage"},
      {"/device/tile", json::parse(R"({"rows": 16, "columns": 0})"),
       "device.tile.rows is 16; expected rows and columns, or 0 of both: every shape reaches the same share"},
      {"/device/matrix_share", 1.5, "device.matrix_share is 1.5; expected a number from 0.001 to 1.0"},
      {"/device/launch_us", "fast", "device.launch_us is \"fast\"; expected a number from 0.0 to 1000000.0"},
      {"/device", nullptr, "device is missing"},
      {"/levels", nullptr, "levels is missing"},
      {"/levels/0/ranks", nullptr, "levels[0].ranks is missing"},
      {"/levels/1/ranks", 12,
       "levels[1].ranks is 12; expected a multiple of those of the level before it, 8, and more"},
      {"/levels/0/name", "", "levels[0].name is \"\"; expected a text of 1 to 31 printable characters"},
      {"/levels/0/gb_per_s", 1e9, "levels[0].gb_per_s is 1000000000.0; expected a number from 0.001 to 1000000.0"},
      {"/levels/1/latency_us", nullptr, "levels[1].latency_us is missing"},
      {"/levels/1/by_size", json::parse(R"([{"kib": 1}])"), "levels[1].by_size[0].share is missing"},
      {"/levels/1/by_size", json::parse(R"([{"kib": 1, "share": 2}])"),
       "levels[1].by_size[0].share is 2; expected a number from 0.001 to 1.0"},
      {"/levels/1/by_size", json::parse(R"([{"kib": 8, "share": 0.5}, {"kib": 8, "share": 0.5}])"),
       "levels[1].by_size[1].kib is 8; expected more than before it"},
      {"/levels/1/by_size", json::parse(R"([{"kib": 8, "share": 0.5}, {"kib": 16, "share": 0.4}])"),
       "levels[1].by_size[1].share is 0.4; expected no less than before it"},
      {"/levels/1/by_size", json::parse(R"([{"kib": 8, "share": 0.1}, {"kib": 16, "share": 0.9}])"),
       "levels[1].by_size[1].share is 0.9; a message of this size would take less time than the one before it"},
      {"/levels/1/by_size", json::array(), "levels[1].by_size is []; expected a list of 1 to 4 objects"},
      {"/levels/1/by_size", json::parse("[1, 2, 3, 4, 5]"),
       "levels[1].by_size is [1,2,3,4,5]; expected a list of 1 to 4 objects"},
      {"/full_mesh", json::parse(R"([{"name": "a", "devices": 4, "gb_per_s": 1, "latency_us": 1}])"),
       "full_mesh is [{\"devices\":4,\"gb_per_s\":1,\"latency_us\":1,\"name\":\"a\"}]; levels stand beside it; "
       "expected one of "
       "both"},
      {"/speed", 3, "speed is 3; no field of hardware has that name"},
      {"/name", "a\nb", "name is \"a\\nb\"; expected a text of 1 to 31 printable characters"},
  };
  for (const auto& w : wrong)
    EXPECT_EQ(complaint(edited(w.at, w.value)), "cannot read 'h.json': " + std::string(w.line));
  EXPECT_EQ(complaint(R"({"full_mesh": [{"name": "a", "devices": 65536, "gb_per_s": 1, "latency_us": 1},
                                        {"name": "b", "devices": 65536, "gb_per_s": 1, "latency_us": 1}], "like": "h100"})"),
            "cannot read 'h.json': full_mesh[1].devices is 65536; expected a whole number from 1 to 16384");
  EXPECT_NE(complaint(R"({"like": "h1000"})").find("like is \"h1000\"; known: matrix384, "), std::string::npos);
  EXPECT_NE(complaint("[]").find("the file is no JSON object"), std::string::npos);
  EXPECT_NE(complaint(whole.substr(0, 100)).find("the file is not JSON (byte"), std::string::npos);
  EXPECT_NE(complaint(std::string(20, '[')).find("nested deeper than 8 levels"), std::string::npos);
  EXPECT_NE(complaint(std::string((1 << 20) + 1, ' ')).find("larger than 1048576 bytes"), std::string::npos);
  EXPECT_THROW(hp::read_hardware_file("/nonexistent/h.json"), hp::io_error);
}

/// Files with bytes changed, cut and doubled, and with numbers replaced: read and able to be, or one line.
TEST(hardware_file, whatever_is_read_can_be) {
  std::mt19937 random(7);
  const std::vector<std::string> numbers = {
      "0", "-1", "1e300", "1e-300", "9223372036854775808", "null", "true", "\"\"", "[]", "{}", "0.5", "1000000"};
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (auto edits = random() % 3; edits < 3; ++edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
          break;
        default:
          if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
            text.replace(digit, text.find_first_not_of("0123456789.", digit) - digit,
                         numbers[random() % numbers.size()]);
      }
      if (text.empty()) text = " ";
    }
    try {
      const hp::known_hardware h = hp::detail::parse_hardware_file(text, "h.json");
      ASSERT_EQ(hp::check_hardware(h.device, h.links, 1), hp::hardware_status{}) << text;
      ++read;
    } catch (const hp::io_error& e) {
      ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, 500);
}

// What a device of a preset reports holds for its memory alone.
TEST(hardware_file, own_memory_has_no_report) {
  const auto reported = [](const char* text) { return hp::detail::parse_hardware_file(text, "h.json").reported_bytes; };
  EXPECT_EQ(reported(R"({"like": "h100", "name": "mine"})"), hp::GiB / 100 * 7910);
  EXPECT_EQ(reported(R"({"like": "h100", "device": {"launch_us": 1}})"), hp::GiB / 100 * 7910);
  EXPECT_EQ(reported(R"({"like": "h100", "device": {"memory": [{"gib": 94, "gb_per_s": 3350}]}})"), 0);
  EXPECT_EQ(reported(R"({"like": "matrix384"})"), 0);
}

// A file that renames a preset keeps its pool of DRAM; one that states memory or links has none.
TEST(hardware_file, own_memory_or_links_leave_the_pool) {
  const auto pool_of = [](const char* text) { return hp::detail::parse_hardware_file(text, "h.json").pool; };
  EXPECT_EQ(pool_of(R"({"like": "matrix384", "name": "mine"})"), hp::matrix384::pool);
  EXPECT_EQ(pool_of(R"({"like": "matrix384", "device": {"launch_us": 1}})"), hp::matrix384::pool);
  EXPECT_EQ(pool_of(R"({"like": "matrix384", "device": {"memory": [{"gib": 64, "gb_per_s": 1600}]}})"),
            hp::memory_pool{});
  EXPECT_EQ(pool_of(R"({"like": "matrix384", "levels": [{"name": "net", "gb_per_s": 25, "latency_us": 2}]})"),
            hp::memory_pool{});
}

}  // namespace
