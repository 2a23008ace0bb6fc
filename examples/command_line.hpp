// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of a program with arguments: what it returns is 0 after --help, 2 where an argument is refused, 1 where the
// work throws or standard output is full, otherwise what the work returns. An error is one line on standard error that
// begins with the app's name.
//
// Numbers are read in full: digits of base ten within bounds that the option names. "nan", "1e999", "8x", "-8" and what
// leaves the type are refused with the bounds. An empty text is refused for every option. Law: an option of a number has such a check, or `run` refuses to.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "standard_output.hpp"
#include "written_numbers.hpp"

namespace command_line {

namespace detail {

/// Whether each option that takes a number has a check of its own.
inline void require_checks(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "INT" || type == "UINT" || type == "FLOAT")
      throw std::logic_error(option->get_name() + " takes any number: it needs a check");
  }
}

/// A text of no characters stands where a shell's variable was empty: it names nothing, and is no default.
inline void require_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty())
        throw CLI::ValidationError(option->get_name(), "an empty text; leave the option out or name something");
  for (const CLI::App* used : app.get_subcommands()) require_values(*used);
}

}  // namespace detail

/// A whole number from `least` to `most`.
template <std::integral Whole>
CLI::Validator whole(Whole least, Whole most) {
  const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
  const auto check = [=](const std::string& text) {
    Whole number{};
    const bool fits = detail::read(text, number) && number >= least && number <= most;
    return fits ? std::string() : "'" + text + "' is no whole number from " + bounds;
  };
  return CLI::Validator(check, "from " + bounds);
}

/// A seed: any number of 64 bits.
inline CLI::Validator seed() {
  return whole<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()).description("of 64 bits");
}

/// A finite number from `least` to `most`.
inline CLI::Validator number(double least, double most) {
  const std::string bounds = CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  const auto check = [=](const std::string& text) {
    double value = 0;
    const bool fits = detail::read(text, value) && std::isfinite(value) && value >= least && value <= most;
    return fits ? std::string() : "'" + text + "' is no number from " + bounds;
  };
  return CLI::Validator(check, "from " + bounds);
}

/// An amount of memory up to `most`, which becomes its bytes; where `least` is 0 also "0".
inline CLI::Validator bytes(std::int64_t most, std::int64_t least = 1) {
  const std::string form = least == 0 ? "0, or as 48M or 2GiB" : "as 48M or 2GiB";
  const auto convert = [=](std::string& text) {
    if (least == 0 && text == "0") return std::string();
    const std::int64_t count = bytes_of(text);
    if (count < 1 || count > most)
      return "'" + text + "' is no amount of memory up to " + std::to_string(most) + " bytes; expected " +
             (least == 0 ? "0, or " : "") + "one as 48M or 2GiB";
    text = std::to_string(count);
    return std::string();
  };
  return CLI::Validator(convert, form);
}

template <class Work>
int run(CLI::App& app, int argc, char** argv, const Work& work) {
  const std::string& name = app.get_name();
  const auto refused = [&](const std::exception& e, int code) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return code;
  };
  try {
    detail::require_checks(app);
    app.parse(argc, argv);
    detail::require_values(app);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return finished(name.c_str());
  } catch (const CLI::ParseError& e) {
    return refused(e, 2);
  } catch (const std::exception& e) {
    return refused(e, 1);
  }
  try {
    return finished(name.c_str(), work());
  } catch (const std::exception& e) {
    return refused(e, 1);
  }
}

}  // namespace command_line
