// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of offload/: prefetch windows from use-definition chains.

#include <hyperparallel/offload/prefetch_window.hpp>
