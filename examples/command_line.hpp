// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of a program with arguments: what it returns is 0 after --help, 2 where an argument is refused, 1 where the
// work throws, otherwise what the work returns. An error is one line on standard error that begins with the app's name.

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

namespace command_line {

template <class Work>
int run(CLI::App& app, int argc, char** argv, const Work& work) {
  const auto refused = [&](const std::exception& e, int code) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), e.what());
    return code;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& e) {
    return refused(e, 2);
  }
  try {
    return work();
  } catch (const std::exception& e) {
    return refused(e, 1);
  }
}

}  // namespace command_line
