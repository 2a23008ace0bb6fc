// SPDX-License-Identifier: Apache-2.0
// Programs with cache operators, broken in one place: whatever spoils a value is refused before it could run.
//
// The oracle carries the program out on tokens: memory is intervals of bytes that hold what was written to them, a step
// makes a token of what it found. A mutant is unsafe when some step, or a home at the end, finds another token than in
// the program that was broken, or when some interleaving can; it knows nothing of laws, lifetimes or waits.

#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <lowering/plan_with_accesses.hpp>
#include <lowering/random_cache_actions.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

namespace {

namespace hp = hyperparallel;
using std::size_t;

constexpr size_t at(int i) { return static_cast<size_t>(i); }

/// What a tier's bytes hold: tokens by where they begin.
class token_memory {
 public:
  static constexpr std::uint64_t garbage = 0;
  void write(hp::extent_t begin, hp::extent_t bytes, std::uint64_t token) {
    const hp::extent_t end = begin + bytes;
    for (auto i = block_.begin(); i != block_.end();)
      i = i->first < end && begin < i->first + i->second.bytes ? block_.erase(i) : std::next(i);
    block_[begin] = {bytes, token};
  }
  std::uint64_t read(hp::extent_t begin, hp::extent_t bytes) const {
    const auto i = block_.find(begin);
    return i == block_.end() || i->second.bytes != bytes ? garbage : i->second.token;
  }

 private:
  struct held {
    hp::extent_t bytes;
    std::uint64_t token;
  };
  std::map<hp::extent_t, held> block_;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xff51afd7ed558ccdU + 1;
}

/// What each compute and each redistribution found, and what homes hold at the end.
struct findings {
  std::map<int, std::uint64_t> compute, move;
  std::vector<std::uint64_t> home;
  bool spoiled = false;
  friend bool operator==(const findings&, const findings&) = default;
};

findings carry_out(const hp::sharded_program& p, const hp::program_addresses& a) {
  std::vector<token_memory> tier(hp::max_memory_tiers);
  findings f;
  const auto storage_of = [&](int v) -> const hp::program_storage& { return p.storage[p.value[v].storage]; };
  const auto read = [&](int v) {
    const std::uint64_t token = tier[at(storage_of(v).tier)].read(a.storage[p.value[v].storage], storage_of(v).bytes);
    f.spoiled = f.spoiled || token == token_memory::garbage;
    return token;
  };
  const auto write = [&](int v, std::uint64_t token) {
    tier[at(storage_of(v).tier)].write(a.storage[p.value[v].storage], storage_of(v).bytes, token);
  };
  for (int t = 0; t < p.home.size; ++t)
    if (p.home[t] >= 0) write(p.home[t], mixed(17, static_cast<std::uint64_t>(t)));
  for (const hp::program_step& s : p.step) {
    if (s.is_move) {
      const hp::program_move& m = p.move[s.index];
      if (m.detaches) {
        write(m.source, mixed(99, static_cast<std::uint64_t>(s.index)));  // whoever reads it finds this
        continue;
      }
      const std::uint64_t token = read(m.source);
      const bool copies = hp::cache_operator_of(p, m) != hp::cache_operator::within_tier;
      if (!copies) f.move[s.index] = token;
      write(m.target, copies ? token : mixed(token, 5));
      continue;
    }
    const hp::program_compute& c = p.compute[s.index];
    const hp::graph_operator& o = p.graph.op[c.op];
    std::uint64_t token = static_cast<std::uint64_t>(c.op) + 1000;
    for (int i = 0; i < o.operand_count; ++i) token = mixed(token, read(c.operand[i]));
    f.compute[s.index] = token;
    for (int r = 0; r < o.result_count; ++r) write(c.result[r], mixed(token, static_cast<std::uint64_t>(r) + 7));
  }
  for (int t = 0; t < p.home.size; ++t)
    if (p.home[t] >= 0) f.home.push_back(read(p.home[t]));
  return f;
}

/// Everything between a program with addresses and a run.
struct pipeline {
  bool accepted = false;  ///< by the laws, the lowering, the proof and the tiers' capacities

