// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of hardware_file.hpp; see support/compiled.hpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/hardware_file.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Deeper files are refused.
inline constexpr int deepest_hardware_file = 8;

inline std::int64_t scaled(double n, std::int64_t unit) {
  return static_cast<std::int64_t>(std::llround(n * static_cast<double>(unit)));
}

inline void refuse_left(const config_fields& f) {
  const std::vector<std::string> left = f.left();
  if (!left.empty()) f.refuse(left[0].c_str(), "no field of hardware has that name");
}

/// Largest rates and sizes of a file: far beyond any machine, and far within 64 bits.
inline constexpr double most_tflops = 1e6, most_gigabytes = 1e6, most_microseconds = 1e6;

inline void read_rate(config_fields& f, const char* name, double least, double most, std::int64_t unit,
                      std::int64_t& to) {
  if (const std::optional<double> n = f.optional_number(name, least, most)) to = scaled(*n, unit);
}
inline void read_time(config_fields& f, const char* name, std::int64_t& to) {
  read_rate(f, name, 0, most_microseconds, microsecond, to);
}
inline void read_share(config_fields& f, const char* name, efficiency& to) {
  if (const std::optional<double> n = f.optional_number(name, 0.001, 1)) to = {scaled(*n, 1'000'000)};
}
inline std::int64_t rate_of(config_fields& f, const char* name, double most = most_gigabytes) {
  return scaled(f.number(name, 0.001, most), gigabyte);
}

inline void read_tiers(config_fields& f, device_value& d) {
  std::vector<config_fields> list = f.list("memory", max_memory_tiers);
  if (list.empty()) return;
  d.tier_count = 0;
  for (config_fields& each : list) {
    memory_tier& t = d.tier[d.tier_count];
    const bool first = d.tier_count == 0;
    t = {first ? memory_kind::hbm : memory_kind::dram, 0, 0, first ? assumed::memory_share : assumed::host_share,
         first ? 0 : assumed::host_latency};
    if (const std::optional<std::string> kind = each.optional_text("kind", short_text::capacity)) {
      if (*kind != "hbm" && *kind != "dram" && *kind != "storage") each.refuse("kind", "known: hbm, dram, storage");
      t.kind = *kind == "hbm" ? memory_kind::hbm : *kind == "dram" ? memory_kind::dram : memory_kind::storage;
    }
    t.bytes = scaled(each.number("gib", 0.001, most_gigabytes), GiB);
    t.bandwidth = rate_of(each, "gb_per_s");
    if (!first && t.bandwidth > d.tier[d.tier_count - 1].bandwidth)
      each.refuse("gb_per_s", "expected no more than of the memory before it: the fastest comes first");
    read_share(each, "reached", t.reached);
    read_time(each, "latency_us", t.latency);
    refuse_left(each);
    ++d.tier_count;
  }
}

/// `known`: a preset's values are there already.
inline void read_device(config_fields& f, device_value& d, bool known) {
  constexpr extent_t most_cores = 100'000, most_tile_side = 65'536;
  if (!known) d = with_assumed_shares(d);
  const auto cores = [&](const char* name, int& to) {
    const std::optional<extent_t> n = f.optional_whole(name, most_cores);
    if (!n && !known) f.missing(name);
    if (n) to = static_cast<int>(*n);
  };
  cores("matrix_cores", d.aic);
  cores("vector_cores", d.aiv);
  if (!known)
    for (const char* name : {"tflops", "vector_tflops", "memory"})
      if (f.value(name).is_null()) f.missing(name);
  if (std::optional<config_fields> rates = f.inside("tflops")) {
    constexpr const char* formats[number_format_count] = {"bf16", "f16", "f32", "int8", "f64", "fp8", "fp4"};
    if (!known && rates->value("bf16").is_null()) rates->missing("bf16");
    for (int n = 0; n < number_format_count; ++n)
      read_rate(*rates, formats[n], n == 0 ? 0.001 : 0, most_tflops, teraflops, d.matrix_flops[n]);
    refuse_left(*rates);
  }
  read_rate(f, "vector_tflops", 0.001, most_tflops, teraflops, d.vector_flops);
  read_rate(f, "vector_tflops_f64", 0, most_tflops, teraflops, d.vector_flops_f64);
  read_rate(f, "l2_mib", 0, most_gigabytes, MiB, d.l2_bytes);
  read_rate(f, "l2_gb_per_s", 0, most_gigabytes, gigabyte, d.l2_bandwidth);
  read_tiers(f, d);
  if (std::optional<config_fields> tile = f.inside("tile")) {
    d.tile.rows = static_cast<int>(tile->whole("rows", most_tile_side, 0));
    d.tile.columns = static_cast<int>(tile->whole("columns", most_tile_side, 0));
    if ((d.tile.rows == 0) != (d.tile.columns == 0))
      tile->refuse("rows", "expected rows and columns, or 0 of both: every shape reaches the same share");
    refuse_left(*tile);
  }
  read_share(f, "matrix_share", d.gmm_cold);
  read_share(f, "tile_share", d.gmm_warm);
  read_time(f, "launch_us", d.task_overhead);
  read_time(f, "signal_us", d.synchronisation_latency);
  if (!f.value("signal_us").is_null()) d.vector_synchronisation_latency = d.synchronisation_latency;
  refuse_left(f);
}

