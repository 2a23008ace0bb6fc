// SPDX-License-Identifier: Apache-2.0
// hp explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32
//
// Explains the planned move of a tensor from one layout to another: its kind, digits, bound, steps and certificate, the
// other ways to carry it out with their prices, and who holds what before and after.

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/report/draw_layout.hpp>
#include <hyperparallel/report/explain_relocation.hpp>
#include <hyperparallel/report/format_choice.hpp>
#include <hyperparallel/report/nested_chunks.hpp>

#include "explain/arguments.hpp"
#include "explain/json.hpp"
#include "explain/pictures.hpp"
#include "json_output.hpp"
#include "page_output.hpp"
#include "subcommand.hpp"

namespace {

using namespace explain_arguments;

struct request {
  std::string mesh, from, to, shape, dtype, ranks, to_mesh, to_shape, to_ranks;
  std::string topology = "generic_host", objective, memory_limit;
  std::vector<std::string> partial, to_partial;
  bool as_json = false;
  hp_tool::page_request page{};
};

/// One side of a move as its arguments say.
struct read_side {
  hp::mesh_value mesh{};
  hp::shape shape{};
  hp::layout_value layout{};
  std::vector<int> listed{};

  hp::rank_list ranks() const {
    if (listed.empty()) return hp::all_ranks(mesh.shape);
    return {static_cast<int>(listed.size()), listed.data()};
  }
  std::string drawing() const {
    return fmt::format("{}\n{}", hp::named(layout, mesh), hp::report::draw_layout(layout, mesh, shape, ranks()));
  }
  hp_tool::json picture(const std::string& when) const {
    return hp_tool::layout_picture(when + ": " + fmt::format("{}", hp::named(layout, mesh)), layout, mesh, shape,
                                   ranks());
  }
  hp_tool::json document() const { return explain_json::side_of(mesh, shape, layout, listed); }
};

struct both_sides {
  read_side source, target;
};

/// A move on one mesh, with all ways to carry it out.
struct planned_move {
  hp::interconnect links{};
  hp::move_plan plan{};
  hp::chosen_move choice{};
};

/// Transfers beyond which counting them would take minutes.
constexpr hp::extent_t most_transfers = hp::extent_t{1} << 26;

void refuse_beyond(hp::extent_t limit, const request& given, hp::extent_t each, int receivers) {
  const hp::checked_extent all = hp::checked_multiply(each, receivers);
  if (all.overflow || all.value > limit)
    throw bad_argument("--mesh", given.mesh,
                       "the move has more transfers than are counted here; expected at most " + std::to_string(limit));
}

void refuse_many_transfers(const request& given, const hp::move_plan& p) {
  for (int i = 0; i < p.step_count; ++i)
    refuse_beyond(most_transfers, given, hp::receiver_of(p.step[i], p.shape, 0).transfers,
                  hp::position_count(p.step[i].target.mesh));
}

/// Where blocks travel in runs of the flat tensor, a transfer ends where a run of either side does.
void refuse_many_runs(const request& given, const both_sides& sides) {
  for (const read_side* side : {&sides.source, &sides.target})
    refuse_beyond(most_transfers / 2, given, hp::runs_of(hp::slice_at(side->layout, side->shape, {}), side->shape).runs,
                  side->ranks().count);
}

void refuse_many_bytes(const request& given, const hp::chosen_move& choice, hp::extent_t element_bytes) {
  for (const hp::move_alternative& a : choice.alternative) {
    const hp::extent_t most = hp::larger(a.figures.received_total, 2 * a.figures.peak_elements);
    if (hp::checked_multiply(most, element_bytes).overflow)
      throw bad_argument("--shape", given.shape, "the traffic leaves 64 bits of bytes; expected a smaller tensor");
  }
}

/// All ways to carry out the move, with the plan that the library runs by itself unless another choice is asked for.
hp::chosen_move choose(const request& given, const hp::layout_value& source, const hp::layout_value& target,
                       const hp::shape& shape, const hp::interconnect& links, hp::extent_t element_bytes) {
  hp::move_request request{read_objective("--objective", given.objective.empty() ? "bytes" : given.objective), links,
                           element_bytes, 0};
  if (!given.memory_limit.empty())
    request.memory_limit = read_bytes("--memory-limit", given.memory_limit) / element_bytes;
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(links, hp::position_count(source.mesh))));
  hp::chosen_move choice = hp::choose_move(source, target, shape, request, entries.data());
  if (choice.code == hp::choice_code::no_candidate_fits_the_memory)
    throw bad_argument("--memory-limit", given.memory_limit,
                       fmt::format("no way needs less than {}; expected at least {} B",
                                   hp::report::byte_count{choice.smallest_peak * element_bytes},
                                   choice.smallest_peak * element_bytes));
  if (choice.code == hp::choice_code::links_carry_no_candidate || choice.code == hp::choice_code::links_are_refused)
    throw bad_argument("--topology", given.topology,
                       "its links do not join all ranks of the move; known: " + known_topology_names());
  if (choice.code != hp::choice_code::ok)  // the plan itself is not refused: its ways are too many bytes to count
    throw bad_argument("--shape", given.shape, "the traffic leaves 64 bits of bytes; expected a smaller tensor");
  if (given.objective.empty() && given.memory_limit.empty()) {
    choice.candidate = hp::move_candidate::exchange;
    choice.plan.part[0] = hp::plan_move(source, target, shape);
  }
  return choice;
}

