// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of a program with arguments, in the vocabulary of CLI11, which command_line.cpp alone includes: a unit that
// declares options does not pay for a parser. `run` returns 0 after --help, 2 where an argument is refused, 1 where the
// work throws or standard output is full, otherwise what the work returns. An error is one line on standard error that
// begins with the program's name.
//
// Numbers are read in full: digits of base ten within bounds that the option names. "nan", "1e999", "8x", "-8" and what
// leaves the type are refused with the bounds. An empty text is refused for every option. Law: an option of a number has
// such a check, or `parse` refuses to.

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "standard_output.hpp"
#include "written_numbers.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace command_line {

/// Arguments that are not taken; what() is the reason.
struct bad_arguments : std::runtime_error {
  explicit bad_arguments(const std::string& why, bool unknown = false) : std::runtime_error(why), is_unknown(unknown) {}
  bool is_unknown;  ///< an argument that no option takes
};

/// --help among the arguments.
struct help_request : std::exception {
  const char* what() const noexcept override { return "help is asked for"; }
};

/// What is wrong with the text of an option, or nothing; it may put another text in its place.
struct text_check {
  std::function<std::string(std::string&)> trouble;
  std::string description{};  ///< in the help, behind the type
};

text_check whole(std::int64_t least, std::int64_t most);  ///< a whole number within bounds
text_check seed();                                        ///< any number of 64 bits
text_check number(double least, double most);             ///< a finite number within bounds
text_check one_of(std::vector<std::string> names);
/// An amount of memory up to `most`, which becomes its bytes; where `least` is 0 also "0".
text_check bytes(std::int64_t most, std::int64_t least = 1);

/// What an option's text can become.
template <class Value>
concept option_value =
    std::same_as<Value, int> || std::same_as<Value, std::int64_t> || std::same_as<Value, std::uint64_t> ||
    std::same_as<Value, double> || std::same_as<Value, std::string> || std::same_as<Value, std::vector<int>> ||
    std::same_as<Value, std::vector<std::int64_t>> || std::same_as<Value, std::vector<double>> ||
    std::same_as<Value, std::vector<std::string>>;

/// A handle: copies name the same option, which lives as long as the program.
class option {
 public:
  explicit option(CLI::Option& of) : option_(&of) {}

  option check(const text_check& judge) const;
  option check(const std::function<std::string(const std::string&)>& trouble) const;
  option required() const;
  option excludes(option other) const;
  option needs(option other) const;
  option delimiter(char between) const;
  option type_name(const std::string& name) const;
  option take_all() const;                      ///< each time that it is given adds to the list
  option allow_extra_args(bool allowed) const;  ///< whether a list takes several texts at once
  option disable_flag_override() const;         ///< a flag takes no "=false"

 private:
  CLI::Option* option_;
};

/// A program or a command of it. A handle: copies name the same command, which lives as long as the program.
class command {
 public:
  explicit command(CLI::App& of) : app_(&of) {}

  command add_subcommand(const std::string& name, const std::string& description) const;
  void require_subcommand(std::size_t least, std::size_t most) const;
  void allow_extras() const;
  void footer(const std::string& text) const;

  template <option_value Value>
  option add_option(const std::string& names, Value& value, const std::string& description) const;
  /// Its checks keep what they read.
  option add_option(const std::string& names, const std::string& description) const;
  template <option_value Value>
  option add_option_function(const std::string& names, const std::function<void(const Value&)>& take,
                             const std::string& description) const;
  option add_flag(const std::string& names, bool& value, const std::string& description) const;

  std::string get_name() const;
  bool parsed() const;                               ///< whether the arguments name it
  std::size_t count(const std::string& name) const;  ///< how often they give an option
  std::vector<std::string> remaining() const;        ///< what no option has taken
  /// Names of the options that the innermost command among the arguments has.
  std::vector<std::string> known_options() const;

 protected:
  CLI::App* app_;
};

/// What main declares, reads the arguments with and keeps until its work is done.
class program : public command {
 public:
  program(const std::string& description, const std::string& name);
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program();

  /// Throws bad_arguments, help_request, and logic_error where an option of a number has no check.
  void parse(int argc, char** argv);
  std::string help() const;  ///< of what --help was asked of

 private:
  explicit program(std::unique_ptr<CLI::App> owned);
  std::unique_ptr<CLI::App> owned_;
};

int run(program& app, int argc, char** argv, const std::function<int()>& work);

}  // namespace command_line
