// SPDX-License-Identifier: Apache-2.0
#include "page_output.hpp"

#include <nlohmann/json.hpp>

#include <hyperparallel/report/page.hpp>
#include <hyperparallel/report/pictures_svg.hpp>

#include "opened_file.hpp"

namespace hp_tool {

page_output::page_output(const page_request& asked, const std::vector<std::string>& inputs) {
  hold_apart({{"--html", asked.html}, {"--svg", asked.svg}}, inputs, asked.force);
  if (!asked.html.empty()) page_.reset(new hyperparallel::atomic_file(opened(asked.html, asked.force)));
  if (!asked.svg.empty()) drawing_.reset(new hyperparallel::atomic_file(opened(asked.svg, asked.force)));
}

void page_output::write(const std::string& title, const json& document) {
  if (page_ != nullptr)
    hyperparallel::report::write_page(*page_, title, document.dump(-1, ' ', false, json::error_handler_t::replace));
  if (drawing_ != nullptr) hyperparallel::report::write_pictures_svg(*drawing_, title, document.at("pictures"));
  for (hyperparallel::atomic_file* const file : {page_.get(), drawing_.get()}) {
    if (file == nullptr) continue;
    file->commit();
    say_written(*file);
  }
}

}  // namespace hp_tool
