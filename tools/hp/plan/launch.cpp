// SPDX-License-Identifier: Apache-2.0
// Launch lines of frameworks, in and out: these readers take a compiler longer than all else that hp plan does.
#include <hyperparallel/io/launch_file.hpp>

#include <optional>
#include <string>
#include <vector>

#include "answer.hpp"

namespace decoder_plans {

void launch(answer& a, const choice& c) {
  try {
    a.launch = hp::read_launch_file(c.from, a.config.model, c.devices, c.sequence_is_said ? c.sequence : 0);
  } catch (const hp::launch_contradiction& e) {
    a.contradiction = e;
    a.launch = e.read;
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  a.plan = a.launch->plan;
  if (a.launch->vocabulary > 0) a.config.model.vocabulary = a.launch->vocabulary;
  if (c.sequence_is_said) a.plan.sequence = c.sequence;
  if (c.stack_is_said) return;
  a.stack = *hp::find_stack(a.launch->stack);
  const hp::stack_code known = hp::check_stack(a.config.model, a.plan, a.stack);
  if (known == hp::stack_code::ok) return;
  a.launch->notes.push_back(std::string("--stack ") + a.stack.name + " has no rule for " + name_of(known) +
                            ": counted as --stack megatron");
  a.stack = *hp::find_stack("megatron");
}

std::optional<written_plan> words_of(const hp::decoder_plan& plan, const hp::decoder& model, const choice& c) {
  if (c.to.empty()) return {};
  const hp::launch_framework* const f = hp::find_framework(c.to);
  return written_plan{f->name, f->line_end, f->write(plan, model)};
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const hp::launch_framework& f : hp::launch_frameworks) names.push_back(f.name);
  return names;
}

hp::launch_change words_of_change(const answer& a, const hp::decoder_plan& to) {
  const hp::launch_framework* const f = hp::find_framework(a.launch->framework);
  if (f == nullptr) return {};
  const bool whole = a.contradiction && a.status.ok();
  return hp::change_of(whole ? hp::launch_text{} : f->write(a.plan, a.config.model), f->write(to, a.config.model));
}

}  // namespace decoder_plans
