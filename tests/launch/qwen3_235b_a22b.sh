#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Qwen3 235B A22B on 256 H100, by the degrees of its public recipe: experts fold over data and tensor ranks beside context ranks.
TP_SIZE=4 PP_SIZE=16 CP_SIZE=2 EP_SIZE=8
PR=bf16
FSDP=false
ARGS="--num-layers 94 --hidden-size 4096 --num-attention-heads 64 --num-query-groups 4 --kv-channels 128 --qk-layernorm"
ARGS+=" --num-experts 128 --moe-ffn-hidden-size 1536 --moe-router-topk 8"
[[ $PR == bf16 ]] && ARGS+=" --bf16"
[[ $FSDP == true ]] && ARGS+=" --use-megatron-fsdp" || ARGS+=" --use-distributed-optimizer"
torchrun --nproc_per_node 8 --nnodes 32 pretrain_gpt.py $ARGS --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 \
  --tensor-model-parallel-size ${TP_SIZE} --pipeline-model-parallel-size ${PP_SIZE} --sequence-parallel \
  --context-parallel-size ${CP_SIZE} --expert-model-parallel-size ${EP_SIZE} --expert-tensor-parallel-size 1 \
  --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