both_sides read_sides(const request& given) {
  both_sides s;
  const auto or_else = [](const std::string& value, const std::string& other) { return value.empty() ? other : value; };
  s.source.mesh = read_mesh("--mesh", given.mesh);
  s.target.mesh = read_mesh(given.to_mesh.empty() ? "--mesh" : "--to-mesh", or_else(given.to_mesh, given.mesh));
  s.source.shape = read_shape("--shape", given.shape);
  s.target.shape = read_shape(given.to_shape.empty() ? "--shape" : "--to-shape", or_else(given.to_shape, given.shape));
  s.source.layout = hp::interop::read_layout("--from", given.from, s.source.mesh, s.source.shape);
  s.target.layout = hp::interop::read_layout("--to", given.to, s.target.mesh, s.target.shape);
  read_partial("--partial", given.partial, s.source.mesh, s.source.layout);
  read_partial("--to-partial", given.to_partial, s.target.mesh, s.target.layout);
  if (!given.ranks.empty()) s.source.listed = read_ranks("--ranks", given.ranks, s.source.mesh);
  if (!given.to_ranks.empty())
    s.target.listed = read_ranks("--to-ranks", given.to_ranks, s.target.mesh);
  else if (given.to_mesh.empty())
    s.target.listed = s.source.listed;
  return s;
}

planned_move plan_move(const request& given, const both_sides& sides, hp::extent_t bytes) {
  const hp::mesh_value& mesh = sides.source.mesh;
  const hp::layout_value &source = sides.source.layout, &target = sides.target.layout;
  planned_move m;
  m.links = read_links("--topology", given.topology, mesh.shape,
                       given.ranks.empty() ? hp::rank_list{} : sides.source.ranks());
  m.plan = hp::plan_move(source, target, sides.source.shape);
  const hp::move_plan& plan = m.plan;
  if (plan.code == hp::move_code::reductions_do_not_commute)
    throw std::invalid_argument(
        fmt::format("--partial, --to-partial: {}; expected reductions that do", hp::named(plan, mesh)));
  if (plan.code != hp::move_code::ok)
    throw bad_argument("--shape", given.shape, fmt::format("{}; expected a smaller tensor", hp::named(plan, mesh)));
  refuse_many_transfers(given, plan);
  m.choice = choose(given, source, target, sides.source.shape, m.links, bytes);
  refuse_many_bytes(given, m.choice, bytes);
  return m;
}

std::string text_of(const planned_move& m, const request& given, const both_sides& sides, hp::extent_t bytes) {
  const std::string out =
      fmt::format("{}\n", hp::explained(m.plan, m.choice.plan, sides.source.mesh, bytes, sides.source.ranks()));
  return out + "ways on " + given.topology + "\n" + links_text(m.links) +
         fmt::format("{}", hp::priced(m.choice, bytes));
}

/// A move to another mesh, other ranks or another shape: by fewest bytes.
hp::relocation plan_relocation(const request& given, const both_sides& sides) {
  for (const auto& [name, value] : {std::pair{"--objective", given.objective}, {"--memory-limit", given.memory_limit}})
    if (!value.empty())
      throw bad_argument(name, value, "to another mesh or shape there is one way; expected no such argument");
  hp::relocation plan = hp::plan_relocation({sides.source.layout, sides.source.shape, sides.source.ranks()},
                                            {sides.target.layout, sides.target.shape, sides.target.ranks()});
  if (plan.code == hp::relocation_code::element_counts_differ)
    throw bad_argument("--to-shape", given.to_shape, fmt::format("{}; expected as many as in --shape", plan));
  if (plan.code == hp::relocation_code::traffic_overflows)
    throw bad_argument("--shape", given.shape, fmt::format("{}; expected a smaller tensor", plan));
  if (plan.code != hp::relocation_code::ok)
    throw std::invalid_argument(fmt::format("--partial, --to-partial: {}; expected ones that do", plan));
  if (plan.form == hp::relocation_form::runs)
    refuse_many_runs(given, sides);
  else
    refuse_many_transfers(given, plan.plan);
  if (hp::checked_multiply(plan.source_elements, 8 * plan.target_ranks.count).overflow)
    throw bad_argument("--shape", given.shape, "the traffic leaves 64 bits of bytes; expected a smaller tensor");
  return plan;
}