/// Shares of the bandwidth by message size, the smallest first.
inline void read_shares(config_fields& f, link_level& link) {
  constexpr double most_kib = 1e9;
  int count = 0;
  for (config_fields& each : f.list("by_size", max_size_shares)) {
    size_share& s = link.by_size[count];
    s = {scaled(each.number("kib", 0.001, most_kib), KiB), {scaled(each.number("share", 0.001, 1), 1'000'000)}};
    const size_share_status status = check_shares(link);
    if (status.code == size_share_code::sizes_do_not_rise) each.refuse("kib", "expected more than before it");
    if (status.code == size_share_code::shares_fall) each.refuse("share", "expected no less than before it");
    if (status.code == size_share_code::longer_is_faster)
      each.refuse("share", "a message of this size would take less time than the one before it");
    refuse_left(each);
    ++count;
  }
}

inline link_level read_link(config_fields& f, int ranks) {
  link_level link;
  const std::optional<std::string> name = f.optional_text("name", short_text::capacity);
  if (!name) f.missing("name");
  link.name = short_text(name->c_str());
  link.group = ranks;
  link.bandwidth = rate_of(f, "gb_per_s");
  link.latency = scaled(f.number("latency_us", 0, most_microseconds), microsecond);
  read_shares(f, link);
  refuse_left(f);
  return link;
}

inline interconnect read_levels(std::vector<config_fields>& list) {
  topology_value t;
  extent_t inner = 1;
  for (std::size_t l = 0; l < list.size(); ++l) {
    config_fields& f = list[l];
    const bool last = l + 1 == list.size();
    std::optional<extent_t> ranks = f.optional_whole("ranks", max_devices, 2);
    if (!ranks && !last) f.missing("ranks");
    if (ranks && (*ranks <= inner || *ranks % inner != 0))
      f.refuse("ranks", "expected a multiple of those of the level before it, " + std::to_string(inner) + ", and more");
    t.level[t.level_count++] = read_link(f, ranks ? static_cast<int>(*ranks) : unbounded_group);
    inner = ranks.value_or(inner);
  }
  return interconnect_of(t);
}

inline interconnect read_mesh(std::vector<config_fields>& list) {
  full_mesh_value m;
  extent_t devices = 1;
  for (config_fields& f : list) {
    const extent_t size = f.whole("devices", max_devices / devices);
    devices *= size;
    m.level[m.level_count++] = read_link(f, static_cast<int>(size));
  }
  return interconnect_of(m);
}

inline void read_links(config_fields& f, known_hardware& h, bool known) {
  std::vector<config_fields> levels = f.list("levels", max_link_levels), axes = f.list("full_mesh", max_link_levels);
  if (!levels.empty() && !axes.empty()) f.refuse("full_mesh", "levels stand beside it; expected one of both");
  if (!levels.empty())
    h.links = read_levels(levels);
  else if (!axes.empty())
    h.links = read_mesh(axes);
  else if (!known)
    f.missing("levels");
}

HYPERPARALLEL_JSON_BODY known_hardware parse_hardware_file(std::string_view text, const std::string& path) {
  if (text.size() > largest_hardware_file)
    throw io_error("read", path, "the file is larger than " + std::to_string(largest_hardware_file) + " bytes");
  const nlohmann::json object = parse_json_object(text, path, "the file", deepest_hardware_file);
  config_fields f(object, path);
  known_hardware h{"own", {}, {}};
  const std::optional<std::string> like = f.optional_text("like", short_text::capacity);
  if (like) {
    const known_hardware* preset = find_hardware(like->c_str());
    std::string names;
    for (const known_hardware& each : hardware_presets)
      names += (names.empty() ? "" : ", ") + std::string(each.name.text);
    if (preset == nullptr) f.refuse("like", "known: " + names);
    h = *preset;
  }
  if (const std::optional<std::string> name = f.optional_text("name", short_text::capacity))
    h.name = short_text(name->c_str());
  const known_hardware preset = h;
  if (std::optional<config_fields> device = f.inside("device"))
    detail::read_device(*device, h.device, like.has_value());
  else if (!like)
    f.missing("device");
  detail::read_links(f, h, like.has_value());
  // Memory and links that a file states are not those that a preset's devices share.
  for (int t = 0; t < max_memory_tiers; ++t)
    if (h.device.tier[t] != preset.device.tier[t]) h.pool = {};
  if (!(h.links == preset.links)) h.pool = {};
  if (h.device.tier[0] != preset.device.tier[0]) h.reported_bytes = 0;
  detail::refuse_left(f);
  return h;
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY known_hardware read_hardware_file(const std::string& path) {
  const std::vector<unsigned char> bytes =
      read_bytes(path, {empty_file::refused, static_cast<std::int64_t>(detail::largest_hardware_file)});
  return detail::parse_hardware_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}}  // namespace hyperparallel::v0_2
