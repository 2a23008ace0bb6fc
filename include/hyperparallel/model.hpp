// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of model/: descriptions of layers.

#include <hyperparallel/model/moe_layer.hpp>
