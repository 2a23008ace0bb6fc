// SPDX-License-Identifier: Apache-2.0
// Launch lines of frameworks, in and out: what hp plan and hp check make of them.
#include "launch/launch_file.hpp"

#include <optional>
#include <string>
#include <vector>

#include "answer.hpp"

namespace decoder_plans {

namespace lines = hp_tool::launch;

void launch(answer& a, const choice& c) {
  try {
    a.launch = lines::read_launch_file(c.from, a.config.model, c.devices, c.sequence_is_said ? c.sequence : 0);
  } catch (const lines::launch_contradiction& e) {
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
  const lines::launch_framework* const f = lines::find_framework(c.to);
  return written_plan{f->name, f->line_end, f->write(plan, model)};
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const lines::launch_framework& f : lines::launch_frameworks) names.push_back(f.name);
  return names;
}

lines::launch_change words_of_change(const answer& a, const hp::decoder_plan& to) {
  const lines::launch_framework* const f = lines::find_framework(a.launch->framework);
  if (f == nullptr) return {};
  const bool whole = a.contradiction && a.status.ok();
  return lines::change_of(whole ? lines::launch_text{} : f->write(a.plan, a.config.model),
                          f->write(to, a.config.model));
}

}  // namespace decoder_plans