  pipeline(const hp::sharded_program& p, const hp::program_addresses& a, const hp::extent_t* capacity) {
    const bool lawful = hp::check_program(p).code == hp::program_code::ok;
    const programs::lowered l(p, {}, a);
    if (l.plan.status.code != hp::program_flow_code::ok) return;
    const hp::program_proof proof = l.proof();
    accepted = lawful && proof.code == hp::program_proof_code::ok;
    for (int tier = 0; tier < hp::max_memory_tiers; ++tier) accepted = accepted && proof.bytes[tier] <= capacity[tier];
  }
};

struct cached_program {
  hp::sharded_program program;
  hp::program_addresses addresses;
};

cached_program make_program(const hp::sharded_program& p, std::mt19937& random) {
  const programs::cache_plan plan = programs::random_cache_plan(p, random, {.recomputed = 0});
  hp::cache_insertion_status status;
  cached_program one{hp::insert_cache_operators(p, plan.home_tier, plan.action, status), {}};
  EXPECT_EQ(status.code, hp::cache_insertion_code::ok);
  one.addresses = hp::plan_addresses(one.program);
  return one;
}

enum class mutation {
  prefetch_after_use,
  detach_before_reader,
  store_before_write,
  one_address,
  beyond_capacity,
  count
};
constexpr const char* names[] = {"prefetch after use", "detach before the last reader", "store before the last write",
                                 "two live tensors on one address", "capacity exceeded"};

void move_step(hp::sharded_program& p, int from, int to) {
  const hp::program_step s = p.step[from];
  for (int i = from; i < to; ++i) p.step[i] = p.step[i + 1];
  for (int i = from; i > to; --i) p.step[i] = p.step[i - 1];
  p.step[to] = s;
}

bool uses(const hp::sharded_program& p, int step, int value, bool only_writes) {
  bool found = false;
  hp::detail::visit_values(p, p.step[step],
                           [&](int v, bool written) { found = found || (v == value && (written || !only_writes)); });
  return found;
}

/// Breaks the program in one place; false where the draw met nothing to break.
bool mutate(mutation how, cached_program& one, std::mt19937& random) {
  hp::sharded_program& p = one.program;
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (how == mutation::one_address) {
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
    const int x = below(p.storage.size), y = below(p.storage.size);
    const bool meet = x != y && p.storage[x].tier == p.storage[y].tier && lives[x].first <= lives[x].last &&
                      lives[y].first <= lives[y].last && hp::detail::alive_together(lives[x], lives[y]);
    if (meet) one.addresses.storage[x] = one.addresses.storage[y];
    return meet;
  }
  if (how == mutation::beyond_capacity) {
    const int x = below(p.storage.size), tier = p.storage[x].tier;
    one.addresses.storage[x] =
        one.addresses.high_water[tier] -
        hp::detail::storage_alignment *
            below(1 + static_cast<int>(hp::detail::aligned(p.storage[x].bytes) / hp::detail::storage_alignment));
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
    return lives[x].first <= lives[x].last &&
           one.addresses.storage[x] + hp::detail::aligned(p.storage[x].bytes) > one.addresses.high_water[tier];
  }
  const int from = below(p.step.size);
  if (!p.step[from].is_move) return false;
  const hp::program_move m = p.move[p.step[from].index];
  const hp::cache_operator kind = hp::cache_operator_of(p, m);
  if (how == mutation::prefetch_after_use) {
    if (kind != hp::cache_operator::prefetch) return false;
    int first = from + 1;
    while (first < p.step.size && !uses(p, first, m.target, false)) ++first;
    if (first == p.step.size) return false;
    move_step(p, from, first + below(p.step.size - first));
    return true;
  }
  const hp::cache_operator wanted =
      how == mutation::detach_before_reader ? hp::cache_operator::detach : hp::cache_operator::store;
  if (kind != wanted) return false;
  int last = from - 1;
  while (last >= 0 && !uses(p, last, m.source, how == mutation::store_before_write)) --last;
  if (last < 0) return false;
  move_step(p, from, below(last + 1));
  return true;
}

int wanted_mutants() { return tested::tries(300, 3000); }

TEST(CacheMutants, NoneThatSpoilsAValueIsAccepted) {
  std::mt19937 random(5);
  const hp::graph g = small_models::decoder({});
  for (int k = 0; k < static_cast<int>(mutation::count); ++k) {
    int unsafe = 0, drawn = 0, refused_safe = 0;
    while (unsafe < wanted_mutants() && drawn < 200 * wanted_mutants()) {
      const char* const strategy = drawn % 2 == 0 ? "dp" : "zero3";
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(strategy, 2).strategy);
      const cached_program whole = make_program(p, random);
      const findings expected = carry_out(whole.program, whole.addresses);
      ASSERT_FALSE(expected.spoiled);
      ASSERT_TRUE(pipeline(whole.program, whole.addresses, whole.addresses.high_water).accepted);
      for (int i = 0; i < 60 && unsafe < wanted_mutants(); ++i, ++drawn) {
        cached_program broken = whole;
        if (!mutate(static_cast<mutation>(k), broken, random)) continue;
        const findings found = carry_out(broken.program, broken.addresses);
        const bool beyond = static_cast<mutation>(k) == mutation::beyond_capacity;
        const bool is_unsafe = beyond || found.spoiled || !(found == expected);
        const bool accepted = pipeline(broken.program, broken.addresses, whole.addresses.high_water).accepted;
        unsafe += is_unsafe ? 1 : 0;
        refused_safe += !is_unsafe && !accepted ? 1 : 0;
        ASSERT_FALSE(is_unsafe && accepted) << names[k] << ", draw " << drawn;
      }
    }
    EXPECT_GE(unsafe, wanted_mutants()) << names[k];
    std::printf("%-34s %d unsafe of %d draws, none accepted; %d harmless ones refused\n", names[k], unsafe, drawn,
                refused_safe);
  }
}