void explain(const request& given) {
  hp_tool::page_output page(given.page, {given.topology});
  const hp::data_type type = read_type("--dtype", given.dtype);
  const both_sides sides = read_sides(given);
  const hp::extent_t bytes = hp::bytes_of(type);
  const bool stays = given.to_mesh.empty() && given.to_shape.empty() && given.to_ranks.empty();
  const bool as_document = given.as_json || page.is_asked();
  std::string out = fmt::format("{} {} on {}", type, sides.source.shape, sides.source.mesh);
  hp_tool::json document = {
      {"type", hp::name_of(type)}, {"source", sides.source.document()}, {"target", sides.target.document()}};
  hp_tool::json pictures = {sides.source.picture("before"), sides.target.picture("after")};
  if (stays) {
    const planned_move m = plan_move(given, sides, bytes);
    document["topology"] = given.topology;
    if (as_document) document.update(explain_json::move_of(m.plan, m.choice, m.links, bytes));
    if (page.is_asked()) {
      if (sides.source.ranks().count <= explain_pictures::most_ranks)
        pictures.push_back(explain_pictures::traffic(m.choice.plan, sides.source.ranks(), bytes));
      pictures.push_back(explain_pictures::ways(m.choice));
    }
    if (!given.as_json) out += "\n\n" + text_of(m, given, sides, bytes);
  } else {
    const hp::relocation r = plan_relocation(given, sides);
    if (as_document) document.update(explain_json::relocation_of(r, bytes));
    if (!given.as_json)
      out += fmt::format(", to {} on {}\n\n{}", sides.target.shape, sides.target.mesh, hp::explained(r, bytes));
  }
  if (page.is_asked()) {
    document["pictures"] = std::move(pictures);
    page.write(fmt::format("hp explain: {} {} on {}", type, sides.source.shape, sides.source.mesh), document);
  }
  if (given.as_json) return hp_tool::print(document);
  out += "\nbefore  " + sides.source.drawing() + "\nafter   " + sides.target.drawing();
  const std::string chunks = hp::report::nested_text(sides.source.layout, sides.source.shape, "source") +
                             hp::report::nested_text(sides.target.layout, sides.target.shape, "target");
  if (!chunks.empty()) out += "\n" + chunks;
  std::fputs(out.c_str(), stdout);
}

}  // namespace

hp_tool::work hp_tool::add_explain(command_line::command app) {
  const auto given = std::make_shared<request>();
  struct needed {
    const char *name, *expected;
    std::string request::* value;
  };
  static constexpr needed all[] = {
      {"--mesh", "axes and sizes, outermost first, as in x=2,y=4", &request::mesh},
      {"--from", "the source, an entry for each dim as in x,None; ~ before an entry pads the dim", &request::from},
      {"--to", "the target, likewise, as in \"None,(y,x)\"; the first of several axes is the outermost", &request::to},
      {"--shape", "the tensor's extents, as in 64x64, or () for a scalar", &request::shape},
      {"--dtype", "the type of its elements, as in f32", &request::dtype}};
  for (const needed& n : all) app.add_option(n.name, (*given).*n.value, n.expected);
  app.add_option("--partial", given->partial, "axes along which the source is partial, as in x:sum")
      .allow_extra_args(false);
  app.add_option("--to-partial", given->to_partial, "axes along which the target is to be partial")
      .allow_extra_args(false);
  app.add_option("--to-mesh", given->to_mesh, "the target's mesh, where it is another one");
  app.add_option("--to-shape", given->to_shape, "the target's shape, where the tensor is reshaped");
  app.add_option("--to-ranks", given->to_ranks, "the rank of each position of the target's mesh");
  app.add_option("--ranks", given->ranks, "the rank of each position of the mesh, as in 3,1,0,2");
  app.add_option("--topology", given->topology,
                 "the links that prices are for: " + known_topology_names() +
                     ", or FILE.json (docs/how-to/describe-your-hardware.md)");
  app.add_option("--objective", given->objective, "choose the way by bytes or time");
  app.add_option("--memory-limit", given->memory_limit, "on the peak of a rank whose source is given up, as in 96MiB");
  add_json(app, given->as_json);
  add_page(app, given->page);
  app.footer(
      "Reads nothing but its options. Prints the kind of the move, what each step brings, a certificate beside the "
      "least\n"
      "that any program receives, all ways to carry it out with their prices, and who holds what before and after.\n\n"
      "hp explain --mesh x=2,y=4 --from x,None --to \"None,(y,x)\" --shape 64x64 --dtype f32\n\n"
      "Exit status: 0 explained, 1 the output is full, 2 bad input.");
  return [given, app] {
    for (const needed& n : all)
      if (app.count(n.name) == 0) throw bad_input(std::string(n.name) + " is missing; expected " + n.expected);
    try {
      explain(*given);
    } catch (const std::exception& e) {
      throw bad_input(one_line(e.what()));
    }
    return 0;
  };
}
