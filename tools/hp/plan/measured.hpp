// SPDX-License-Identifier: Apache-2.0
#pragma once
// --measured of hp plan: a run of the user's own, by which the other figures are calibrated.
//
//   [PLAN:]step=SECONDS,memory=BYTES      PLAN as --fix reads it, and devices, batch and sequence of the run
//
// Without a plan the run is that of --fix; devices, batch and sequence that are not named are the command's.

#include <optional>
#include <string>
#include <string_view>

#include <hyperparallel/planner/measured_run.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "../../../examples/written_numbers.hpp"
#include "choice.hpp"
#include "words.hpp"

namespace decoder_plans {

/// What a run says of all other plans.
struct calibration_by_run {
  hp::measured_run run{};
  hp::calibration found{};
};

[[noreturn]] inline void refuse_measured(const std::string& why) { throw hp_tool::bad_input("--measured: " + why); }

/// The text of --measured, in its parts.
class measured_reader {
 public:
  explicit measured_reader(const choice& asked) : c(asked), devices(asked.devices) {
    batch = c.batch;
    sequence = c.sequence;
    const std::string_view text = c.measured;
    const std::size_t colon = text.rfind(':');
    if (colon != std::string_view::npos)
      visit_words(text.substr(0, colon), [&](std::string_view word) { read_of_plan(word); });
    visit_words(text.substr(colon == std::string_view::npos ? 0 : colon + 1),
                [&](std::string_view word) { read_amount(word); });
    if (run.step == 0 && run.memory == 0)
      refuse_measured("names neither step nor memory; expected one of them at least, as step=1.23,memory=61GiB");
    if (fixes.empty()) fixes = c.fixes;
    if (fixes.empty())
      refuse_measured("names no plan, and neither does --fix; expected one as zero=3:" +
                      std::string(text.substr(colon + 1)));
    run.plan = fix_reader(fixes, devices, plan_fixes, "--measured").read();
    run.plan.sequence = sequence;
    run.plan.formats = formats_of(c);
    run.plan.batch = batch > 0 ? batch : hp::extent_t{run.plan.dp} * run.plan.ep * run.plan.micro_batches;
  }

  const choice& c;
  hp::measured_run run{};
  int devices;

