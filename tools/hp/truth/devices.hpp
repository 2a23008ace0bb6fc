// SPDX-License-Identifier: Apache-2.0
#pragma once
// Presets by the names of devices in rows of measurements, with what the row says of peaks, memory bandwidth and links in place
// of the preset's; and peaks as rows print them.
//
// Law: a device without a preset is refused by name; a field that is a text, as of two peaks, is the preset's.

#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/planner/known_hardware.hpp>

#include "architectures.hpp"

namespace truth {

struct named_device {
  std::string_view begins;  ///< of the row's name in lower case; of several the longest counts
  const char* preset;
};
inline constexpr named_device named_devices[] = {
    {"a100-sxm4-80gb", "a100"},
    {"a100-sxm4-40gb", "a100_40gb"},
    {"a100-pcie", "a100_pcie"},
    {"h100-sxm5-80gb", "h100"},
    {"h100-96gb", "h100_96gb"},
    {"nvidia h100 80gb hbm3", "h100"},
    {"h200", "h200"},
    {"h800", "h800"},
    {"h20", "h20"},
    {"b200", "b200"},
    {"b300", "b300"},
    {"gb200", "gb200"},
    {"gb300", "gb300"},
    {"mi300x", "mi300x"},
    {"mi325x", "mi325x"},
    {"mi355x", "mi355x"},
    {"ascend 910b", "ascend_910b"},
    {"tpu v4", "tpu_v4"},
    {"v5e", "tpu_v5e"},
    {"v5p", "tpu_v5p"},
    {"tpu-v4", "tpu_v4"},
    {"tpu v5e", "tpu_v5e"},
    {"tpu-v5e", "tpu_v5e"},
    {"tpu v5p", "tpu_v5p"},
    {"tpu-v5p", "tpu_v5p"},
};

/// The preset of a device's name; null: there is none.
inline const hp::known_hardware* preset_of(const std::string& name) {
  const std::string small = lower_case(name);
  const named_device* found = nullptr;
  for (const named_device& d : named_devices)
    if (small.starts_with(d.begins) && (found == nullptr || d.begins.size() > found->begins.size())) found = &d;
  return hp::find_hardware(found == nullptr ? small.c_str() : found->preset);
}

/// The dense peak of a device in flop/s, of narrow formats that of their products: as it is printed, of two the larger, else the
/// preset's; 0 where neither says it. fp4 is twice fp8 unless it is printed.
inline double peak_of(const json& printed, const std::string& name, precision format) {
  const auto printed_peak = [&](const char* field_name) {
    const json& v = field(printed, field_name);
    return v.is_string() ? largest_number_in(v.get<std::string>()) * 1e12 : number_in(printed, field_name) * 1e12;
  };
  const hp::known_hardware* preset = preset_of(name);
  const auto preset_peak = [&](hp::number_format f) {
    return preset == nullptr ? 0.0 : static_cast<double>(preset->device.matrix_flops[static_cast<int>(f)]);
  };
  const auto first = [](double a, double b) { return a > 0 ? a : b; };
  if (format == precision::fp4) {
    const double own = first(printed_peak("fp4_tflops"), preset_peak(hp::number_format::float4));
    return own > 0 ? own : 2 * peak_of(printed, name, precision::fp8);
  }
  if (format == precision::fp8) return first(printed_peak("fp8_tflops"), preset_peak(hp::number_format::float8));
  const double printed_half = first(printed_peak("bf16_tflops"), printed_peak("fp16_tflops"));
  return first(printed_half, preset_peak(hp::number_format::bfloat16));
}

/// The preset with the rates that the row prints; memory is what a device of the preset reports. What the preset alone says is added
/// to `open`. Throws not_predicted.
inline hp::known_hardware hardware_of(const json& printed, const std::string& name, std::vector<std::string>& open) {
  const hp::known_hardware* preset = preset_of(name);
  if (preset == nullptr) throw not_predicted("no preset of " + name);
  hp::known_hardware h = *preset;
  h.device = hp::reported_device(h);
  const auto take = [&](const char* field_name, double unit, std::int64_t& to) {
    if (const double n = number_in(printed, field_name); n > 0)
      to = static_cast<std::int64_t>(std::llround(n * unit));
    else
      open.push_back(std::string(field_name) + " of the preset");
  };
  take("bf16_tflops", 1e12, h.device.matrix_flops[static_cast<int>(hp::number_format::bfloat16)]);
  if (number_in(printed, "bf16_tflops") > 0)
    h.device.matrix_flops[static_cast<int>(hp::number_format::float16)] =
        h.device.matrix_flops[static_cast<int>(hp::number_format::bfloat16)];
  const auto take_narrow = [&](precision format, hp::number_format to) {
    if (const double peak = peak_of(printed, name, format); peak > 0)
      h.device.matrix_flops[static_cast<int>(to)] = static_cast<std::int64_t>(std::llround(peak));
  };
  take_narrow(precision::fp8, hp::number_format::float8);
  take_narrow(precision::fp4, hp::number_format::float4);
  take("hbm_gbps", 1e9, h.device.tier[0].bandwidth);
  if (h.links.kind == hp::interconnect_kind::topology && h.links.topology.level_count >= 2) {
    take("nvlink_gbps_per_dir", 1e9, h.links.topology.level[0].bandwidth);
    take("net_gbps_per_gpu", 1e9, h.links.topology.level[h.links.topology.level_count - 1].bandwidth);
  }
  return h;
}

}  // namespace truth
