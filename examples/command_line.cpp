// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>

namespace command_line {

namespace {

/// Whether each option that takes a number has a check of its own.
void require_checks(const CLI::App& app) {
  for (const CLI::Option* one : app.get_options()) {
    const std::string type = one->get_type_name();
    if (type == "INT" || type == "UINT" || type == "FLOAT")
      throw std::logic_error(one->get_name() + " takes any number: it needs a check");
  }
  for (const CLI::App* nested : app.get_subcommands({})) require_checks(*nested);
}

/// A text of no characters stands where a shell's variable was empty: it names nothing, and is no default.
void require_values(const CLI::App& app) {
  for (const CLI::Option* one : app.get_options())
    for (const std::string& value : one->results())
      if (value.empty())
        throw bad_arguments(one->get_name() + ": an empty text; leave the option out or name something");
  for (const CLI::App* used : app.get_subcommands()) require_values(*used);
}

template <class Whole>
text_check whole_within(Whole least, Whole most) {
  const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
  const auto trouble = [=](std::string& text) {
    Whole value{};
    if (!detail::read(text, value) || value < least || value > most)
      return "'" + text + "' is no whole number from " + bounds;
    text = std::to_string(value);  // CLI11 takes a number that begins with 0 for one of base eight
    return std::string();
  };
  return {trouble, "from " + bounds};
}

}  // namespace

text_check whole(std::int64_t least, std::int64_t most) { return whole_within(least, most); }

text_check seed() {
  text_check any = whole_within<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  any.description = "of 64 bits";
  return any;
}

text_check number(double least, double most) {
  const std::string bounds = CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  const auto trouble = [=](const std::string& text) {
    double value = 0;
    const bool fits = detail::read(text, value) && std::isfinite(value) && value >= least && value <= most;
    return fits ? std::string() : "'" + text + "' is no number from " + bounds;
  };
  return {trouble, "from " + bounds};
}

text_check bytes(std::int64_t most, std::int64_t least) {
  const auto convert = [=](std::string& text) {
    if (least == 0 && text == "0") return std::string();
    const std::int64_t count = bytes_of(text);
    if (count < 1 || count > most)
      return "'" + text + "' is no amount of memory up to " + std::to_string(most) + " bytes; expected " +
             (least == 0 ? "0, or " : "") + "one as 48M or 2GiB";
    text = std::to_string(count);
    return std::string();
  };
  return {convert, least == 0 ? "0, or as 48M or 2GiB" : "as 48M or 2GiB"};
}

text_check one_of(std::vector<std::string> names) {
  const CLI::Validator among = CLI::IsMember(std::move(names));
  return {[among](std::string& text) { return among(text); }, among.get_description()};
}

option option::check(const text_check& judge) const {
  return option(*option_->transform(CLI::Validator(judge.trouble, judge.description)));
}

option option::check(const std::function<std::string(const std::string&)>& trouble) const {
  return option(*option_->check(trouble));
}

option option::required() const { return option(*option_->required()); }

option option::excludes(option other) const { return option(*option_->excludes(other.option_)); }

option option::needs(option other) const { return option(*option_->needs(other.option_)); }

option option::delimiter(char between) const { return option(*option_->delimiter(between)); }

option option::type_name(const std::string& name) const { return option(*option_->type_name(name)); }

option option::take_all() const { return option(*option_->take_all()); }

option option::allow_extra_args(bool allowed) const { return option(*option_->allow_extra_args(allowed)); }

option option::disable_flag_override() const { return option(*option_->disable_flag_override()); }

command command::add_subcommand(const std::string& name, const std::string& description) const {
  return command(*app_->add_subcommand(name, description));
}

void command::require_subcommand(std::size_t least, std::size_t most) const { app_->require_subcommand(least, most); }

void command::allow_extras() const { app_->allow_extras(); }

void command::footer(const std::string& text) const { app_->footer(text); }

template <option_value Value>
option command::add_option(const std::string& names, Value& value, const std::string& description) const {
  return option(*app_->add_option(names, value, description));
}
template option command::add_option(const std::string&, int&, const std::string&) const;
template option command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template option command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template option command::add_option(const std::string&, double&, const std::string&) const;
template option command::add_option(const std::string&, std::string&, const std::string&) const;
template option command::add_option(const std::string&, std::vector<int>&, const std::string&) const;
template option command::add_option(const std::string&, std::vector<std::int64_t>&, const std::string&) const;
template option command::add_option(const std::string&, std::vector<double>&, const std::string&) const;
template option command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;

option command::add_option(const std::string& names, const std::string& description) const {
  return option(*app_->add_option(names, description));
}

template <option_value Value>
option command::add_option_function(const std::string& names, const std::function<void(const Value&)>& take,
                                    const std::string& description) const {
  return option(*app_->add_option_function<Value>(names, take, description));
}
template option command::add_option_function(const std::string&, const std::function<void(const std::int64_t&)>&,
                                             const std::string&) const;
template option command::add_option_function(const std::string&, const std::function<void(const std::string&)>&,
                                             const std::string&) const;

option command::add_flag(const std::string& names, bool& value, const std::string& description) const {
  return option(*app_->add_flag(names, value, description));
}

std::string command::get_name() const { return app_->get_name(); }

bool command::parsed() const { return app_->parsed(); }

std::size_t command::count(const std::string& name) const { return app_->count(name); }

std::vector<std::string> command::remaining() const { return app_->remaining(); }

std::vector<std::string> command::known_options() const {
  const CLI::App* last = app_;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().back();
  std::vector<std::string> names;
  for (const CLI::Option* one : last->get_options()) names.push_back(one->get_name());
  return names;
}

program::program(const std::string& description, const std::string& name)
    : program(std::make_unique<CLI::App>(description, name)) {}

program::program(std::unique_ptr<CLI::App> owned) : command(*owned), owned_(std::move(owned)) {}

program::~program() = default;

std::string program::help() const { return owned_->help(); }

void program::parse(int argc, char** argv) {
  require_checks(*owned_);
  try {
    owned_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw help_request();
  } catch (const CLI::ParseError& e) {
    throw bad_arguments(e.what(), e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError));
  }
  require_values(*owned_);
}

int run(program& app, int argc, char** argv, const std::function<int()>& work) {
  const std::string name = app.get_name();
  const auto refused = [&](const std::exception& e, int code) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return code;
  };
  try {
    app.parse(argc, argv);
    return finished(name.c_str(), work());
  } catch (const help_request&) {
    std::fputs(app.help().c_str(), stdout);
    return finished(name.c_str());
  } catch (const bad_arguments& e) {
    return refused(e, 2);
  } catch (const std::exception& e) {
    return refused(e, 1);
  }
}

}  // namespace command_line
