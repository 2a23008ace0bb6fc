// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/program_tasks.hpp>

#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct laid_out {
  hp::sharded_program program;
  hp::program_slots slots;
  hp::program_pulls pulls;
  hp::program_memory memory;

  explicit laid_out(const hp::sharded_program& p)
      : program(p),
        slots(hp::detail::slots_of(program, hp::plan_addresses(program))),
        pulls(hp::pulls_of(program)),
        memory(program, slots) {}
};

TEST(ProgramTasks, ACallHasTheBoxOfItsRank) {
  const laid_out m(small_models::two_layers_on(2, false));
  for (int rank = 0; rank < 2; ++rank) {
    const hp::operator_call h = hp::detail::call_of(m.program, m.memory, 0, rank);
    EXPECT_EQ(h.attributes, &m.program.graph.op[0]);
    EXPECT_EQ(h.loop[0].extent, 8);  // the batch is whole
    EXPECT_EQ(h.loop[2].begin, 2 * rank);
    EXPECT_EQ(h.loop[2].extent, 2);
    EXPECT_EQ(h.loop[2].whole, 4);
    EXPECT_EQ(h.operand_elements(1), 12);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(h.operand[i], m.memory.block(m.program.compute[0].operand[i], rank));
    EXPECT_EQ(h.result[0], m.memory.block(m.program.compute[0].result[0], rank));
  }
}

TEST(ProgramTasks, BoxesOfACallAreThoseOfItsValues) {
  for (const bool data_parallel : {true, false}) {
    const laid_out m(small_models::two_layers_on(4, data_parallel));
    for (int s = 0; s < m.program.step.size; ++s) {
      if (m.program.step[s].is_move) continue;
      const hp::program_compute& c = m.program.compute[m.program.step[s].index];
      for (int rank = 0; rank < 4; ++rank) {
        const hp::operator_call call = hp::detail::call_of(m.program, m.memory, s, rank);
        for (int i = 0; i < call.rule->operand_count; ++i)
          EXPECT_EQ(call.operand_elements(i), hp::local_elements(m.program, c.operand[i]));
        for (int i = 0; i < call.rule->result_count; ++i)
          EXPECT_EQ(call.result_elements(i), hp::local_elements(m.program, c.result[i]));
      }
    }
  }
}

TEST(ProgramTasks, APlacementThatDoesNotFitItsValuesIsNamed) {
  hp::sharded_program p = small_models::two_layers_on(2, true);
  p.compute[1].placement = {};
  const laid_out m(p);
  try {
    hp::detail::call_of(m.program, m.memory, 1, 0);
    FAIL();
  } catch (const hp::program_error& e) {
    EXPECT_STREQ(e.what(), "operator \"a\" works on 32 elements of \"h\", rank 0 has 16");
  }
}

std::string last_operator;
std::int64_t last_step = 0;
hp::operator_kernel recording(hp::operator_id) {
  return [](const hp::operator_call& call) {
    last_operator = call.rule->name.text;
    last_step = call.step;
  };
}

/// Takes the place of an executor.
struct binder {
  hp::kernel kernel = nullptr;
  void* user = nullptr;
  int operation = -1;
  void bind(int o, hp::kernel k, void* u) {
    operation = o;
    kernel = k;
    user = u;
  }
};

TEST(ProgramTasks, BindKernelsWithTheNumberOfTheTrainingStep) {
  const laid_out m(small_models::two_layers_on(2, true));
  hp::detail::program_tasks tasks(m.program, m.pulls, m.memory, &recording);
  tasks.set_training_step(17);
  binder b;
  tasks.bind_step(b, 1);
  EXPECT_EQ(b.operation, 1);
  b.kernel({0, 0, 1, 0, b.user});
  EXPECT_EQ(last_operator, "silu");
  EXPECT_EQ(last_step, 17);
  EXPECT_STREQ(tasks.name(1), "a (silu)");
  EXPECT_STREQ(tasks.name(4), "move of d_first");
}

TEST(ProgramTasks, CountWhatOthersBring) {
  const laid_out m(small_models::two_layers_on(2, true));
  const hp::detail::program_tasks tasks(m.program, m.pulls, m.memory, &recording);
  // The all-reduce of 24 floats on two devices: each gets the other's term of its half, then the other's half.
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(tasks.received(4, rank), 24 * 4);
    EXPECT_EQ(tasks.received(0, rank), 0);
  }
}

}  // namespace
