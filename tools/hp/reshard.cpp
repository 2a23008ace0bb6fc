// SPDX-License-Identifier: Apache-2.0
// hp reshard SRC DST [--from LAYOUT] [--to LAYOUT] [--max-memory 1GiB]
//
// A checkpoint of safetensors in another layout over ranks, another framework's names and orders, another element type: streamed within
// a cap of memory, with a proof that every byte of the target is written once, and resumed where it was stopped.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reshard/reshard.hpp"

#include "../../examples/command_line.hpp"
#include "json_output.hpp"
#include "subcommand.hpp"

namespace {

namespace rs = hp_tool::reshard;
using hp_tool::json;

struct request {
  rs::reshard_request what{};
  bool dry = false, quiet = false, as_json = false;
};

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

/// A line on the error stream, rewritten where that is a terminal, at most a few times a second.
class progress_line {
 public:
  void operator()(std::int64_t done, std::int64_t total) {
    const std::lock_guard held(lock_);
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - last_ < std::chrono::milliseconds(::isatty(2) != 0 ? 200 : 5000)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::fprintf(stderr, "%shp reshard: %s of %s, %s/s%s", ::isatty(2) != 0 ? "\r" : "", bytes_text(done).c_str(),
                 bytes_text(total).c_str(),
                 bytes_text(static_cast<std::int64_t>(static_cast<double>(done) / std::max(seconds, 1e-3))).c_str(),
                 ::isatty(2) != 0 && done < total ? "" : "\n");
  }

