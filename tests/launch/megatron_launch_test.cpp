// SPDX-License-Identifier: Apache-2.0
// Launch lines with public numbers mean what Megatron's arguments say.
#include "launch/megatron_launch.hpp"

#include "launch/launch_options.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>
#include <support/error_of.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

launch::launch_plan plan(const std::string& text, const hp::decoder& d, int devices) {
  return launch::plan_of_megatron(launch::launch_options_of(text), "run.sh", d, devices);
}
std::string complaint(const std::string& text, const hp::decoder& d, int devices) {
  return tested::error_of<hp::io_error>([&] { plan(text, d, devices); });
}

hp::decoder moe() { return hp::test::llama3_8b_with_experts(8, 14336); }

/// The published script of Llama 3 8B's kind: tensors and context, the distributed optimizer.
TEST(megatron_launch, a_dense_model_with_tensor_context_and_data_ranks) {
  const launch::launch_plan l = plan(R"(#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=2
TP_SIZE=4
CP_SIZE=2
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --seq-length 8192
    --max-position-embeddings 8192
    --swiglu
    --untie-embeddings-and-output-weights
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 128
    --lr 0.00015
    --bf16
    --clip-grad 1.0
)
DISTRIBUTED_ARGS=( --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr $MASTER_ADDR )
torchrun "${DISTRIBUTED_ARGS[@]}" pretrain_gpt.py "${MODEL_ARGS[@]}" "${TRAINING_ARGS[@]}" \
    --tensor-model-parallel-size $TP_SIZE --context-parallel-size $CP_SIZE --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --attention-backend fused
)",
                                     hp::test::llama3_8b, 16);
  const hp::decoder_plan& p = l.plan;
  EXPECT_EQ(p.tp, 4);
  EXPECT_EQ(p.cp, 2);
  EXPECT_EQ(p.pp, 1);
  EXPECT_EQ(p.dp, 2);
  EXPECT_EQ(p.zero, 1);
  EXPECT_TRUE(p.sequence_parallel);
  EXPECT_EQ(p.batch, 128);
  EXPECT_EQ(p.micro_batches, 64);
  EXPECT_EQ(p.sequence, 8192);
  EXPECT_EQ(p.formats.weight, hp::data_type::bf16);
  EXPECT_TRUE(hp::check_plan(hp::test::llama3_8b, p, 16).ok());
  EXPECT_EQ(l.unheeded,
            (std::vector<std::string>{"--attention-backend fused (line 29)", "--overlap-grad-reduce (line 29)"}));
  EXPECT_TRUE(l.notes.empty());
}

/// Mixtral's public line: experts over data ranks, no cut of experts, a pipeline with chunks.
TEST(megatron_launch, experts_fold_over_the_ranks_of_a_stage) {
  const std::string base = "--num-layers 32 --num-experts 8 --seq-length 4096 --micro-batch-size 1 --bf16 ";
  const auto of = [&](const std::string& more, int devices) { return plan(base + more, moe(), devices).plan; };
  // The issue's own example: ep over dp and tp of 32 devices, two replicas of an expert.
  hp::decoder_plan p =
      of("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --expert-model-parallel-size 8 "
         "--expert-tensor-parallel-size 1 --sequence-parallel",
         32);
  EXPECT_EQ(hp::device_count_of(p), 32);
  EXPECT_TRUE(p.experts_along_tp && !p.experts_along_cp);
  EXPECT_EQ(p.ep, 2);
  EXPECT_EQ(p.dp, 2);
  EXPECT_EQ(hp::detail::expert_ranks_of(p), 8);
  EXPECT_EQ(p.batch, 4) << "one sequence for each data rank";
  // Experts cut as tensors are: ep among data ranks alone.
  p = of("--tensor-model-parallel-size 2 --expert-model-parallel-size 4", 16);
  EXPECT_FALSE(p.experts_along_tp || p.experts_along_cp);
  EXPECT_EQ(p.ep, 4);
  EXPECT_EQ(p.dp, 2);
  EXPECT_EQ(hp::detail::expert_ranks_of(p), 4);
  // Context ranks where the data ranks do not do.
  p = of("--context-parallel-size 4 --expert-model-parallel-size 8", 8);
  EXPECT_TRUE(p.experts_along_cp);
  EXPECT_EQ(p.ep, 2);
  EXPECT_EQ(p.dp, 1);
  p = of("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size 64", 16);
  EXPECT_EQ(p.chunks, 4);
  EXPECT_STREQ(hp::schedule_of(p).name, "Interleaved1F1B");
  EXPECT_EQ(p.micro_batches, 16);
  EXPECT_EQ(of("--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 8", 16).chunks, 8);
}

