// SPDX-License-Identifier: Apache-2.0
#pragma once
// --html of subcommands: a page (report/page.hpp) with what --json prints and its pictures. The file is opened before anything
// is computed, so that a path that cannot be is told at once.

#include <memory>
#include <string>

#include <hyperparallel/report/page.hpp>

#include "json_output.hpp"
#include "opened_file.hpp"

namespace hp_tool {

struct page_request {
  std::string html;  ///< the file; empty: none
  bool force = false;
};

inline void add_page(CLI::App& app, page_request& asked) {
  app.add_option("--html", asked.html, "writes a page with pictures to this file; --json has what they show, too");
  app.add_flag("--force", asked.force, "overwrites the page where it exists")->disable_flag_override();
}

class page_output {
 public:
  explicit page_output(const page_request& asked) {
    if (!asked.html.empty()) file_.reset(new hyperparallel::atomic_file(opened(asked.html, asked.force)));
  }
  bool is_asked() const { return file_ != nullptr; }

  void write(const std::string& title, const json& document) {
    hyperparallel::report::write_page(*file_, title, document.dump(-1, ' ', false, json::error_handler_t::replace));
    file_->commit();
  }

 private:
  std::unique_ptr<hyperparallel::atomic_file> file_;
};

}  // namespace hp_tool