 private:
  std::mutex lock_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

std::string text_of(const rs::prepared_reshard& p, std::int64_t peak) {
  const rs::reshard_certificate& c = p.plan.certificate;
  std::string out = fmt::format("{}: {} as {}, {} in {}\n", p.request.source, p.from.text(), p.from_map,
                                c.tensors == 1 ? "1 tensor" : fmt::format("{} tensors", c.tensors),
                                p.source.size() == 1 ? "1 file" : fmt::format("{} files", p.source.size()));
  out += fmt::format("{}: {} as {}, {} in {}\n\n", p.request.target, p.to.text(), p.to_map,
                     c.target_tensors == 1 ? "1 tensor" : fmt::format("{} tensors", c.target_tensors),
                     p.plan.files.size() == 1 ? "1 file" : fmt::format("{} files", p.plan.files.size()));
  out += fmt::format("read      {}{}\n", bytes_text(c.bytes_read),
                     c.bytes_read_again > 0 ? ", and " + bytes_text(c.bytes_read_again) + " once more for scales" : "");
  if (c.applied_scales > 0)
    out += fmt::format("scales    {} applied, which the target does not have\n",
                       c.applied_scales == 1 ? "1 tensor" : fmt::format("{} tensors", c.applied_scales));
  if (c.bytes_of_copies > 0)
    out += fmt::format("not read  {} of copies of what is read elsewhere\n", bytes_text(c.bytes_of_copies));
  out += fmt::format("written   {}{}\n", bytes_text(c.bytes_written),
                     c.constant_bytes > 0 ? ", of them " + bytes_text(c.constant_bytes) + " of zeros as padding" : "");
  out += fmt::format("memory    {} of buffers in {}\n", bytes_text(peak),
                     p.request.limits.threads == 1 ? "1 thread" : fmt::format("{} threads", p.request.limits.threads));
  out += fmt::format("proved    {} of {} tensors: each byte is written once, from one byte of the source{}\n",
                     c.proved_tensors, c.target_tensors, c.constant_bytes > 0 ? " or as padding" : "");
  for (const std::string& note : p.plan.notes) out += "note: " + note + "\n";
  return out;
}

json json_of(const rs::prepared_reshard& p, std::int64_t peak, bool is_written) {
  const rs::reshard_certificate& c = p.plan.certificate;
  return {{"source",
           {{"path", p.request.source}, {"layout", p.from.text()}, {"map", p.from_map}, {"files", p.source.size()}}},
          {"target",
           {{"path", p.request.target}, {"layout", p.to.text()}, {"map", p.to_map}, {"files", p.plan.files.size()}}},
          {"certificate",
           {{"tensors", c.tensors},
            {"target_tensors", c.target_tensors},
            {"proved_tensors", c.proved_tensors},
            {"read_bytes", c.bytes_read},
            {"read_again_bytes", c.bytes_read_again},
            {"applied_scales", c.applied_scales},
            {"copies_not_read_bytes", c.bytes_of_copies},
            {"written_bytes", c.bytes_written},
            {"constant_bytes", c.constant_bytes},
            {"peak_bytes", peak}}},
          {"notes", p.plan.notes},
          {"plan", p.fingerprint},
          {"written", is_written}};
}

int run(const request& given) {
  try {
    rs::reshard_request what = given.what;
    for (char& c : what.dtype) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (what.dtype.empty() && what.scale_block != 128)
      throw hp_tool::bad_input("--scales is of 8-bit floats; it goes with --dtype");
    const rs::prepared_reshard p = rs::prepare_reshard(what);
    const std::int64_t peak = rs::peak_bytes(p.plan, what.limits);
    if (!given.dry) {
      progress_line line;
      if (given.quiet)
        rs::execute_reshard(p);
      else
        rs::execute_reshard(p, [&](std::int64_t done, std::int64_t total) { line(done, total); });
    }
    if (given.as_json)
      hp_tool::print(json_of(p, peak, !given.dry));
    else
      std::fputs(text_of(p, peak).c_str(), stdout);
  } catch (const rs::reshard_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  return 0;
}

}  // namespace

hp_tool::work hp_tool::add_reshard(command_line::command app) {
  const auto given = std::make_shared<request>();
  rs::reshard_request& w = given->what;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  w.limits.threads = std::clamp(cores, 1, 8);
  app.add_option("SRC", w.source, "a .safetensors file, or a folder of a checkpoint").required();
  app.add_option("DST", w.target, "what is written: a folder, or a .safetensors file; it is not there yet").required();
  app.add_option("--from", w.from, "the source's layout: tp=2,ep=4,pp=2, whole, or a JSON file; default: its own");
  app.add_option("--to", w.to, "the target's layout; default: whole");
  app.add_option("--from-map", w.from_map,
                 "names and orders of the source: hf, hf-fused, megatron, ours, or a JSON file; default: by its names");
  app.add_option("--to-map", w.to_map, "those of the target; default: the source's");
  app.add_option("--sizes", w.sizes,
                 "sizes of the model that a map needs, as head_dim=128,key_heads=8; over those of config.json");
  app.add_option("--dtype", w.dtype,
                 "of floats: f32, f16, bf16, f64, or f8_e4m3 and f8_e5m2 with scales; scales that the source has are\n"
                 "applied; default: as they are");
  app.add_option("--keep", w.keep, "tensors whose type stays, as *norm.weight; may be given more than once")
      .take_all()
      .allow_extra_args(false);
  app.add_option_function<std::string>(
         "--scales", [&w](const std::string& s) { w.scale_block = s == "tensor" ? 0 : 128; },
         "of 8-bit floats one for 128 x 128 elements (block) or for each tensor (tensor)")
      .check(command_line::one_of({"block", "tensor"}));
  app.add_option("--leave-out", w.left_out,
                 "tensors that may be lost, as *rotary_emb.inv_freq; may be given more than once")
      .take_all()
      .allow_extra_args(false);
  app.add_option("--max-memory", w.limits.max_memory, "of all buffers; default 1GiB")
      .check(command_line::bytes(std::int64_t{1} << 50, 1));
  app.add_option("--max-file", w.largest_file, "of files of a whole checkpoint; default 5 000 000 000 bytes")
      .check(command_line::bytes(std::int64_t{1} << 50, 1));
  app.add_option("--threads", w.limits.threads, "that read and write").check(command_line::whole(1, 256));
  app.add_flag("--dry-run", given->dry, "plans, proves and prints; writes nothing").disable_flag_override();
  app.add_flag("--quiet", given->quiet, "no progress on the error stream").disable_flag_override();
  add_json(app, given->as_json);
  app.footer(
      "Reads headers, plans which byte of the target is which of the source, proves that each is written once, then\n"
      "copies within the cap of memory. A run that is stopped leaves .DST.reshard beside DST; the same command goes on "
      "from\n"
      "there. DST appears when it is whole; what is there already is never overwritten. Every tensor has a "
      "checksum.\n\n"
      "hp reshard Llama-3-8B megatron --to tp=4,pp=2 --to-map megatron\n"
      "hp reshard megatron back --to-map hf\n"
      "hp reshard Llama-3-8B Llama-3-8B-fp8 --dtype f8_e4m3 --keep lm_head.weight\n"
      "hp reshard DeepSeek-V3 DeepSeek-V3-bf16 --dtype bf16\n"
      "hp reshard run/iter_0001000 whole --from tp=2,ep=4,pp=2 --dry-run --json\n\n"
      "Exit status: 0 good, 1 the output is full, 2 bad input.");
  return [given] { return run(*given); };
}
