# SPDX-License-Identifier: Apache-2.0
torchrun --nproc_per_node 8 --nnodes 2 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B \
    --block_size 2048 --per_device_train_batch_size 4 --bf16 --torch_compile \
    --fsdp "hybrid_shard auto_wrap" --fsdp_config '{"activation_checkpointing": true, "backward_prefetch": "backward_pre"}'
