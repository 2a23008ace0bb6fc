#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPT-3 175B in fp16: tensors within a node, sixteen stages, as its public script has it; here on 1024 devices.
NODES=128
MODEL="--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048"
TRAINING=(
  --micro-batch-size 1
  --global-batch-size 1536
  --rampup-batch-size 16 16 5859375
  --train-iters 500000
  --lr 6.0e-5
  --clip-grad 1.0
  --fp16
)
torchrun --nproc_per_node 8 --nnodes $NODES --master_addr $MASTER_ADDR pretrain_gpt.py $MODEL ${TRAINING[@]} \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --data-path $1 --split 949,50,1