 private:
  template <class Visit>
  static void visit_words(std::string_view left, const Visit& visit) {
    while (!left.empty()) {
      const std::size_t comma = std::min(left.find(','), left.size());
      visit(left.substr(0, comma));
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
  }

  /// The value behind `name=`; nothing of other words. Each name may stand once.
  std::optional<std::string_view> value_of(std::string_view word, std::string_view name) {
    if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=') return std::nullopt;
    if (std::find(named.begin(), named.end(), name) != named.end())
      refuse_measured("'" + std::string(word) + "' contradicts the " + std::string(name) + " before it");
    named.push_back(name);
    return word.substr(name.size() + 1);
  }

  template <class Number>
  static Number whole(std::string_view word, std::string_view value, Number most) {
    Number number = 0;
    if (!command_line::detail::read(value, number) || number < 1 || number > most)
      refuse_measured("'" + std::string(word) + "' is no whole number from 1 to " + std::to_string(most));
    return number;
  }

  void read_of_plan(std::string_view word) {
    if (const auto n = value_of(word, "devices"))
      devices = whole(word, *n, 16384);
    else if (const auto b = value_of(word, "batch"))
      batch = whole<std::int64_t>(word, *b, hp::largest_plan_number);
    else if (const auto s = value_of(word, "sequence"))
      sequence = whole<std::int64_t>(word, *s, hp::largest_plan_number);
    else
      fixes += (fixes.empty() ? "" : ",") + std::string(word);
  }

  void read_amount(std::string_view word) {
    if (const auto time = value_of(word, "step")) {
      run.step = time_of(*time);
      if (run.step == 0)
        refuse_measured("'" + std::string(word) + "' is no time of a step; expected one as 1.23, 1.23s or 850ms");
    } else if (const auto bytes = value_of(word, "memory")) {
      run.memory = command_line::bytes_of(*bytes);
      if (run.memory == 0)
        refuse_measured("'" + std::string(word) + "' is no amount of memory; expected one as 48M or 2GiB");
    } else {
      refuse_measured("'" + std::string(word) +
                      "' is neither step=SECONDS nor memory=BYTES; a plan stands before a colon, as zero=3:step=1.23");
    }
  }

  /// Picoseconds; 0 where the text is no time up to that of the longest step.
  static hp::extent_t time_of(std::string_view text) {
    double scale = 1e12, number = 0;
    if (text.ends_with("ms")) {
      scale = 1e9;
      text.remove_suffix(2);
    } else if (text.ends_with('s')) {
      text.remove_suffix(1);
    }
    if (!command_line::detail::read(text, number) || !(number * scale >= 1) || number * scale > most_step_time)
      return 0;
    return static_cast<hp::extent_t>(number * scale + 0.5);
  }
  static constexpr double most_step_time = 2e18;  // 23 days

  std::string fixes{};
  std::int64_t batch = 0, sequence = 0;
  std::vector<std::string_view> named{};
};

/// Why a run calibrates nothing.
inline std::string cause_text(const hp::measured_run& run, const hp::calibration& c) {
  const auto time = [](hp::extent_t picoseconds) { return to_text(hp::report::duration{picoseconds}); };
  const auto bytes = [](hp::extent_t n) { return to_text(hp::report::byte_count{n}); };
  switch (c.code) {
    case hp::calibration_code::is_not_counted:
      return "the plan is not counted: a step takes 26 days or more, or a micro-batch leaves 64 bits";
    case hp::calibration_code::step_is_below_sheet:
      return "a step of " + time(run.step) + " is below " + time(c.limit) + ", the least by data sheet";
    case hp::calibration_code::step_is_below_moves:
      return "a step of " + time(run.step) + " is below " + time(c.limit) +
             ", which its moves take however fast computing is";
    case hp::calibration_code::factor_is_out_of_range:
      return fmt::format("a step of {} has computing take {:.3g} of what is predicted; expected {} to {}",
                         time(run.step), c.factor, hp::least_calibration, hp::most_calibration);
    case hp::calibration_code::memory_exceeds_device:
      return bytes(run.memory) + " are more than a device has, " + bytes(c.limit);
    case hp::calibration_code::memory_is_below_states:
      return (run.memory > 0 ? bytes(run.memory) + " are less than " : std::string("a device has less than ")) +
             bytes(c.limit) + ", which parameters and states of the plan take";
    case hp::calibration_code::ok:
      break;
  }
  return "the run calibrates";
}

/// The run that is named, held against what is predicted of it. `hardware` has the memory that plans may use. Throws bad_input.
inline calibration_by_run calibration_of(const choice& c, const hp::decoder& model, const hp::known_hardware& hardware,
                                         const hp::memory_reserve& reserve, const hp::stack_rules& stack) {
  const measured_reader asked(c);
  const hp::decoder_plan& plan = asked.run.plan;
  const hp::interconnect links = hp::dealt_evenly(hardware_called(c.hardware).links, asked.devices);
  if (const hp::hardware_status s = hp::check_hardware(hardware.device, links, asked.devices); !s.ok())
    refuse_measured(to_text(s));
  if (const hp::decoder_plan_status s = hp::check_plan(model, plan, asked.devices); !s.ok())
    refuse_measured(cause_text(s));
  if (const hp::stack_code s = hp::check_stack(model, plan, stack); s != hp::stack_code::ok)
    refuse_measured(std::string("--stack ") + stack.name + " has no rule for " + name_of(s));
  const hp::plan_prices prices(hardware.device, links);
  calibration_by_run out{asked.run, hp::calibrate(model, asked.run, prices, reserve, stack)};
  if (!out.found.ok()) refuse_measured(cause_text(out.run, out.found));
  return out;
}

/// The run, and what it says: "by that run computing takes 1.180 of what is predicted, 3.2 GiB more are held".
inline std::string measured_text(const std::optional<calibration_by_run>& m) {
  if (!m) return "";
  const hp::decoder_plan& plan = m->run.plan;
  const int devices = static_cast<int>(hp::device_count_of(plan));
  std::string amounts, said;
  const auto add = [](std::string& to, const std::string& one) { to += (to.empty() ? "" : ", ") + one; };
  if (m->run.step > 0) {
    add(amounts, to_text(hp::report::duration{m->run.step}));
    add(said, fmt::format("computing takes {:.3f} of what is predicted", m->found.factor));
  }
  if (m->run.memory > 0) add(amounts, to_text(hp::report::byte_count{m->run.memory}));
  if (const hp::extent_t beside = m->found.beside; m->run.memory > 0 || beside != 0) {
    add(said, fmt::format("{} {} held", to_text(hp::report::byte_count{beside < 0 ? -beside : beside}),
                          beside < 0 ? "less are" : "more are") +
                  (m->run.memory > 0 ? "" : ", since it was there"));
  }
  return fmt::format("measured: {} on {}, {} of {} tokens: {}\nby that run {}\n", fixes_of(plan),
                     devices == 1 ? "1 device" : fmt::format("{} devices", devices),
                     plan.batch == 1 ? "1 sequence" : fmt::format("{} sequences", plan.batch), plan.sequence, amounts,
                     said);
}

}  // namespace decoder_plans
