// SPDX-License-Identifier: Apache-2.0
//
// moe_layer [TEXT_FILE] [--trace FILE] [--threads N]
//
// Plans a mixture-of-experts layer at full size in the compiler, then runs it at reduced size over the bytes of a text.

#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include <hyperparallel/io/text_file.hpp>

#include "run.hpp"

int main(int argc, char** argv) {
  std::string text = HYPERPARALLEL_SOURCE_DIR "/LICENSE", trace = "trace.json";
  int threads = 0;
  CLI::App app("A mixture-of-experts layer, planned by the compiler and run on simulated ranks.", "moe_layer");
  app.add_option("TEXT_FILE", text, "the text whose bytes are the tokens (default: the repository's LICENSE)");
  app.add_option("--trace", trace, "where the trace goes (default: trace.json in this folder)");
  app.add_option("--threads", threads, "threads that simulate the ranks (default: all cores)")
      ->check(CLI::Range(0, 64));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "moe_layer: %s\n", e.what());
    return 2;
  }
  try {
    const auto bytes = hyperparallel::read_bytes(text, {.empty = hyperparallel::empty_file::refused});
    hyperparallel::atomic_file file(trace);
    moe_layer::print_plan();
    return moe_layer::run_text(bytes, threads, file) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "moe_layer: %s\n", e.what());
    return 1;
  }
}