/// 30 layers, embedding and loss are 32 places; without one of these 4 x 4 do not divide what is left.
TEST(megatron_launch, ends_of_a_pipeline_may_stand_in_place_of_layers) {
  hp::decoder d = hp::test::llama3_8b;
  d.layers = 30;
  const std::string base =
      "--seq-length 4096 --global-batch-size 64 --pipeline-model-parallel-size 4 "
      "--num-layers-per-virtual-pipeline-stage 4 "
      "--account-for-embedding-in-pipeline-split ";
  const launch::launch_plan l = plan(base + "--account-for-loss-in-pipeline-split", d, 16);
  EXPECT_EQ(l.plan.chunks, 2);
  EXPECT_EQ(l.unheeded.size(), 2u);
  EXPECT_THROW(plan(base, d, 16), launch::launch_contradiction);
}

TEST(megatron_launch, memory_is_as_the_line_says) {
  const std::string base = "--seq-length 4096 ";
  const auto of = [&](const std::string& more) { return plan(base + more, hp::test::llama3_8b, 8); };
  EXPECT_EQ(of("").plan.zero, 0);
  EXPECT_EQ(of("").plan.formats, hp::plan_formats{});
  EXPECT_EQ(of("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params").plan.zero, 3);
  // Attention's scores, which Megatron's selective recomputation leaves out, are never kept.
  for (const char* none : {"--recompute-activations", "--recompute-granularity selective",
                           "--recompute-granularity selective --recompute-modules core_attn"}) {
    EXPECT_EQ(of(none).plan, of("").plan) << none;
    EXPECT_TRUE(of(none).unheeded.empty()) << none;
  }
  const launch::launch_plan modules =
      of("--recompute-granularity selective --recompute-modules core_attn layernorm moe");
  EXPECT_TRUE(modules.unheeded.empty());
  EXPECT_EQ(modules.plan.modules, hp::module_bit("layernorm"));  // the model has no experts, which Megatron-LM takes
  EXPECT_EQ(of("--recompute-granularity selective --recompute-modules moe_act").plan.modules,
            hp::module_bit("moe_act"));
  EXPECT_TRUE(of("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1").plan.recomputed);
  const launch::launch_plan some = of("--recompute-granularity full --recompute-method block --recompute-num-layers 4");
  EXPECT_TRUE(some.plan.recomputed);
  ASSERT_EQ(some.unheeded.size(), 1u);
  EXPECT_NE(some.unheeded[0].find("--recompute-num-layers 4 (line 1): block recomputation is taken to be of every"),
            std::string::npos);
  EXPECT_STREQ(hp::name_of(of("--bf16 --fp8-format hybrid").plan.formats), "fp8");
  EXPECT_STREQ(
      hp::name_of(
          of("--bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16").plan.formats),
      "bf16_states16");
  EXPECT_EQ(of("--optimizer-cpu-offload").plan.host_states, 1000);
  EXPECT_EQ(of("--optimizer-cpu-offload --optimizer-offload-fraction 0.25").plan.host_states, 250);
  EXPECT_EQ(of("--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d").unheeded,
            std::vector<std::string>{"--overlap-cpu-optimizer-d2h-h2d (line 1)"});
  EXPECT_EQ(of("--optimizer-offload-fraction 0.25").unheeded,
            std::vector<std::string>{"--optimizer-offload-fraction 0.25 (line 1)"});
  EXPECT_EQ(complaint(base + "--optimizer-cpu-offload --optimizer-offload-fraction 1.5", hp::test::llama3_8b, 8),
            "cannot read 'run.sh': line 1: --optimizer-offload-fraction 1.5: expected a share from 0 to 1");
  EXPECT_EQ(complaint(base + "--optimizer-cpu-offload --optimizer muon", hp::test::llama3_8b, 8),
            "cannot read 'run.sh': line 1: --optimizer-cpu-offload: contradicts --optimizer muon (line 1)");
  const launch::launch_plan twice = of("--micro-batch-size 1\n--micro-batch-size 2");
  EXPECT_EQ(twice.plan.batch, 16);
  EXPECT_EQ(twice.notes, std::vector<std::string>{"--micro-batch-size stands twice; that of line 2 counts"});
}

