// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that several subcommands have in common: what is asked of which devices, and on which stack.

#include <cstdint>
#include <string>

#include "../../../examples/command_line.hpp"
#include "choice.hpp"

namespace decoder_plans {

/// The model, the devices and their kind.
inline void add_question(command_line::command app, choice& c) {
  app.add_option("config", c.config, "the model's config.json, as Hugging Face publishes it").required();
  app.add_option("--devices", c.devices, "how many the machine has").required().check(command_line::whole(1, 16384));
  app.add_option("--hardware", c.hardware,
                 decoder_plans::known_hardware_names() +
                     " (the first by default), or FILE.json (docs/how-to/describe-your-hardware.md)");
}

/// What a device has, and what of it is kept from a plan.
inline void add_device_options(command_line::command app, choice& c) {
  constexpr std::int64_t most_memory = std::int64_t{1} << 50;
  app.add_option("--memory", c.memory, "that a device has (default: what it reports, else what the hardware has)")
      .check(command_line::bytes(most_memory));
  app.add_option("--reserve", c.reserve.library_bytes,
                 "what run time and communication library keep of it (default, assumed: 2GiB)")
      .check(command_line::bytes(most_memory, 0));
  app.add_option("--allocator", c.reserve.allocator_per_mille,
                 "what the allocator wastes, per mille of the peak (default, assumed: 30)")
      .check(command_line::whole(0, 1000));
}

/// `otherwise` is what is taken where it is not said.
inline void add_stack(command_line::command app, choice& c, const std::string& otherwise) {
  app.add_option_function<std::string>(
      "--stack",
      [&c](const std::string& name) {
        c.stack = name;
        c.stack_is_said = true;
      },
      "whose memory and computing are printed: " + decoder_plans::known_stack_names() + " (" + otherwise +
          " by default; docs/reference/strategy-search.md, stacks)");
}

}  // namespace decoder_plans
