// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a row of published measurements says of the time of a step, in seconds, whatever it prints; with what its digits leave open.
//
//   step_time                          the value
//   tokens_per_s_per_gpu, …_per_npu    batch · sequence / (value · devices)
//   tokens_per_s_total                 batch · sequence / value
//   samples_per_s_per_gpu              batch / (value · devices)
//   model_tflops_per_gpu               operations by the row's convention / (value · 10^12 · devices)
//
// Law: a rate that is larger is a step that is shorter, and the interval turns with it. A value of one or two digits is within half
// of the last one, others are as printed.

#include <string>

#include <hyperparallel/planner/error_statistics.hpp>
#include <hyperparallel/planner/estimate.hpp>

#include "architectures.hpp"
#include "row_class.hpp"

namespace truth {

/// Operations of a step by how the row counts them; without a convention 6 by the active parameters, and half of the square of
/// attention.
inline double operations_of(const published_row& r, const hp::decoder& d) {
  const hp::extent_t batch = r.run.batch.sequences, sequence = r.run.sequence;
  const double b = static_cast<double>(batch), s = static_cast<double>(sequence), l = static_cast<double>(d.layers),
               h = static_cast<double>(d.hidden), v = static_cast<double>(d.vocabulary);
  if (r.family == "megatron-a100-2021")  // the recomputed forward counts
    return 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  const double whole = hp::model_operations_of(d, batch, sequence);
  // What grows with the square of the sequence.
  const double square = s > 1 ? (whole - s * hp::model_operations_of(d, batch, 1)) * s / (s - 1) : 0.0;
  const std::string convention = text_in(r.source, "flop_convention");
  if (convention.find("full attention") != std::string::npos) return whole;
  if (convention.find("LoRA") != std::string::npos) return (whole - square) * 4 / 6 + square / 2;
  return whole - square / 2;
}

/// Half of the last printed digit of a value of one or two digits, else 0. `text` is as JSON prints it.
inline double open_digits_of(const std::string& text) {
  int digits = 0;
  double unit = 1;
  bool behind_point = false;
  for (const char c : text) {
    if (c == 'e' || c == 'E') return 0;
    if (c == '.') behind_point = true;
    if (c < '0' || c > '9') continue;
    if (behind_point) unit /= 10;
    if (digits > 0 || c != '0') ++digits;
  }
  return digits >= 1 && digits <= 2 ? unit / 2 : 0;
}

/// Precondition: the row is of class B. `d` is needed for model_tflops_per_gpu alone.
inline hp::measured_interval step_seconds_of(const published_row& r, const hp::decoder* d) {
  const double batch = static_cast<double>(r.run.batch.sequences), tokens = batch * static_cast<double>(r.run.sequence),
               devices = static_cast<double>(r.run.devices);
  double work = 0;  // of which the value is a rate; 0: the value is the time
  if (r.quantity == "tokens_per_s_per_gpu" || r.quantity == "tokens_per_s_per_npu") work = tokens / devices;
  if (r.quantity == "tokens_per_s_total") work = tokens;
  if (r.quantity == "samples_per_s_per_gpu") work = batch / devices;
  if (r.quantity == "model_tflops_per_gpu") {
    if (const double told = number_in(field(r.source, "derived"), "step_time_s"); told > 0) return {told, told, told};
    if (d == nullptr) throw not_predicted("operations are not counted");
    work = operations_of(r, *d) / (1e12 * devices);
  }
  const double open = open_digits_of(r.value_text), low = r.value - open, high = r.value + open;
  if (work == 0) return {low, r.value, high};
  return {work / high, work / r.value, low > 0 ? work / low : work / r.value};
}

}  // namespace truth