/// --optimizer of core 0.16; the distributed optimizer asserts that it is Adam's.
TEST(megatron_launch, optimizers) {
  const std::string base = "--seq-length 4096 --bf16 ";
  const auto of = [&](const std::string& more) { return plan(base + more, hp::test::llama3_8b, 8); };
  const auto unheeded = [&](const std::string& more) { return of(more).unheeded; };
  using list = std::vector<std::string>;
  EXPECT_EQ(of("--optimizer adam --use-distributed-optimizer").plan.optimizer, hp::optimizer_kind::adamw);
  EXPECT_EQ(of("--optimizer sgd --sgd-momentum 0.9").plan.optimizer, hp::optimizer_kind::sgd);
  EXPECT_EQ(unheeded("--optimizer sgd --sgd-momentum 0.9"), list{});
  EXPECT_EQ(unheeded("--optimizer sgd --sgd-momentum 0.0"), list{"--sgd-momentum 0.0 (line 1): a momentum is counted"});
  EXPECT_EQ(of("--optimizer muon --muon-momentum 0.95").plan.optimizer, hp::optimizer_kind::muon);
  EXPECT_EQ(unheeded("--optimizer muon --muon-momentum 0.95"), list{});
  EXPECT_EQ(of("--optimizer dist_muon").plan.optimizer, hp::optimizer_kind::muon);
  EXPECT_EQ(unheeded("--optimizer dist_muon"),
            list{"--optimizer dist_muon (line 1): states of matrices are counted whole on every data rank"});
  EXPECT_EQ(unheeded("--optimizer muon --tensor-model-parallel-size 2"),
            list{"--optimizer muon (line 1): matrices are taken to be updated, and their states to be, whole on every "
                 "tensor rank"});
  EXPECT_EQ(unheeded("--optimizer soap"), list{"--optimizer soap (line 1): AdamW is taken"});
  EXPECT_EQ(complaint(base + "--optimizer sgd --use-distributed-optimizer", hp::test::llama3_8b, 8),
            "cannot read 'run.sh': line 1: --optimizer sgd: the distributed optimizer and Megatron's FSDP are of Adam "
            "alone");
}

/// The table has rows for each tensor rank, as training/tokenizer pads them.
TEST(megatron_launch, the_vocabulary_is_padded) {
  const auto rows = [](const std::string& more, const hp::decoder& d) {
    return plan("--seq-length 1024 " + more, d, 8).vocabulary;
  };
  EXPECT_EQ(rows("--tensor-model-parallel-size 8", hp::test::gpt2), 51200) << "of 50257, as GPT-3 is published";
  EXPECT_EQ(rows("", hp::test::gpt2), 50304);
  EXPECT_EQ(rows("--make-vocab-size-divisible-by 1", hp::test::gpt2), 0) << "as they are";
  EXPECT_EQ(rows("--tensor-model-parallel-size 2", hp::test::llama3_8b), 0);
  EXPECT_EQ(rows("--tensor-model-parallel-size 8", hp::test::llama3_8b), 129024);
}

