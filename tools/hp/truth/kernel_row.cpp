// SPDX-License-Identifier: Apache-2.0
// The body of kernel_row.hpp.

#include "kernel_row.hpp"

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/planner/expert_kernel_memory.hpp>

namespace truth {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

double bytes_of(const json& constants, const char* name) {
  const json& v = field(field(constants, "fixed_bytes"), name);
  if (!v.is_number()) throw malformed_row(std::string("the constants lack fixed_bytes.") + name);
  return number_in(field(constants, "fixed_bytes"), name);
}

/// What is neither a value of the program nor a parameter.
double constants_of(const json& constants, const hp::expert_kernel_memory& m, bool backward) {
  return bytes_of(constants, "runtime_config") + bytes_of(constants, "event_counters") +
         bytes_of(constants, backward ? "cann_workspace_backward" : "cann_workspace_forward") +
         bytes_of(constants, "gmm_tiling") * m.products + bytes_of(constants, "swiglu_tiling") * m.vector_operators +
         number_in(constants, "gmm_workspace_mib") * mebibyte +
         (backward ? number_in(constants, "swiglu_grad_workspace_mib") * mebibyte : 0.0);
}

}  // namespace

measured_row read_kernel_row(const json& row, const json& constants) {
  measured_row r;
  r.kind = text_in(row, "kind");
  r.id = text_in(row, "id");
  if (r.kind == "constants") {
    r.is_operator = true;
    r.said.why_not = "constants of other rows";
    return r;
  }
  if (r.id.empty()) throw malformed_row("key 'id' is missing");
  const std::string direction = text_in(row, "direction");
  const bool backward = direction == "backward";
  if (!backward && direction != "forward")
    throw malformed_row("direction is '" + direction + "', not forward or backward");
  r.program = "mega_moe_" + direction;
  r.model = std::to_string(size_needed(row, "experts")) + " experts";
  r.tolerance = kernel_tolerance;
  const double measured = number_in(row, "measured_mib");
  if (measured <= 0) throw malformed_row("measured_mib is missing or no number");
  if (constants.is_null()) {
    r.said.why_not = "no row of kind constants stands before it";
    return r;
  }
  if (size_needed(constants, "dtype_bytes") != 2) {
    r.said.why_not = "values of other than two bytes";
    return r;
  }
  const hp::expert_kernel kernel{.rows = size_needed(row, "rows_per_rank"),
                                 .hidden = size_needed(constants, "hidden"),
                                 .width = size_needed(constants, "intermediate"),
                                 .experts = size_needed(row, "experts"),
                                 .top_k = size_needed(row, "top_k"),
                                 .ep = static_cast<int>(size_needed(row, "ep"))};
  const hp::expert_kernel_memory m =
      hp::memory_of_kernel(kernel, backward ? hp::graph_phase::backward : hp::graph_phase::forward);
  if (!m.ok) {
    r.said.why_not = "its experts or rows are not dealt evenly";
    return r;
  }
  r.amounts.push_back(
      {"peak_bytes", measured * mebibyte, static_cast<double>(m.total()) + constants_of(constants, m, backward)});
  return r;
}

}  // namespace truth
