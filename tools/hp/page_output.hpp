// SPDX-License-Identifier: Apache-2.0
#pragma once
// --html and --svg of subcommands: a page (report/page.hpp) with what --json prints and its pictures, and these pictures alone
// (report/pictures_svg.hpp). Files are opened before anything is computed, so that a path that cannot be is told at once.

#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/report/page.hpp>
#include <hyperparallel/report/pictures_svg.hpp>

#include "json_output.hpp"
#include "opened_file.hpp"

namespace hp_tool {

struct page_request {
  std::string html, svg;  ///< the files; empty: none
  bool force = false;
};

inline void add_page(CLI::App& app, page_request& asked) {
  app.add_option("--html", asked.html, "writes a page with pictures to this file; --json has what they show, too");
  app.add_option("--svg", asked.svg, "writes these pictures below each other as an SVG drawing to this file");
  app.add_flag("--force", asked.force, "overwrites the files where they exist")->disable_flag_override();
}

class page_output {
 public:
  /// `inputs` are the files that are read, where they are there.
  explicit page_output(const page_request& asked, const std::vector<std::string>& inputs = {}) {
    hold_apart({{"--html", asked.html}, {"--svg", asked.svg}}, inputs, asked.force);
    if (!asked.html.empty()) page_.reset(new hyperparallel::atomic_file(opened(asked.html, asked.force)));
    if (!asked.svg.empty()) drawing_.reset(new hyperparallel::atomic_file(opened(asked.svg, asked.force)));
  }
  bool is_asked() const { return page_ != nullptr || drawing_ != nullptr; }

  /// Precondition: `document` has "pictures".
  void write(const std::string& title, const json& document) {
    if (page_ != nullptr)
      hyperparallel::report::write_page(*page_, title, document.dump(-1, ' ', false, json::error_handler_t::replace));
    if (drawing_ != nullptr) hyperparallel::report::write_pictures_svg(*drawing_, title, document.at("pictures"));
    for (hyperparallel::atomic_file* const file : {page_.get(), drawing_.get()}) {
      if (file == nullptr) continue;
      file->commit();
      say_written(*file);
    }
  }

 private:
  std::unique_ptr<hyperparallel::atomic_file> page_, drawing_;
};

}  // namespace hp_tool