/// What gradients are added up in and what weights are stored in, as arguments.py checks them.
TEST(megatron_launch, formats_of_gradients_and_weights) {
  const auto of = [&](const std::string& more) { return plan("--seq-length 4096 " + more, hp::test::llama3_8b, 8); };
  const auto sum = [&](const std::string& more) { return of(more).plan.formats.sum; };
  EXPECT_EQ(sum("--bf16"), hp::data_type::f32);
  EXPECT_EQ(sum("--bf16 --accumulate-allreduce-grads-in-fp32"), hp::data_type::f32);
  EXPECT_EQ(sum("--bf16 --grad-reduce-in-bf16"), hp::data_type::bf16);
  EXPECT_EQ(sum("--fp16"), hp::data_type::bf16) << "the buffer has the type of the parameters";
  EXPECT_EQ(sum("--fp16 --accumulate-allreduce-grads-in-fp32"), hp::data_type::f32);
  EXPECT_EQ(sum("--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16"), hp::data_type::bf16);
  EXPECT_EQ(sum("--bf16 --use-precision-aware-optimizer --main-grads-dtype fp32"), hp::data_type::f32);
  EXPECT_EQ(of("--grad-reduce-in-bf16").unheeded, std::vector<std::string>{"--grad-reduce-in-bf16 (line 1)"});
  EXPECT_EQ(of("--bf16 --main-grads-dtype bf16").unheeded, std::vector<std::string>{"--main-grads-dtype bf16 (line 1)"})
      << "without the optimizer that has it";
  EXPECT_EQ(complaint("--seq-length 1 --bf16 --accumulate-allreduce-grads-in-fp32 --use-precision-aware-optimizer "
                      "--main-grads-dtype bf16",
                      hp::test::llama3_8b, 8),
            "cannot read 'run.sh': line 1: --main-grads-dtype bf16: contradicts --accumulate-allreduce-grads-in-fp32");
  EXPECT_TRUE(of("--bf16 --fp8-format hybrid --fp8-param-gather").plan.formats.stores_bytes());
  EXPECT_EQ(of("--bf16 --fp8-format hybrid --fp8-param-gather").unheeded, std::vector<std::string>{});
  EXPECT_EQ(of("--bf16 --fp8-param-gather").unheeded, std::vector<std::string>{"--fp8-param-gather (line 1)"});
  const std::string aware = "--bf16 --use-precision-aware-optimizer ";
  EXPECT_EQ(of(aware + "--main-params-dtype fp16").unheeded,
            std::vector<std::string>{"--main-params-dtype fp16 (line 1): masters are counted in 32 bits"});
  EXPECT_EQ(of(aware + "--main-params-dtype fp32").unheeded, std::vector<std::string>{});
  EXPECT_EQ(of(aware + "--exp-avg-dtype fp16 --exp-avg-sq-dtype fp16").plan.formats.moment, hp::data_type::bf16);
  EXPECT_EQ(of(aware + "--exp-avg-dtype bf16").unheeded,
            std::vector<std::string>{"--exp-avg-dtype bf16 (line 1): moments that differ are counted in 32 bits"});
}

