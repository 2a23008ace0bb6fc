// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of controller.hpp; see support/compiled.hpp.

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <hyperparallel/controller/controller.hpp>
#include <hyperparallel/controller/firing_gate.hpp>
#include <hyperparallel/controller/thread_lists.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/groups/refused_programs.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct alignas(64) controller::program_state {
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> cancelled{false}, is_firing{false};
  bool has_failed = false;
  running_program work{};
  program_use use{};
  std::vector<firing_time> times{};
};

struct controller::running {
  detail::firing_gate gate;
  std::int64_t until = 0;
  std::chrono::steady_clock::time_point began{};
  std::mutex of_failed;
  std::vector<failed_firing> failed;

  double now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); }
};

HYPERPARALLEL_BODY controller::~controller() = default;

HYPERPARALLEL_BODY controller::controller(const program_graph& graph, const group_table& table,
                                          const controller_options& o)
    : graph_(graph), table_(table), options_(o), running_(std::make_unique<running>()) {
  const programs_status s = table.group.empty() ? check_programs(graph_) : check_programs(graph_, table_);
  if (!s.ok()) throw program_error(text_of_refusal(s, graph_, table_));
  for (const program_edge& e : graph_.edge)
    if (o.link != nullptr && e.reads == edge_reads::newest)
      throw program_error(std::string("edge ") + e.name.text +
                          " reads the newest version: between processes edges are read version by version");
  waits_.resize(graph_.program.size);
  for (const program_wait& w : waits_of(graph_))
    if (w.kind != wait_kind::itself) waits_[w.to].push(w);
  const auto programs = static_cast<std::size_t>(graph_.program.size);
  newest_in_.resize(programs);
  newest_out_.resize(programs);
  for (std::size_t p = 0; p < programs; ++p) program_.push_back(std::make_unique<program_state>());
  newest_.resize(static_cast<std::size_t>(graph_.edge.size));
  for (int e = 0; e < graph_.edge.size; ++e) {
    if (graph_.edge[e].reads == edge_reads::every) continue;
    newest_[static_cast<std::size_t>(e)] = std::make_unique<newest_slots>(graph_.edge[e].ready);
    newest_in_[static_cast<std::size_t>(graph_.edge[e].to)].push_back(e);
    newest_out_[static_cast<std::size_t>(graph_.edge[e].from)].push_back(e);
  }
}

// ---- names and texts ----

HYPERPARALLEL_BODY int controller::program_called(const std::string& name) const {
  const int p = detail::find_program(graph_, name.c_str());
  if (p < 0) throw program_error("no program of the graph is called " + name);
  return p;
}

HYPERPARALLEL_BODY int controller::edge_called(const std::string& name) const {
  const int e = find_edge(graph_, name.c_str());
  if (e < 0) throw program_error("no edge of the graph is called " + name);
  return e;
}

HYPERPARALLEL_BODY std::string controller::text_of_edge(int edge) const {
  return std::string("edge ") + graph_.edge[edge].name.text;
}

HYPERPARALLEL_BODY growing_array<int> controller::ranks_of_program(int program) const {
  const int g = find_group(table_, graph_.program[program].group.text);
  return g < 0 ? growing_array<int>{} : ranks_of(table_.group[g]);
}

HYPERPARALLEL_BODY std::string controller::text_of_program(int program) const {
  const group_program& p = graph_.program[program];
  std::string text = std::string("program ") + p.name.text;
  const int g = find_group(table_, p.group.text);
  if (g < 0) return p.group.text[0] == '\0' ? text : text + " on group " + p.group.text;
  const char* separator = rank_count(table_.group[g]) == 1 ? " on rank " : " on ranks ";
  for (const rank_range& r : table_.group[g].ranks) {
    text += separator + std::to_string(r.first);
    if (r.last > r.first) text += "-" + std::to_string(r.last);
    separator = ", ";
  }
  return text;
}

HYPERPARALLEL_BODY std::string controller::text_of_firing(int program, std::int64_t number) const {
  std::string read;
  for (int e = 0; e < graph_.edge.size; ++e)
    if (graph_.edge[e].to == program)
      read += (read.empty() ? ", which read version " : " and ") +
              std::to_string(version_to_read(e, firing(program, number))) + " of " + text_of_edge(e);
  return text_of_program(program) + " failed in firing " + std::to_string(number) + read;
}