// A wait of a cache operator, or of a task that waits for one, that waits for less than it did.
TEST(CacheMutants, NoWaitThatIsNeededMayBeMissing) {
  std::mt19937 random(6);
  int unsafe = 0, harmless = 0;
  while (unsafe < wanted_mutants()) {
    const hp::sharded_program p = small_models::two_layers_on(2, random() % 2 == 0);
    const cached_program one = make_program(p, random);
    const programs::lowered l(one.program, {}, one.addresses);
    ASSERT_EQ(l.plan.status.code, hp::program_flow_code::ok);
    const hp::planned_flow planned = l.with_accesses();
    const hp::dynamic_taskflow& f = planned.flow();
    hp::grown_execution_table table = hp::table_of(l.plan);
    const int copies_in = hp::detail::first_queue(l.plan.machine, 0, hp::resource::copy_in);
    const int copies_out = hp::detail::first_queue(l.plan.machine, 0, hp::resource::copy_out);
    const int per_rank = hp::detail::queues_per_rank(l.plan.machine);
    hp::detail::owned_exact_scratch x(f.size, hp::queue_count(l.plan.machine));
    for (int r = 0; r < table.size.tasks && unsafe < wanted_mutants(); ++r)
      for (int w = hp::wait_begin(table, r); w < table.record[r].wait_end; ++w) {
        const hp::task& t = f.task[table.record[r].task];
        const int awaited = table.wait[w].word % per_rank, in_flow = t.wait_begin + w - hp::wait_begin(table, r);
        const bool of_copy = t.kind == hp::resource::copy_in || t.kind == hp::resource::copy_out ||
                             awaited == copies_in || awaited == copies_out;
        const int before = table.wait[w].threshold;
        if (!of_copy || before == 1) continue;
        hp::grown_execution_table weaker = table;
        weaker.wait[w].threshold = f.wait[in_flow].threshold =
            1 + static_cast<int>(random() % static_cast<unsigned>(before - 1));
        hp::detail::list_readers(weaker);
        const bool accepted = l.proof(weaker).code == hp::program_proof_code::ok;
        const bool safe = hp::check_exactly(f, planned.schedule(), x).code == hp::exact_code::safe;
        ASSERT_FALSE(accepted && !safe) << "task " << table.record[r].task;
        (safe ? harmless : unsafe) += 1;
        f.wait[in_flow].threshold = before;
      }
  }
  std::printf("%-34s %d unsafe, none accepted; %d harmless ones\n", "missing wait", unsafe, harmless);
}

}  // namespace
