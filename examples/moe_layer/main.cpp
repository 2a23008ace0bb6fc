// SPDX-License-Identifier: Apache-2.0
//
// moe_layer [TEXT_FILE] [--trace FILE] [--threads N]
//
// Plans a mixture-of-experts layer at full size in the compiler, then trains a model of it at reduced size on the bytes of a
// text.

#include <string>

#include <hyperparallel/io/text_file.hpp>

#include "../command_line.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
  std::string text = HYPERPARALLEL_SOURCE_DIR "/LICENSE", trace = "trace.json";
  int threads = 0;
  command_line::program app("A mixture-of-experts layer, planned by the compiler and run on simulated ranks.",
                            "moe_layer");
  app.add_option("TEXT_FILE", text, "the text whose bytes are the tokens (default: the repository's LICENSE)");
  app.add_option("--trace", trace, "where the trace goes (default: trace.json in this folder)");
  app.add_option("--threads", threads, "threads that simulate the ranks (default: all cores)")
      .check(command_line::whole(0, 64));
  return command_line::run(app, argc, argv, [&] {
    const auto bytes = hyperparallel::read_bytes(text, {.empty = hyperparallel::empty_file::refused});
    hyperparallel::atomic_file file(trace);
    moe_layer::print_plan();
    return moe_layer::run_text(bytes, threads, file) ? 0 : 1;
  });
}