HYPERPARALLEL_BODY std::string controller::why_waiting() const {
  std::string all;
  for (int p = 0; p < graph_.program.size; ++p) {
    const std::int64_t k = done(p);
    if (k >= running_->until || can_fire(p)) continue;
    std::string why = "for a slot of an edge that is replayed";
    for (const int e : newest_in_[static_cast<std::size_t>(p)])
      why = "for version " + std::to_string(version_to_read(e, firing(p, k))) + " of " + text_of_edge(e);
    for (const program_wait& w : waits_[p]) {
      if (is_met(w, k)) continue;
      const std::string other = graph_.program[w.from].name.text;
      if (w.kind == wait_kind::turn)
        why = "for its turn after " + other;
      else if (w.kind == wait_kind::delivery)
        why = "for version " + std::to_string(k) + " of " + text_of_edge(w.number) + " from " + other;
      else
        why = "for room in " + text_of_edge(w.number) + ", which " + other + " has to read";
    }
    all += (all.empty() ? "" : "; ") + text_of_program(p) + " waits in firing " + std::to_string(k) + " " + why;
  }
  return all;
}

// ---- programs ----

HYPERPARALLEL_BODY void controller::set_program(const std::string& name, running_program p) {
  program_state& s = *program_[static_cast<std::size_t>(program_called(name))];
  if (!p.fire) throw program_error("program " + name + " is given nothing to run");
  s.work = std::move(p);
  s.has_failed = false;
}

HYPERPARALLEL_BODY void controller::restart(const std::string& name) {
  program_state& s = *program_[static_cast<std::size_t>(program_called(name))];
  if (s.has_failed && s.work.restore) s.work.restore();
  s.has_failed = false;
}

HYPERPARALLEL_BODY void controller::stop() { running_->gate.stop(); }

HYPERPARALLEL_BODY void controller::cancel(const std::string& name) {
  program_state& s = *program_[static_cast<std::size_t>(program_called(name))];
  s.cancelled = true;
  if (s.is_firing && s.work.cancel) s.work.cancel();
}

HYPERPARALLEL_BODY std::int64_t controller::done(int program) const {
  return program_[static_cast<std::size_t>(program)]->done.load();
}

HYPERPARALLEL_BODY std::int64_t controller::firings(const std::string& name) const {
  return done(program_called(name));
}

HYPERPARALLEL_BODY void controller::hear(int program, std::int64_t done_there) {
  std::atomic<std::int64_t>& known = program_[static_cast<std::size_t>(program)]->done;
  if (known.load() < done_there) known.store(done_there);
}

HYPERPARALLEL_BODY program_use controller::use(const std::string& name) const {
  return program_[static_cast<std::size_t>(program_called(name))]->use;
}

HYPERPARALLEL_BODY std::vector<firing_time> controller::times() const {
  std::vector<firing_time> all;
  for (const std::unique_ptr<program_state>& p : program_) all.insert(all.end(), p->times.begin(), p->times.end());
  return all;
}

// ---- versions ----

HYPERPARALLEL_BODY std::int64_t controller::newest_of(int edge) const {
  return graph_.edge[edge].ready + done(graph_.edge[edge].from) - 1;
}

HYPERPARALLEL_BODY int controller::slots(int edge) const {
  return newest_[static_cast<std::size_t>(edge)] ? newest_slots::count : graph_.edge[edge].room;
}

HYPERPARALLEL_BODY std::int64_t controller::version_to_read(int edge, const firing& f) const {
  if (graph_.edge[edge].to != f.program())
    throw program_error(text_of_program(f.program()) + " reads " + text_of_edge(edge) + ", which goes to program " +
                        graph_.program[graph_.edge[edge].to].name.text);
  const newest_slots* n = newest_[static_cast<std::size_t>(edge)].get();
  if (n == nullptr) return f.number();
  const std::lock_guard lock(versions_);
  return n->version_of(f.number(), newest_of(edge));
}

HYPERPARALLEL_BODY std::int64_t controller::version_to_write(int edge, const firing& f) const {
  if (graph_.edge[edge].from != f.program())
    throw program_error(text_of_program(f.program()) + " writes " + text_of_edge(edge) + ", which comes from program " +
                        graph_.program[graph_.edge[edge].from].name.text);
  return graph_.edge[edge].ready + f.number();
}

HYPERPARALLEL_BODY int controller::slot_to_read(int edge, const firing& f) const {
  const std::int64_t v = version_to_read(edge, f);
  const newest_slots* n = newest_[static_cast<std::size_t>(edge)].get();
  if (n == nullptr) return static_cast<int>(v % graph_.edge[edge].room);
  const std::lock_guard lock(versions_);
  return n->slot_of(v);
}

