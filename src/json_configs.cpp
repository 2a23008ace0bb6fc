// SPDX-License-Identifier: Apache-2.0
// JSON texts and the files that are read from them: config.json of models, hardware, process groups.
#include <hyperparallel/io/group_file.ipp>
#include <hyperparallel/io/hardware_file.ipp>
#include <hyperparallel/io/json_text.ipp>
#include <hyperparallel/io/model_config.ipp>
#include <hyperparallel/io/position_limit.ipp>
#include <hyperparallel/io/weight_formats.ipp>

namespace hyperparallel { inline namespace v0_2 {

template nlohmann::json parse_json_object(std::string_view, const std::string&, const std::string&, int, json_numbers);

}}  // namespace hyperparallel::v0_2
