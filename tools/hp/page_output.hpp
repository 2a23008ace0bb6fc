// SPDX-License-Identifier: Apache-2.0
#pragma once
// --html and --svg of subcommands: a page (report/page.hpp) with what --json prints and its pictures, and these pictures alone
// (report/pictures_svg.hpp). Files are opened before anything is computed, so that a path that cannot be is told at once.

#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>

#include "json_output.hpp"

namespace hp_tool {

struct page_request {
  std::string html, svg;  ///< the files; empty: none
  bool force = false;
};

class page_output {
 public:
  /// `inputs` are the files that are read, where they are there.
  explicit page_output(const page_request& asked, const std::vector<std::string>& inputs = {});
  bool is_asked() const { return page_ != nullptr || drawing_ != nullptr; }

  /// Precondition: `document` has "pictures".
  void write(const std::string& title, const json& document);

 private:
  std::unique_ptr<hyperparallel::atomic_file> page_, drawing_;
};

}  // namespace hp_tool