HYPERPARALLEL_BODY int controller::slot_to_write(int edge, const firing& f) const {
  const std::int64_t v = version_to_write(edge, f);
  const newest_slots* n = newest_[static_cast<std::size_t>(edge)].get();
  return n == nullptr ? static_cast<int>(v % graph_.edge[edge].room) : n->slot_written();
}

HYPERPARALLEL_BODY newest_slots& controller::recorded(const std::string& edge) const {
  newest_slots* n = newest_[static_cast<std::size_t>(edge_called(edge))].get();
  if (n == nullptr) throw program_error("edge " + edge + " is read version by version: there is nothing to record");
  return *n;
}

HYPERPARALLEL_BODY std::vector<std::int64_t> controller::versions_read(const std::string& edge) const {
  const newest_slots& n = recorded(edge);
  const std::lock_guard lock(versions_);
  return n.read();
}

HYPERPARALLEL_BODY void controller::replay(const std::string& edge, std::span<const std::int64_t> versions) {
  newest_slots& n = recorded(edge);
  if (!n.read().empty()) throw program_error("edge " + edge + " is to be replayed after it was read");
  if (const std::size_t k = n.first_impossible(versions); k < versions.size())
    throw program_error("edge " + edge + ": firing " + std::to_string(k) + " is to read version " +
                        std::to_string(versions[k]) + ", where " + std::to_string(n.least_of(versions, k)) +
                        " is there");
  n.replay(versions);
}

HYPERPARALLEL_BODY bool controller::versions_allow(int program) const {
  const auto p = static_cast<std::size_t>(program);
  const std::lock_guard lock(versions_);
  for (const int e : newest_in_[p])
    if (!newest_[static_cast<std::size_t>(e)]->may_read(done(program), newest_of(e))) return false;
  for (const int e : newest_out_[p])
    if (!newest_[static_cast<std::size_t>(e)]->may_write(done(graph_.edge[e].to), newest_of(e))) return false;
  return true;
}

// ---- firing ----

/// Whether a wait lets firing k begin.
HYPERPARALLEL_BODY bool controller::is_met(const program_wait& w, std::int64_t k) const {
  return done(w.from) >= k + 1 - w.back;
}

HYPERPARALLEL_BODY bool controller::can_fire(int program) const {
  const std::int64_t k = done(program);
  if (k >= running_->until) return false;
  for (const program_wait& w : waits_[program])
    if (!is_met(w, k)) return false;
  const auto p = static_cast<std::size_t>(program);
  return (newest_in_[p].empty() && newest_out_[p].empty()) || versions_allow(program);
}

HYPERPARALLEL_BODY void controller::begin_firing(int program) {
  const auto p = static_cast<std::size_t>(program);
  if (newest_in_[p].empty() && newest_out_[p].empty()) return;
  const std::lock_guard lock(versions_);
  int writer = -1;
  std::int64_t written = 0;  // edges from one writer are read alike
  for (const int e : newest_in_[p]) {
    if (graph_.edge[e].from != writer) written = done(writer = graph_.edge[e].from);
    newest_[static_cast<std::size_t>(e)]->begin_reading(done(program), graph_.edge[e].ready + written - 1);
  }
  for (const int e : newest_out_[p])
    newest_[static_cast<std::size_t>(e)]->begin_writing(done(graph_.edge[e].to), newest_of(e));
}

HYPERPARALLEL_BODY void controller::end_firing(int program) {
  const std::int64_t k = done(program);
  if (const auto& out = newest_out_[static_cast<std::size_t>(program)]; !out.empty()) {
    const std::lock_guard lock(versions_);
    for (const int e : out) newest_[static_cast<std::size_t>(e)]->end_writing(graph_.edge[e].ready + k);
  }
  program_[static_cast<std::size_t>(program)]->done.store(k + 1);
  if (options_.link != nullptr) options_.link->tell(program, k + 1);
  running_->gate.announce();
}

