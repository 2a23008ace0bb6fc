// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp plan --groups: a decoder's modules on process groups, from a file or searched for.

#include "choice.hpp"

namespace decoder_plans {

/// Prints the plan, its clock and memory, and what was searched. The exit status. Throws bad_input.
int plan_groups(const choice& c);

}  // namespace decoder_plans
