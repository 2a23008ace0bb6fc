// SPDX-License-Identifier: Apache-2.0
// hp SUBCOMMAND [OPTION…]: the library for those who write no C++.
//
// Exit status: 0 good, 1 the answer is no (a row failed, an output is full), 2 bad input. An error is one line on the
// error stream that begins with "hp SUBCOMMAND:". Law: 0 and 1 are answers; what ends without one, memory that is not there
// say, is 2.

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <hyperparallel/io/io_error.hpp>

#include "subcommand.hpp"

namespace {

std::string known_commands() {
  std::string known;
  for (const hp_tool::subcommand& s : hp_tool::subcommands) known += (known.empty() ? "" : ", ") + std::string(s.name);
  return "; known: " + known;
}

/// What the parser has to say of `app` or the command of it that is named, with the options that there are; of an option
/// of one value in our words.
std::string trouble_of(const command_line::bad_arguments& e, const command_line::command& app) {
  const std::string said = e.what(), named = said.substr(0, said.find(':'));
  if (said.starts_with(named + ": At Most 1 required")) return named + ": is given more than once";
  if (said.starts_with(named + ": 1 required")) return named + ": a value is missing";
  if (!e.is_unknown) return said;
  std::string known;
  for (const std::string& option : app.known_options()) known += (known.empty() ? "; known: " : ", ") + option;
  return said + known;
}

int refused(const std::string& speaker, const std::string& why, int status) {
  std::fprintf(stderr, "%s: %s\n", speaker.c_str(), why.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  command_line::program app("HyperParallel on the command line.", "hp");
  app.footer(
      "hp SUBCOMMAND --help says what a subcommand reads and prints.\nExit status: 0 good, 1 the answer is no, 2 bad "
      "input.");
  app.require_subcommand(0, 1);
  std::vector<command_line::command> commands;
  std::vector<hp_tool::work> work;
  for (const hp_tool::subcommand& s : hp_tool::subcommands) {
    commands.push_back(app.add_subcommand(s.name, s.summary));
    work.push_back(s.add(commands.back()));
  }
  const std::string named = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  std::size_t chosen = 0;
  while (chosen < commands.size() && commands[chosen].get_name() != named) ++chosen;
  const bool known = chosen < commands.size();
  const std::string speaker = known ? "hp " + named : "hp";
  try {
    if (!known && !named.empty()) throw hp_tool::bad_input("'" + named + "': no such command" + known_commands());
    app.parse(argc, argv);
    if (!known) throw hp_tool::bad_input("no command is named" + known_commands());
    const int status = work[chosen]();
    const int written = finished(speaker.c_str());
    return status != 0 ? status : written;
  } catch (const command_line::help_request&) {
    std::fputs(app.help().c_str(), stdout);
    return finished(speaker.c_str());
  } catch (const command_line::bad_arguments& e) {
    return refused(speaker, trouble_of(e, known ? commands[chosen] : app), 2);
  } catch (const hp_tool::bad_input& e) {
    return refused(speaker, e.what(), 2);
  } catch (const hp_tool::answer_is_no& e) {
    return refused(speaker, e.what(), 1);
  } catch (const hyperparallel::io_error& e) {
    return refused(speaker, e.what(), 1);  // an output that was open could not be written
  } catch (const std::bad_alloc&) {
    return refused(speaker, "there is no answer: out of memory", 2);
  } catch (const std::exception& e) {
    return refused(speaker, std::string("there is no answer: ") + e.what(), 2);
  } catch (...) {
    return refused(speaker, "there is no answer: an unknown error", 2);
  }
}