/// Whether the firing ended well.
HYPERPARALLEL_BODY bool controller::fire(int program) {
  program_state& s = *program_[static_cast<std::size_t>(program)];
  if (options_.link != nullptr && !options_.link->begins(*this, program)) {
    running_->gate.stop();
    return false;
  }
  const firing f(program, done(program));
  std::string why = "it was cancelled";
  std::exception_ptr cause;
  begin_firing(program);
  const double begin = running_->now();
  s.is_firing = true;
  try {
    if (!s.cancelled) s.work.fire(f);
    if (!s.cancelled.exchange(false)) {
      if (s.work.keep) s.work.keep();
      why.clear();
    }
  } catch (const std::exception& e) {
    if (!s.cancelled.exchange(false)) why = e.what();
    cause = std::current_exception();
  } catch (...) {
    why = "what was thrown is no std::exception";
    cause = std::current_exception();
  }
  s.is_firing = false;
  if (options_.link != nullptr) why = options_.link->agreed(program, why);
  if (!why.empty()) {
    s.has_failed = true;
    {
      const std::lock_guard lock(running_->of_failed);
      running_->failed.push_back({program, f.number(), std::move(why), std::move(cause)});
    }
    running_->gate.stop();
    if (options_.link != nullptr) options_.link->tell_stop();
    return false;
  }
  program_use& u = s.use;
  u.last_end = running_->now();
  u.busy += u.last_end - begin;
  if (u.firings++ == 0) {
    u.begin = begin;
    u.first_end = u.last_end;
  }
  const auto nanoseconds = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  if (options_.keeps_times) s.times.push_back({program, f.number(), nanoseconds(begin), nanoseconds(u.last_end)});
  end_firing(program);
  return true;
}

HYPERPARALLEL_BODY bool controller::any_can_fire(std::span<const int> programs) const {
  return std::any_of(programs.begin(), programs.end(), [&](int p) { return can_fire(p); });
}

HYPERPARALLEL_BODY void controller::work(std::span<const int> programs, std::span<const int> all) {
  detail::firing_gate& gate = running_->gate;
  while (!gate.stops()) {
    bool fired = false, is_left = false;
    for (const int p : programs) {
      if (done(p) >= running_->until) continue;
      is_left = true;
      if (!can_fire(p)) continue;
      if (!fire(p) || gate.stops()) break;
      fired = true;
    }
    if (!is_left) break;
    if (options_.link != nullptr) {
      options_.link->listen(*this);
      if (!fired) std::this_thread::yield();
    } else if (!fired) {
      gate.wait([&] { return any_can_fire(programs); }, [&] { return any_can_fire(all); });
    }
  }
  gate.leave([&] { return any_can_fire(all); });
}

/// What programs of other processes have done, and which have failed there.
HYPERPARALLEL_BODY void controller::join_others() {
  std::vector<std::int64_t> all_done(program_.size());
  std::vector<std::string> complaint(program_.size());
  for (int p = 0; p < graph_.program.size; ++p) all_done[static_cast<std::size_t>(p)] = done(p);
  for (const failed_firing& f : running_->failed) complaint[static_cast<std::size_t>(f.program)] = f.why;
  options_.link->join(*this, running_->until, all_done, complaint);
  for (int p = 0; p < graph_.program.size; ++p) {
    const auto at = static_cast<std::size_t>(p);
    hear(p, all_done[at]);
    if (complaint[at].empty() || is_here(p)) continue;
    program_[at]->has_failed = true;
    running_->failed.push_back({p, all_done[at], complaint[at], nullptr});
  }
  std::ranges::sort(running_->failed, {}, &failed_firing::program);
}

HYPERPARALLEL_BODY run_result controller::run(std::int64_t firings) {
  std::vector<std::vector<int>> lists = detail::thread_lists(graph_, options_.link == nullptr ? options_.threads : 1);
  if (options_.link != nullptr) std::erase_if(lists[0], [&](int p) { return !is_here(p); });
  for (int p = 0; p < graph_.program.size; ++p) {
    program_state& s = *program_[static_cast<std::size_t>(p)];
    if (!s.work.fire && is_here(p))
      throw program_error(text_of_program(p) + " has nothing to run: set_program gives it");
    if (s.has_failed)
      throw program_error(text_of_program(p) + " failed in firing " + std::to_string(done(p)) +
                          ": restart it, or replace it by set_program");
    s.use = {};
    s.times.clear();
  }
  std::vector<int> all;
  for (const std::vector<int>& list : lists) all.insert(all.end(), list.begin(), list.end());
  running& r = *running_;
  r.gate.open(static_cast<int>(lists.size()));
  r.until = firings;
  r.failed.clear();
  r.began = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < lists.size(); ++i)
      threads.emplace_back([this, &lists, &all, i] { work(lists[i], all); });
    work(lists[0], all);
  }
  if (options_.link != nullptr) join_others();
  if (!r.failed.empty()) {
    std::string text;
    for (const failed_firing& f : r.failed)
      text += (text.empty() ? "" : "; ") + text_of_firing(f.program, f.number) + ": " + f.why;
    throw controller_error(text, r.failed);
  }
  if (r.gate.stands_still()) throw controller_error("no program can go on: " + why_waiting());
  for (int p = 0; p < graph_.program.size; ++p)
    if (done(p) < firings) return run_result::cancelled;
  return run_result::complete;
}

}}  // namespace hyperparallel::v0_2