TEST(megatron_launch, what_contradicts_is_one_line_with_file_line_and_option) {
  const hp::decoder& d = hp::test::llama3_8b;
  EXPECT_EQ(
      complaint("--tensor-model-parallel-size 3 --seq-length 1", d, 8),
      "cannot read 'run.sh': line 1: --tensor-model-parallel-size 3: tp=3 x pp=1 x cp=1 are 3 devices, of which 8 is "
      "no multiple");
  EXPECT_EQ(complaint("--seq-length 1\n--num-layers 40", d, 8),
            "cannot read 'run.sh': line 2: --num-layers 40: the config.json has 32");
  EXPECT_EQ(complaint("--seq-length 1 --tensor-model-parallel-size $TP", d, 8),
            "cannot read 'run.sh': line 1: --tensor-model-parallel-size $TP: the file does not say what $TP is");
  EXPECT_EQ(complaint("--seq-length many", d, 8),
            "cannot read 'run.sh': line 1: --seq-length many: expected a whole number from 1 to 1048576");
  EXPECT_EQ(complaint("--bf16", d, 8), "cannot read 'run.sh': --seq-length is missing");
  EXPECT_EQ(complaint("torchrun --nproc_per_node 8 --nnodes 4 x.py --seq-length 1", d, 8),
            "cannot read 'run.sh': line 1: --nproc_per_node 8: with 4 nodes these are 32 devices; --devices is 8");
  EXPECT_EQ(complaint("--seq-length 1 --expert-model-parallel-size 2", d, 8),
            "cannot read 'run.sh': line 1: --expert-model-parallel-size 2: the config.json has no experts");
  EXPECT_EQ(
      complaint("--seq-length 1 --expert-model-parallel-size 16", moe(), 8),
      "cannot read 'run.sh': line 1: --expert-model-parallel-size 16: ep=16 x etp=1 are 16 ranks, of which the 8 of a "
      "stage are no multiple");
  EXPECT_EQ(complaint("--seq-length 1 --micro-batch-size 3 --global-batch-size 64", d, 8),
            "cannot read 'run.sh': line 1: --global-batch-size 64: no multiple of micro-batch x dp, 3 x 8");
  EXPECT_EQ(
      complaint("--seq-length 1 --num-layers-per-virtual-pipeline-stage 5", d, 8),
      "cannot read 'run.sh': line 1: --num-layers-per-virtual-pipeline-stage 5: 32 layers do not divide by it times "
      "pp=1");
  EXPECT_EQ(complaint("--seq-length 1 --recompute-granularity some", d, 8),
            "cannot read 'run.sh': line 1: --recompute-granularity some: known: full, selective");
}

/// What was read of a line that is not legal: the plans near it are looked for from there.
TEST(megatron_launch, a_contradiction_has_what_was_read) {
  const auto contradiction = [](const std::string& text, const hp::decoder& d, int devices) {
    try {
      plan(text, d, devices);
    } catch (const launch::launch_contradiction& e) {
      return e;
    }
    ADD_FAILURE() << text;
    return launch::launch_contradiction("", "", false, {});
  };
  const auto degrees = contradiction("--tensor-model-parallel-size 3 --seq-length 4096 --bf16 --global-batch-size 64",
                                     hp::test::llama3_8b, 16);
  EXPECT_TRUE(degrees.is_of_line);
  EXPECT_EQ(degrees.read.plan.tp, 3);
  EXPECT_EQ(degrees.read.plan.dp, 4) << "the most that the devices are a multiple of";
  EXPECT_EQ(degrees.read.plan.micro_batches, 16);
  EXPECT_EQ(degrees.read.plan.sequence, 4096);
  EXPECT_EQ(degrees.read.plan.formats, hp::find_formats("bf16")->formats);
  const auto sizes = contradiction("--num-layers 40 --seq-length 1", hp::test::llama3_8b, 8);
  EXPECT_FALSE(sizes.is_of_line);
  const auto experts = contradiction("--seq-length 1 --expert-model-parallel-size 16", moe(), 8);
  EXPECT_TRUE(experts.is_of_line);
  EXPECT_EQ(experts.read.plan.ep, 16);
  EXPECT_FALSE(hp::check_plan(moe(), experts.read.plan, 8).ok());
  for (const char* text : {"--seq-length many", "--bf16", "--seq-length 1 --recompute-granularity some"})
    EXPECT_THROW(
        {
          try {
            plan(text, hp::test::llama3_8b, 8);
          } catch (const launch::launch_contradiction&) {
          }
        },
        hp::io_error)
        << text << ": cannot be read";
}

}  // namespace
