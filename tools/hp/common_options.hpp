// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that several subcommands of hp have.

#include "../../examples/command_line.hpp"
#include "page_output.hpp"

namespace hp_tool {

inline void add_json(command_line::command app, bool& asked) {
  app.add_flag("--json", asked, "one JSON document in place of the text; keys name the units").disable_flag_override();
}

inline void add_page(command_line::command app, page_request& asked) {
  app.add_option("--html", asked.html, "writes a page with pictures to this file; --json has what they show, too");
  app.add_option("--svg", asked.svg, "writes these pictures below each other as an SVG drawing to this file");
  app.add_flag("--force", asked.force, "overwrites the files where they exist").disable_flag_override();
}

}  // namespace hp_tool
