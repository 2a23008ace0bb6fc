// SPDX-License-Identifier: Apache-2.0
#pragma once
// What train_text does with what it is told.

#include <string>

#include "options.hpp"

namespace train_text {

/// Trains as told and prints how it goes. The exit status. Throws where text, strategy or files do not fit.
int run(const train_options& o);

/// Prints the strategies with a name.
void list_strategies();

/// Why a budget's text is none; empty where it is one.
std::string budget_trouble(const std::string& text);

}  // namespace train_text
