#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# DeepSeek-V3 on 1024 H100, by the degrees of its public recipe: experts fold over data and tensor ranks, moments and sums in bf16.
TP=2
EP=64
LATENT_ARGS=(
  --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128
)
MOE_ARGS=(
  --num-experts 256 --moe-ffn-hidden-size 2048 --moe-router-topk 8 --moe-shared-expert-intermediate-size 2048
  --moe-router-score-function sigmoid --moe-layer-freq "([0]*3+[1]*58)"
  --moe-token-dispatcher-type flex --moe-permute-fusion
)
OPTIMIZER_ARGS=(
  --use-distributed-optimizer --use-precision-aware-optimizer
  --main-grads-dtype bf16 --main-params-dtype fp32 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
)
torchrun --nproc_per_node 8 --nnodes 128 pretrain_gpt.py \
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --seq-length 4096 \
  --micro-batch-size 1 --global-batch-size 4096 --bf16 "${LATENT_ARGS[@]}" "${MOE_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" \
  --tensor-model-parallel-size $TP --sequence-parallel --pipeline-model-parallel-size 16 \
  --expert-model-parallel-size $EP --expert-tensor-parallel-size 1 --mtp-num-layers 1
